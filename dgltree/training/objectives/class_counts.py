"""Counts of classes, from which accuracy and F1 follow, whatever the number of classes."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from dgltree.training.objectives.class_means import mean_f1, mean_recall


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
        """(), the macro F1."""
        return mean_f1(self.hits, self.predicted, self.actual)


class BalancedAccuracy(ClassCounts):
    """The same counts."""

    def compute(self) -> Tensor:
        """(), the balanced accuracy."""
        return mean_recall(self.hits, self.actual)
