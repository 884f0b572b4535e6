"""The command: ``python -m tasks.listops fit|validate|test --config FILE``."""

from tasks.cli import run
from tasks.listops.data import ListOps
from tasks.listops.model import ListOpsClassifier

if __name__ == "__main__":
    run(ListOpsClassifier, ListOps, "accuracy")
