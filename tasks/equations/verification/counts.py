"""Counts of right and wrong verdicts of a model, which add up over depths, as rates do not."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torchmetrics.functional.classification import binary_stat_scores

FIGURES = ("accuracy", "precision", "recall")


class Counts(NamedTuple):
    """True positives, false positives, true negatives and false negatives, where correct equations are positive."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int

    @property
    def right(self) -> int:
        return self.true_positive + self.true_negative

    @property
    def size(self) -> int:
        return sum(self)

    @property
    def accuracy(self) -> float:
        return self.right / max(1, self.size)

    @property
    def precision(self) -> float:
        return self.true_positive / max(1, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        return self.true_positive / max(1, self.true_positive + self.false_negative)


NOTHING = Counts(0, 0, 0, 0)


def count_answers(called: Tensor, labels: Tensor) -> Counts:
    """Counts of answers and labels, both (E,) bool."""
    return Counts(*binary_stat_scores(called.int(), labels.int())[:4].tolist())


def count_by_group(called: Tensor, labels: Tensor, groups: Tensor) -> dict[int, Counts]:
    """Return the counts for each of the groups (E,) int64."""
    return {
        group: count_answers(called[groups == group], labels[groups == group])
        for group in torch.unique(groups).tolist()
    }


def together(counts: Iterable[Counts]) -> Counts:
    """The counts of several groups added up."""
    return Counts(*map(sum, zip(NOTHING, *counts, strict=True)))
