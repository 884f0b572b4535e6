"""The command: ``python -m tasks.listops fit|validate|test --config FILE``; see configs/ for the rows of the table."""

from tasks.cli import run
from tasks.listops.data import ListOps
from tasks.listops.model import ListOpsClassifier


def main(arguments: list[str] | None = None) -> None:
    """Run the program's command line."""
    run(ListOpsClassifier, ListOps, "accuracy", program="python -m tasks.listops", arguments=arguments)


if __name__ == "__main__":
    main()
