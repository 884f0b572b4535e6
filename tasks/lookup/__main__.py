"""The command: ``python -m tasks.lookup fit --config FILE``; see configs/ for the rows of the table."""

import sys

from tasks import fit_cli
from tasks.lookup.data import Lookup
from tasks.trainings import ORDERED_MEMORY


def main(arguments: list[str]) -> None:
    """Run the program's command line."""
    fit_cli.run_task("lookup", Lookup, {**ORDERED_MEMORY, "batch_words": 12_800}, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
