"""The metrics of predictions. Needs the extra ``train`` (torchmetrics)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torchmetrics import MeanAbsoluteError, MeanSquaredError, R2Score

from dgltree.datasets.batches import UNSEEN
from dgltree.read.text import one_line
from dgltree.training.objectives.class_counts import ClassCounts

ALONE: dict[str, Any] = {"sync_on_compute": False}
"""For metrics of what this process alone looked at, whatever other processes there are."""
OTHER = "(other)"
"""The row of labels that are none of the model's classes."""
MOST_CONFUSED = 1000
"""Classes up to which it is counted how often each is mistaken for each."""
BINS = 15
"""Of probabilities, if their calibration is measured."""
MOST_SHOWN, MISTAKES = 20, 10
"""Classes whose confusions a terminal has room for, and of more the kinds of mistakes that are listed."""


@dataclass
class Evaluation:
    """The metrics of some examples."""

    examples: int
    metrics: dict[str, float]
    """accuracy and macro_f1, the share of the most frequent of the model's classes, and of probabilities their
    calibration error (0 to 1); or r2, rank correlation, and rmse and mae in the unit of the labels."""
    confusion: Tensor | None = None
    """(classes, classes) int64: row the label, column the prediction; of up to 1,000 classes."""
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
        names = [one_line(name) for name in self.names]
        rows = [["label (rows), prediction (columns)", *names]]
        rows += [[name, *map(str, row)] for name, row in zip(names, self.confusion.tolist(), strict=True)]
        return "".join("\t".join(row) + "\n" for row in rows)

    def shown_confusions(self) -> str:
        """The table of up to ``MOST_SHOWN`` classes, else a line for each of the most frequent mistakes."""
        assert self.confusion is not None
        if len(self.names) <= MOST_SHOWN:
            return self.confusion_table()
        wrong = self.confusion.clone().fill_diagonal_(0)
        kinds = int((wrong > 0).sum())
        most, places = wrong.flatten().sort(descending=True, stable=True)
        head = f"the {min(MISTAKES, kinds)} most frequent of {kinds} kinds of mistakes: label, prediction, examples\n"
        rows = [head]
        for count, place in zip(most[: min(MISTAKES, kinds)].tolist(), places.tolist(), strict=False):
            label, predicted = divmod(place, len(self.names))
            rows.append(f"{one_line(self.names[label])}\t{one_line(self.names[predicted])}\t{count}\n")
        return "".join(rows)


class ClassMetrics:
    """The metrics of classes, of which ``update`` is given some examples at a time.

    Args:
        classes: the names.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes, count = tuple(classes), len(classes) + 1
        self._counts = ClassCounts(count, **ALONE)
        self._confusion = torch.zeros(count, count, dtype=torch.int64) if count <= MOST_CONFUSED else None
        self._off = torch.zeros(BINS, dtype=torch.float64)

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Probabilities (E, C) and the classes that they should be (E,) int64, if ``UNSEEN`` counts as an error."""
        sure, predicted = answers.max(1)
        place = (sure.double() * BINS).long().clamp(max=BINS - 1)
        self._off.index_add_(0, place, sure.double() - (predicted == labels).double())
        labels = torch.where(labels == UNSEEN, len(self.classes), labels)
        self._counts.update(predicted, labels)
        if self._confusion is not None:
            self._confusion.index_put_((labels, predicted), torch.ones_like(labels), accumulate=True)

    def found(self) -> Evaluation:
        """The metrics of all examples; there must be one at least."""
        counts, confusion, names = self._counts, self._confusion, (*self.classes, OTHER)
        examples = int(counts.actual.sum())
        metrics = {
            "accuracy": int(counts.hits.sum()) / examples,
            "macro_f1": float(counts.compute()),
            "most_frequent": int(counts.actual[:-1].max()) / examples,
            "calibration_error": float(self._off.abs().sum() / examples),  # Guo et al. 2017, arXiv 1706.04599, eq. 5
        }
        if confusion is None:
            return Evaluation(examples, metrics)
        if not int(counts.actual[-1]):
            confusion, names = confusion[:-1, :-1], self.classes
        return Evaluation(examples, metrics, confusion, names)


class NumberMetrics:
    """The metrics of numbers, of which ``update`` is given some examples at a time; sums are kept in float64.

    The rank correlation is Spearman's, NaN if all answers or all labels are equal.
    """

    def __init__(self) -> None:
        self._r2 = R2Score(**ALONE).set_dtype(torch.float64)
        self._mae = MeanAbsoluteError(**ALONE).set_dtype(torch.float64)
        self._rmse = MeanSquaredError(squared=False, **ALONE).set_dtype(torch.float64)
        self.examples = 0
        self._ranked: list[tuple[Tensor, Tensor]] = []

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Numbers (E,) and what they should be (E,)."""
        self.examples += len(labels)
        self._ranked.append((answers.cpu(), labels.cpu()))
        for metric in (self._r2, self._rmse, self._mae):
            metric.update(answers.double(), labels.double())

    def found(self) -> Evaluation:
        """The metrics of all examples; there must be one at least."""
        r2 = float(self._r2.compute()) if self.examples > 1 else math.nan
        errors = {"rmse": float(self._rmse.compute()), "mae": float(self._mae.compute())}
        return Evaluation(self.examples, {"r2": r2, "rank_correlation": self._rank_correlation(), **errors})

    def _rank_correlation(self) -> float:
        from scipy.stats import spearmanr

        answers, labels = (torch.cat(column).numpy() for column in zip(*self._ranked, strict=True))
        if len(set(answers.tolist())) < 2 or len(set(labels.tolist())) < 2:
            return math.nan
        return float(spearmanr(answers, labels).statistic)
