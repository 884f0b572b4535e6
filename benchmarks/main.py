"""Run benchmark suites, and print their results as a table or write them as JSON."""

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch

from benchmarks import (
    autobatching,
    batches,
    downward,
    earlier,
    encoders,
    epoch,
    first_hour,
    fit,
    kernels,
    latent,
    launches,
    page,
    propagate,
    rank,
    reading,
    scale,
    serving,
    threads,
    topo,
    verdict,
)
from benchmarks.inputs import data_folder
from benchmarks.row import Row, Skipped
from dgltree.support.files import replacing

SUITES = {
    "propagate": propagate.rows,
    "downward": downward.rows,
    "topo": topo.rows,
    "kernels": kernels.rows,
    "threads": threads.rows,
    "rank": rank.rows,
    "batch": batches.rows,
    "autobatching": autobatching.rows,
    "encoders": encoders.rows,
    "latent": latent.rows,
    "scale": scale.rows,
    "reading": reading.rows,
    "epoch": epoch.rows,
    "fit": fit.rows,
    "page": page.rows,
    "serving": serving.rows,
    "verdict": verdict.rows,
}
AGAINST = {"earlier": earlier.rows, "first_hour": first_hour.rows, "launches": launches.rows}
"""Suites that can run an older checkout in turn; not among all."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if a row is under its least, on a CPU."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "--suite",
        nargs="+",
        choices=[*SUITES, *AGAINST, "all"],
        default=["all"],
        help="suites to run (default: all)",
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="use this many CPU threads (default 1)")
    parser.add_argument(
        "--repeats", type=int, default=7, help="repeats of each measurement, whose median is printed (default 7)"
    )
    parser.add_argument(
        "--earlier", type=Path, help=f"for the suites {', '.join(AGAINST)}: an older checkout to compare with"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or options.threads < 1:
        parser.error("--repeats and --threads are 1 or more")
    if options.earlier and not (options.earlier / "dgltree").is_dir():
        parser.error(f"--earlier {options.earlier}: no checkout of dgltree")
    if options.device == "cuda" and not torch.cuda.is_available():
        print("skipped: --device cuda, but torch finds no CUDA device; the same suites run with --device cpu")
        return 0
    torch.set_num_threads(options.threads)
    where = _machine(options)
    print(", ".join(f"{key} {value}" for key, value in where.items()))
    rows: list[Row | Skipped] = []
    for suite in SUITES if "all" in options.suite else options.suite:
        for row in _rows(suite, options):
            print(row, flush=True)
            rows.append(row)
    if options.json:
        _write(options.json, where, rows)
    return int(any(isinstance(row, Row) and not row.met for row in rows))


def _rows(suite: str, options: argparse.Namespace) -> Iterator[Row | Skipped]:
    """The rows of a suite, as far as the packages that it needs are there."""
    suites = SUITES | {name: partial(rows, options.earlier) for name, rows in AGAINST.items()}
    try:
        for row in suites[suite](options.device, options.repeats):
            if isinstance(row, Row) and options.device == "cuda":
                row.aim = row.least = None  # they were set for a CPU
            yield row
    except ModuleNotFoundError as error:
        yield Skipped(f"what else is in {suite}", f"{error.name} is not installed")


def _machine(options: argparse.Namespace) -> dict[str, object]:
    device = torch.cuda.get_device_name() if options.device == "cuda" else platform.processor() or platform.machine()
    return {
        "device": device,
        "threads": options.threads,
        "repeats": options.repeats,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "equations": "published" if data_folder() else "generated",
    }


def _write(file: Path, where: dict[str, object], rows: list[Row | Skipped]) -> None:
    known = [row.to_json() for row in rows if isinstance(row, Row)]
    skipped = [vars(row) for row in rows if isinstance(row, Skipped)]
    with replacing(file) as beside:
        beside.write_text(json.dumps({"machine": where, "rows": known, "skipped": skipped}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
