"""Equation verification: ``python -m tasks.equations.verification fit|validate|test --config FILE``.

Trains an encoder to tell correct equations from wrong ones, and prints the accuracy of the epoch that was best in
validation on the test set, by depth. See configs/ for the rows of the papers' tables. With ``--data.numbers`` a cell is
also trained to evaluate number equations such as sin(0.7) = 0.644218 (see number_sets.py).
"""

from tasks.cli import run
from tasks.equations.number_classifier import EquationAndNumberClassifier
from tasks.equations.number_data import EquationsAndNumbers


def main() -> None:
    """Run the program's command line."""
    run(EquationAndNumberClassifier, EquationsAndNumbers, "accuracy", use_distributed_sampler=False)


if __name__ == "__main__":
    main()
