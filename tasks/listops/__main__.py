"""The command: ``python -m tasks.listops fit --config FILE``; see configs/ for the rows of the table."""

import sys

from tasks import fit_cli
from tasks.listops.data import ListOps
from tasks.trainings import ORDERED_MEMORY


def main(arguments: list[str]) -> None:
    """Run the program's command line."""
    fit_cli.run_task("listops", ListOps, {**ORDERED_MEMORY, "batch_words": 12_800}, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
