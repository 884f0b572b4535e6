"""The mean of the classes' F1."""

from typing import Any

import torch
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
        hits, misses = torch.as_tensor(self.tp), torch.as_tensor(self.fn)  # lists of tensors for other reductions
        return found[hits + misses > 0].mean()
