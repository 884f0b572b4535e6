"""Counts of classes, from which accuracy and F1 follow, whatever the number of classes."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric


class ClassCounts(Metric):
    """How often each class was right, predicted and the label.

    Args:
        classes: their number.
        options: of every metric.
    """

    higher_is_better = True
    full_state_update = False
    hits: Tensor
    predicted: Tensor
    actual: Tensor

    def __init__(self, classes: int, **options: Any) -> None:
        super().__init__(**options)
        for name in ("hits", "predicted", "actual"):
            self.add_state(name, torch.zeros(classes, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, predicted: Tensor, labels: Tensor) -> None:
        """Class numbers (E,) and what they should be (E,)."""
        count = len(self.hits)
        self.hits = self.hits + torch.bincount(labels[predicted == labels], minlength=count)
        self.predicted = self.predicted + torch.bincount(predicted, minlength=count)
        self.actual = self.actual + torch.bincount(labels, minlength=count)

    def compute(self) -> Tensor:
        """(), the mean of the F1 of the classes that occur among the labels or the predictions: scikit-learn's."""
        return _mean_f1(self.hits, self.predicted + self.actual)


def macro_f1(predicted: Tensor, labels: Tensor, count: int) -> float:
    """The same of class numbers (E,) below ``count``."""
    hits = torch.bincount(labels[predicted == labels], minlength=count)
    both = torch.bincount(predicted, minlength=count) + torch.bincount(labels, minlength=count)
    return float(_mean_f1(hits, both))


def _mean_f1(hits: Tensor, both: Tensor) -> Tensor:
    return (2 * hits.double() / both.clamp(min=1))[both > 0].mean()
