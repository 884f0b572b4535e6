"""``python -m tasks.equations verdicts``: count verdicts that values computed by mpmath contradict.

By default, each equation is a generated equation with one mutation; its verdict is tested at points of the claimed set
and on both sides of its ends. With ``--shapes``, equations in one variable are drawn by shape, such as
f(A*B) = f(A)*f(B), and tested between all changes of sign and next to them; a claim about all complex points is tested
at such points. With ``--words``, a 2 may be written as sqrt(4) or 2*pi/pi. With ``--two-variables``, equations in two
variables are tested along curves of the plane. The command counts false proofs, false tests, missed parts and missed
exceptions. It adds one JSON line per equation to the file, and skips equations that the file has.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from benchmarks.verdicts import drawn_verdicts
from benchmarks.verdicts.claims import check
from benchmarks.verdicts.mutations import equation, extreme
from dgltree import write_equation
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.judge import Judge
from dgltree.support.workers import pool_map

Row = dict[str, Any]


def row(job: tuple[int, int, bool]) -> Row:
    """The verdict on the equation of a number and a seed, at extremes or not, and what contradicts it."""
    number, seed, extremes = job
    asked = (extreme if extremes else equation)(number, seed)
    started = time.process_time()
    verdict = Judge().verdict(asked)
    seconds = time.process_time() - started
    points, wrong = check(asked, variables(*asked), verdict, Random(f"points {seed} {number}"))
    return {
        "number": number,
        "equation": write_equation(asked),
        "grade": verdict.grade.value,
        "domain": verdict.domain.value,
        "verdict": str(verdict),
        "points": points,
        "wrong": wrong and wrong._asdict(),
        "seconds": round(seconds, 4),
    }


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; a line that was cut off is left out, and taken from the file."""
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]
    if len(whole) < len(lines):
        with path.open("r+b") as file:
            file.truncate(sum(map(len, whole)))
    return [json.loads(line) for line in whole]


def report(rows: Sequence[Row]) -> list[str]:
    """Lines with the verdicts by grade and domain, what was contradicted, and the CPU time."""
    claims = [one for one in rows if one["points"]]
    wrong = [one for one in claims if one["wrong"]]
    seconds = sorted(one["seconds"] for one in rows)
    median, late = (1000 * seconds[int(share * (len(seconds) - 1))] for share in (0.5, 0.95))
    found = Counter((one["grade"], one["domain"]) for one in rows)
    lines = [
        f"{count:7,}  {grade} {'' if domain == 'none' else domain}" for (grade, domain), count in found.most_common()
    ]
    points = sum(one["points"] for one in claims)
    lines.append(f"{len(rows):,} equations, {len(claims):,} claims at {points:,} points, {len(wrong)} contradicted")
    if claims and not wrong:
        lines.append(f"a rate of wrong claims above {3 / len(claims):.1e} would have shown one in 95 of 100 such runs")
    lines.append(f"CPU: median {median:.0f} ms, 95 % under {late:.0f} ms, at most {seconds[-1]:.1f} s")
    lines += [f"{one['equation']}\n    {one['verdict']}\n    {one['wrong']}" for one in wrong]
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 1 if a verdict was contradicted."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations verdicts", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="write the verdicts to this file as JSON lines")
    parser.add_argument("--count", type=int, default=20_000, help="number of equations (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the equations (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="number of processes (default: %(default)s)")
    parser.add_argument("--shapes", action="store_true", help="equations in one variable, drawn by shape")
    parser.add_argument("--two-variables", action="store_true", help="equations in two variables, drawn by shape")
    parser.add_argument(
        "--words", action="store_true", help="drawn by shape, with constants written as expressions: sqrt(4)"
    )
    parser.add_argument("--kept", action="store_true", help="use the families of shapes that were kept back")
    parser.add_argument(
        "--extremes", action="store_true", help="draw huge and tiny numbers, high powers and periodic functions"
    )
    options = parser.parse_args(arguments)
    rows = read_rows(options.out)
    there = {one["number"] for one in rows}
    by_shape = options.shapes or options.kept or options.two_variables or options.words
    drawn_row = partial(drawn_verdicts.row, two=options.two_variables, words=options.words)
    make, flag = (drawn_row, options.kept) if by_shape else (row, options.extremes)
    missing = [(number, options.seed, flag) for number in range(options.count) if number not in there]
    with (
        options.out.open("a", encoding="utf-8") as file,
        pool_map(options.workers) as pool,
        tqdm(total=options.count, initial=len(there), unit="equation", disable=None) as bar,
    ):
        for one in pool(make, missing):
            rows.append(one)
            file.write(json.dumps(one, ensure_ascii=False) + "\n")
            file.flush()
            bar.update()
    print("\n".join(drawn_verdicts.report(rows) if by_shape else report(rows)))
    return int(any(one["fault" if by_shape else "wrong"] for one in rows))
