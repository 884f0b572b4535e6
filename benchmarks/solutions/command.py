"""``python -m tasks.equations solutions``: equations by family, their solutions by ``dgltree.complete`` and by a grid.

Counts the equations for which a root is missing without a warning, a root is missing with a warning, a listed number
is not a root, or the warning "there may be more" is not needed. Independent code finds the roots by bisection with 40
digits.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.solutions.drawn import FAMILIES, draw
from benchmarks.solutions.faults import FALSE, KINDS, LOST, row
from benchmarks.solutions.kept import KEPT


def report(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines with the counts of each kind, by family, the CPU time, and each root that is lost or false."""
    kinds = Counter(one["fault"]["kind"] for one in rows if one["fault"])
    lines = [f"{len(rows):,} equations: " + ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)]
    seconds = sorted(one["seconds"] for one in rows)
    if seconds:
        median, late = (seconds[int(share * (len(seconds) - 1))] for share in (0.5, 0.95))
        lines.append(f"CPU: median {median:.2f} s, 95 % under {late:.2f} s, at most {seconds[-1]:.1f} s")
    for family in sorted({one["family"] for one in rows}):
        of = [one for one in rows if one["family"] == family]
        found = Counter(one["fault"]["kind"] for one in of if one["fault"])
        lines.append(f"{len(of):6}  {family:20} " + ", ".join(f"{found[kind]} {kind}" for kind in KINDS if found[kind]))
    for one in rows:
        if one["fault"] and one["fault"]["kind"] in (LOST, FALSE):
            lines.append(f"{one['fault']['kind']}, {one['fault']['number']}: {one['equation']}\n{one['answer']}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 1 if a root was lost without a word, or false."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations solutions", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="stop after this many seconds (default: %(default)s)")
    parser.add_argument(
        "--count", type=int, default=None, help="check at most this many equations (default: as many as time allows)"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of the equations (default: %(default)s)")
    parser.add_argument("--kept", action="store_true", help="use the families of equations that were kept back")
    parser.add_argument("--family", default=None, help="use only this family")
    parser.add_argument("--out", type=Path, default=None, help="write the results to this file as JSON lines")
    options = parser.parse_args(arguments)
    families = KEPT if options.kept else FAMILIES
    if options.family is not None and options.family not in families:
        parser.error(f"no family {options.family!r}; the families are {', '.join(families)}")
    chosen = families if options.family is None else {options.family: families[options.family]}
    end, rows = time.monotonic() + options.seconds, []
    for number in count() if options.count is None else range(options.count):
        if time.monotonic() > end:
            break
        rows.append(row(draw(number, options.seed, chosen)))
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    print("\n".join(report(rows)))
    return int(any(one["fault"] and one["fault"]["kind"] in (LOST, FALSE) for one in rows))
