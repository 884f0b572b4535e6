"""The mean of the classes' F1."""

from typing import Any

from torch import Tensor
from torchmetrics.classification import MulticlassF1Score


class MacroF1(MulticlassF1Score):
    """The mean of F1 over the classes that occur among the labels.

    torchmetrics' own mean counts classes that are predicted alone, too.

    Args:
        classes: their number.
        options: of every metric.
    """

    def __init__(self, classes: int, **options: Any) -> None:
        super().__init__(classes, average="none", **options)

    def compute(self) -> Tensor:
        """() from all that was given to ``update``."""
        found: Tensor = super().compute()
        return found[self.tp + self.fn > 0].mean()
