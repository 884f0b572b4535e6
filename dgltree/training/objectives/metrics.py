"""Predictions are measured: metrics of classes and of numbers. Needs the extra ``train`` (torchmetrics)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torchmetrics import MeanAbsoluteError, MeanSquaredError, Metric, R2Score

from dgltree.datasets.batches import UNSEEN
from dgltree.read.text import one_line
from dgltree.training.objectives.class_means import MIN_PROBABILITY, balanced_accuracy, mean_f1, mean_recall

ALONE: dict[str, Any] = {"sync_on_compute": False}
"""For metrics of what this process alone looked at, whatever other processes there are."""
OTHER = "(other)"
"""The row of labels that are none of the model's classes."""
MOST_CONFUSED = 1000
"""Classes up to which it is counted how often each is mistaken for each."""
BINS = 15
"""Bins of probabilities, if their calibration is measured."""
MOST_SHOWN, MISTAKES = 20, 10
"""Classes whose confusions a terminal has room for, and of more the kinds of mistakes that are listed."""


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
    """Mean recall over the classes, from the counts of each."""

    def compute(self) -> Tensor:
        """(), the balanced accuracy."""
        return mean_recall(self.hits, self.actual)


class ClassRow(NamedTuple):
    """The metrics of one class."""

    name: str
    precision: float
    """Share of the examples predicted as this class that are right; 0 if there are none."""
    recall: float
    """Share of the examples of this class that are predicted as it; 0 if there are none."""
    f1: float
    support: int
    """Examples with it."""


@dataclass
class Evaluation:
    """The metrics of some examples."""

    examples: int
    metrics: dict[str, float]
    """accuracy and macro_f1, the accuracy of always answering the largest class of training, and of probabilities
    their calibration error (0 to 1); or r2, rank correlation, and rmse and mae in the unit of the labels."""
    confusion: Tensor | None = None
    """(classes, classes) int64: row the label, column the prediction; of up to 1,000 classes."""
    names: tuple[str, ...] = ()
    """Names of the rows and columns."""
    answers: tuple[Tensor, Tensor] | None = None
    """(E,) numbers that were predicted, and (E,) the labels; of numbers alone."""
    probabilities: dict[str, float] = field(default_factory=dict)
    """For classes the log loss in nats, the Brier score (0 to 2), and for two classes the average precision of the one
    that is rarer among the labels."""
    by_class: list[ClassRow] = field(default_factory=list)
    """Rows for classes that occur among the labels or the predictions; for up to 1,000 classes."""

    def __str__(self) -> str:
        return ", ".join(
            [*(f"{name} {value:.4f}" for name, value in self.metrics.items()), f"{self.examples} examples"]
        )

    def shown_classes(self) -> str:
        """The log loss and the like in a line, and a table of the classes: of many the ``MOST_SHOWN`` largest."""
        if not self.by_class:
            return ""
        rows = [", ".join(f"{name} {value:.4f}" for name, value in self.probabilities.items())]
        rows.append("class\tprecision\trecall\tf1\tsupport")
        shown = self.by_class  # in the order of the confusions
        if len(shown) > MOST_SHOWN:
            shown = sorted(shown, key=lambda row: -row.support)[:MOST_SHOWN]
        for row in shown:
            rows.append(f"{one_line(row.name)}\t{row.precision:.4f}\t{row.recall:.4f}\t{row.f1:.4f}\t{row.support}")
        more = len(self.by_class) - MOST_SHOWN
        return "\n".join([*rows, *([f"and {more:,} more classes"] if more > 0 else [])]) + "\n"

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
        head = (
            f"the {min(MISTAKES, kinds)} most frequent of {kinds} different mistakes: label, prediction, number of "
            "examples\n"
        )
        rows = [head]
        for count, place in zip(most[: min(MISTAKES, kinds)].tolist(), places.tolist(), strict=False):
            label, predicted = divmod(place, len(self.names))
            rows.append(f"{one_line(self.names[label])}\t{one_line(self.names[predicted])}\t{count}\n")
        return "".join(rows)


def most_probable(answers: Tensor) -> Tensor:
    """(E,) the numbers of the classes with the highest probabilities (E, C)."""
    return answers.argmax(1)


