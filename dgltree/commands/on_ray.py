"""``--ray``: a command over a large table, by a cluster of Ray."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dgltree.scale import Outcome
    from dgltree.scale.job import TableJob


def add_ray(parser: argparse.ArgumentParser, what: str) -> None:
    """The option that says where a large table is answered."""
    parser.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help=f"process {what} of a Parquet file, a folder of Parquet files or a URL on the Ray cluster at this "
        "address, or on this machine if no address is given; --out is then a folder; run the same command to resume",
    )


def answer(job: "TableJob", data: str, options: argparse.Namespace, device: str | None) -> "Outcome":
    """Answer all of a table, and report the bad records."""
    from dgltree.commands.reports import BadRecords
    from dgltree.scale import run

    report = BadRecords(data, options.strict)
    found = run(job, data, options.out, options.ray, device, progress=True, report=report)
    report.close()
    return found


def say_rows(found: "Outcome", options: argparse.Namespace) -> int:
    """Print what is in the output; the exit code."""
    lost = f", and {found.left_out:,} records that could not be read" if found.left_out else ""
    print(f"{options.out}: {found.rows:,} rows{lost}")
    return 1 if found.left_out else 0
