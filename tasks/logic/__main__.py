"""The command: ``python -m tasks.logic fit --config FILE``; see configs/ for the rows of the tables."""

import sys

from tasks import fit_cli
from tasks.logic.data import LogicPairs
from tasks.trainings import ORDERED_MEMORY


def main(arguments: list[str]) -> None:
    """Run the program's command line."""
    fit_cli.run_task("logic", LogicPairs, {**ORDERED_MEMORY, "batch_words": fit_cli.NEVER}, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
