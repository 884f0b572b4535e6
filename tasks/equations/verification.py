"""Equation verification: ``python -m tasks.equations.verification fit|validate|test --config FILE``.

Trains a cell to tell correct equations from wrong ones, and prints the accuracy of the epoch that was best in
validation on the test set, by depth. See configs/ for the rows of the papers' tables.
"""

from tasks.cli import run
from tasks.equations.classifier import EquationClassifier
from tasks.equations.data import LabelledEquations


def main() -> None:
    """Run the program's command line."""
    run(EquationClassifier, LabelledEquations, "accuracy", use_distributed_sampler=False)


if __name__ == "__main__":
    main()
