"""Means over classes of what was hit, from counts; without torchmetrics, which takes long to load."""

import torch
from torch import Tensor

MIN_PROBABILITY = 1e-12
"""The lowest probability that has a logarithm."""


def mean_f1(hits: Tensor, predicted: Tensor, actual: Tensor) -> Tensor:
    """(), the mean F1 of the classes that occur among the labels or the predictions, by counts (C,): scikit-learn's."""
    both = predicted + actual
    return (2 * hits.double() / both.clamp(min=1))[both > 0].mean()


def mean_recall(hits: Tensor, actual: Tensor) -> Tensor:
    """(), the mean over the classes among the labels of the share that is right, by counts (C,): scikit-learn's."""
    return (hits.double() / actual.clamp(min=1))[actual > 0].mean()


def macro_f1(predicted: Tensor, labels: Tensor, count: int) -> float:
    """:func:`mean_f1` of class numbers (E,) below ``count``."""
    return float(mean_f1(*_counts(predicted, labels, count)))


def balanced_accuracy(predicted: Tensor, labels: Tensor, count: int) -> float:
    """:func:`mean_recall` of class numbers (E,) below ``count``."""
    hits, _, actual = _counts(predicted, labels, count)
    return float(mean_recall(hits, actual))


def _counts(predicted: Tensor, labels: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """(C,) each: how often a class was right, predicted and the label."""
    hits, often, actual = (
        torch.bincount(of, minlength=count) for of in (labels[predicted == labels], predicted, labels)
    )
    return hits, often, actual
