"""The metrics of predictions. Needs the extra ``train`` (torchmetrics)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torchmetrics import MeanAbsoluteError, MeanSquaredError, R2Score
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix

from dgltree.datasets.batches import UNSEEN
from dgltree.read.text import shown
from dgltree.training.objectives.macro_f1 import MacroF1

ALONE: dict[str, Any] = {"sync_on_compute": False}
"""For metrics of what this process alone looked at, whatever other processes there are."""
OTHER = "(other)"
"""The row of labels that are none of the model's classes."""


BINS = 15
"""Of probabilities, where their calibration is measured."""


@dataclass
class Evaluation:
    """The metrics of some examples."""

    examples: int
    metrics: dict[str, float]
    """accuracy and macro_f1, the share of the most frequent label, and of probabilities their calibration error
    (0 to 1); or r2, and rmse and mae in the unit of the labels."""
    confusion: Tensor | None = None
    """(classes, classes) int64: row the label, column the prediction; of classes alone."""
    names: tuple[str, ...] = ()
    """Of the rows and columns."""
    answers: tuple[Tensor, Tensor] | None = None
    """(E,) numbers that were predicted, and (E,) the labels; of numbers alone."""

    def __str__(self) -> str:
        return ", ".join(
            [*(f"{name} {value:.4f}" for name, value in self.metrics.items()), f"{self.examples} examples"]
        )

    def confusion_table(self) -> str:
        """The confusions as text, columns separated by tabs."""
        assert self.confusion is not None
        names = [shown(name) for name in self.names]
        rows = [["label (rows), prediction (columns)", *names]]
        rows += [[name, *map(str, row)] for name, row in zip(names, self.confusion.tolist(), strict=True)]
        return "".join("\t".join(row) + "\n" for row in rows)


class ClassMetrics:
    """The metrics of classes, of which ``update`` is given some examples at a time.

    Args:
        classes: the names.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes, count = tuple(classes), len(classes) + 1
        self._accuracy = MulticlassAccuracy(count, average="micro", **ALONE)
        self._f1 = MacroF1(count, **ALONE)
        self._confusion = MulticlassConfusionMatrix(count, **ALONE)
        self._off = torch.zeros(BINS, dtype=torch.float64)

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Probabilities (E, C) and the classes that they should be (E,) int64, where ``UNSEEN`` counts as an error."""
        sure, predicted = answers.max(1)
        place = (sure.double() * BINS).long().clamp(max=BINS - 1)
        self._off.index_add_(0, place, sure.double() - (predicted == labels).double())
        labels = torch.where(labels == UNSEEN, len(self.classes), labels)
        for metric in (self._accuracy, self._f1, self._confusion):
            metric.update(predicted, labels)

    def found(self) -> Evaluation:
        """The metrics of all examples; there must be one at least."""
        confusion, names = self._confusion.compute(), (*self.classes, OTHER)
        occurs = confusion.sum(1) > 0
        metrics = {
            "accuracy": float(self._accuracy.compute()),
            "macro_f1": float(self._f1.compute()),
            "most_frequent": float(confusion.sum(1).max() / confusion.sum()),
        }
        examples = int(confusion.sum())  # calibration: Guo et al. 2017, arXiv 1706.04599, equation 5
        metrics["calibration_error"] = float(self._off.abs().sum() / examples)
        if not occurs[-1]:
            confusion, names = confusion[:-1, :-1], self.classes
        return Evaluation(examples, metrics, confusion, names)


class NumberMetrics:
    """The metrics of numbers, of which ``update`` is given some examples at a time; sums are kept in float64."""

    def __init__(self) -> None:
        self._r2 = R2Score(**ALONE).set_dtype(torch.float64)
        self._mae = MeanAbsoluteError(**ALONE).set_dtype(torch.float64)
        self._rmse = MeanSquaredError(squared=False, **ALONE).set_dtype(torch.float64)
        self.examples = 0

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Numbers (E,) and what they should be (E,)."""
        self.examples += len(labels)
        for metric in (self._r2, self._rmse, self._mae):
            metric.update(answers.double(), labels.double())

    def found(self) -> Evaluation:
        """The metrics of all examples; there must be one at least."""
        r2 = float(self._r2.compute()) if self.examples > 1 else math.nan
        return Evaluation(
            self.examples, {"r2": r2, "rmse": float(self._rmse.compute()), "mae": float(self._mae.compute())}
        )
