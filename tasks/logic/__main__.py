"""The command: ``python -m tasks.logic fit|validate|test --config FILE``."""

from tasks.cli import run
from tasks.logic.data import LogicPairs
from tasks.logic.model import LogicClassifier

if __name__ == "__main__":
    run(LogicClassifier, LogicPairs, "accuracy")
