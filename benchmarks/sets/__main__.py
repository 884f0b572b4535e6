"""``python -m benchmarks.sets``: write sets, train on each with the defaults of ``dgltree fit``, print a table.

    python -m benchmarks.sets write OUT [--data DATA]
    python -m benchmarks.sets fit OUT RUNS [--only NAME ...]
    python -m benchmarks.sets table RUNS

``fit`` trains five times on each set by ``dgltree fit --folds 5 --group-by group``, so that every example is tested
once. Run it again to resume.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.sets.names import CHOSEN_ON, REPORTED, Set
from benchmarks.sets.records import sample, write
from benchmarks.sets.table import SECONDS, table
from dgltree.commands.main import main as dgltree

FOLDS = 5


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is not 0 if a training failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write the files of all sets")
    writing.add_argument("out", type=Path)
    writing.add_argument(
        "--data", type=Path, help="the folder of the published data; without it, three sets are left out"
    )
    fitting = commands.add_parser("fit", help="train five times on each of the ten sets with the defaults")
    fitting.add_argument("out", type=Path, help="the folder that `write` filled")
    fitting.add_argument("runs", type=Path)
    fitting.add_argument("--only", nargs="+", choices=REPORTED, metavar="NAME", default=list(REPORTED))
    showing = commands.add_parser("table", help="print the table of results, in Markdown")
    showing.add_argument("runs", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "write":
        return _write(options.out, options.data)
    if options.command == "fit":
        chosen = {name: REPORTED[name] for name in options.only}
        files = {name: options.out / f"{name}{each.suffix}" for name, each in chosen.items()}
        return max(_fit(each, files[name], options.runs / name) for name, each in chosen.items())
    print("\n".join(table({name: options.runs / name for name in REPORTED})))
    return 0


def _write(out: Path, data: Path | None) -> int:
    out.mkdir(parents=True, exist_ok=True)
    for name, each in (REPORTED | CHOSEN_ON).items():
        if each.published and data is None:
            print(f"{name}: not made; it needs --data")
            continue
        records = sample(each.records(data) if each.published else each.records(), each.most)
        write(out / f"{name}{each.suffix}", records)
        print(f"{name}: {len(records)} examples in {len({record.group for record in records})} groups")
    return 0


def _fit(each: Set, file: Path, out: Path) -> int:
    if not file.exists():
        print(f"{file} is not there; `python -m benchmarks.sets write` makes it", file=sys.stderr)
        return 2
    before = sum(os.times()[:4])  # user and system, of this process and of those that it waited for
    how = ["--group-by", "group", "--folds", str(FOLDS), "--processes", "1"]
    status = dgltree(["fit", str(file), *how, "--out", str(out), *each.options])
    seconds = out / SECONDS
    known = json.loads(seconds.read_text(encoding="utf-8")) if seconds.exists() else []
    seconds.write_text(json.dumps([*known, round(sum(os.times()[:4]) - before, 1)]) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