class ClassMetrics:
    """The metrics of classes, of which ``update`` is given some examples at a time.

    Args:
        classes: the names.
        predict: from probabilities (E, C) the numbers of the classes that are predicted (E,).
        balanced: whether the balanced accuracy is a metric, because classes are weighted or rare.
        largest: the number of the class that most training examples have; None: what it scores is no metric.
    """

    def __init__(
        self,
        classes: Sequence[str],
        predict: Callable[[Tensor], Tensor] = most_probable,
        balanced: bool = False,
        largest: int | None = None,
    ) -> None:
        self.classes = tuple(classes)
        count = len(classes) + 1
        self._predicted = predict
        self._balanced = balanced
        self._largest = largest
        self._counts = ClassCounts(count, **ALONE)
        self._confusion = torch.zeros(count, count, dtype=torch.int64) if count <= MOST_CONFUSED else None
        self._off = torch.zeros(BINS, dtype=torch.float64)
        self._log_loss = self._brier = 0.0
        self._seen: list[tuple[Tensor, Tensor]] = []
        self._second: list[Tensor] = []

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Probabilities (E, C) and the classes that they should be (E,) int64, if ``UNSEEN`` counts as an error."""
        predicted = self._predicted(answers)
        sure = answers.gather(1, predicted.unsqueeze(1)).squeeze(1)
        place = (sure.double() * BINS).long().clamp(max=BINS - 1)
        self._off.index_add_(0, place, sure.double() - (predicted == labels).double())
        right = answers.gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1).double() * (labels != UNSEEN)
        self._log_loss -= float(right.clamp(min=MIN_PROBABILITY).log().sum())
        self._brier += float((answers.double().square().sum(1) - 2 * right + 1).sum())
        labels = torch.where(labels == UNSEEN, len(self.classes), labels)
        self._counts.update(predicted, labels)
        self._seen.append((predicted, labels))
        if len(self.classes) == 2:
            self._second.append(answers[:, 1])
        if self._confusion is not None:
            self._confusion.index_put_((labels, predicted), torch.ones_like(labels), accumulate=True)

    def found(self) -> Evaluation:
        """The metrics of all examples; there must be one at least."""
        counts = self._counts
        confusion = self._confusion
        names = (*self.classes, OTHER)
        examples = int(counts.actual.sum())
        metrics = {"accuracy": int(counts.hits.sum()) / examples, "macro_f1": float(counts.compute())}
        if self._largest is not None:
            metrics["most_frequent"] = int(counts.actual[self._largest]) / examples
        # Guo et al. 2017, arXiv 1706.04599, eq. 5
        metrics["calibration_error"] = float(self._off.abs().sum() / examples)
        predicted, labels = (torch.cat(column) for column in zip(*self._seen, strict=True))
        if self._balanced:
            metrics["balanced_accuracy"] = balanced_accuracy(predicted, labels, len(self.classes) + 1)
        evaluation = Evaluation(examples, metrics, probabilities=self._probabilities(examples, labels))
        if confusion is not None:
            evaluation.by_class = self._by_class(predicted, labels)
            if not int(counts.actual[-1]):
                confusion = confusion[:-1, :-1]
                names = self.classes
            evaluation.confusion = confusion
            evaluation.names = names
        return evaluation

    def _probabilities(self, examples: int, labels: Tensor) -> dict[str, float]:
        found = {"log_loss": self._log_loss / examples, "brier": self._brier / examples}
        actual = self._counts.actual[:2]
        if len(self.classes) == 2 and bool((actual > 0).all()):
            from torchmetrics.functional.classification import binary_average_precision

            rarer = int(actual[0] < actual[1])  # the second unless the first is rarer
            second = torch.cat(self._second)
            scores, positive = (second, 1) if not rarer else (1 - second, 0)
            found["average_precision"] = float(binary_average_precision(scores, (labels == positive).long()))
        return found

    def _by_class(self, predicted: Tensor, labels: Tensor) -> list[ClassRow]:
        """A row for each class of the model that occurs among labels or predictions."""
        from torchmetrics.functional.classification import (
            multiclass_f1_score,
            multiclass_precision,
            multiclass_recall,
        )

        count = len(self.classes) + 1
        each = [
            metric(predicted, labels, num_classes=count, average=None).tolist()
            for metric in (multiclass_precision, multiclass_recall, multiclass_f1_score)
        ]
        counts = self._counts
        there = torch.nonzero((counts.actual + counts.predicted)[:-1]).flatten().tolist()
        return [ClassRow(self.classes[i], each[0][i], each[1][i], each[2][i], int(counts.actual[i])) for i in there]


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
