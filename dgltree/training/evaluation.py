"""How right a trained model is. Needs the extra ``train`` (torchmetrics)."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torchmetrics.functional import mean_absolute_error, mean_squared_error, r2_score
from torchmetrics.functional.classification import (
    multiclass_accuracy,
    multiclass_confusion_matrix,
    multiclass_f1_score,
)

from dgltree.datasets.batches import UNSEEN, label_numbers
from dgltree.datasets.labels import with_labels
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.text import shown
from dgltree.training.trained import TrainedModel

OTHER = "(other)"
"""The row of labels that are none of the model's classes."""


@dataclass
class Evaluation:
    """The metrics of some examples."""

    examples: int
    metrics: dict[str, float]
    """accuracy and macro_f1, beside the share of the most frequent label (0 to 1); or r2, and rmse and mae in the unit
    of the labels."""
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


def evaluate(model: TrainedModel, dataset: TreeDataset) -> Evaluation:
    """The metrics of labelled examples; a label that is none of the model's classes counts as an error.

    Examples without a label, or for numbers with one that is none, are left out.

    Raises ``ValueError`` where there are no others, and as :meth:`dgltree.training.trained.TrainedModel.predict`.
    """
    known = with_labels(model.dataset(dataset), model.gives_numbers)
    answers, labels = model.predict(known), label_numbers(known.labels, model.classes or None)
    if model.gives_numbers:
        return of_numbers(answers, labels)
    return of_classes(answers.argmax(1), labels, model.classes)


def of_classes(predicted: Tensor, labels: Tensor, classes: tuple[str, ...]) -> Evaluation:
    """The metrics of classes.

    Args:
        predicted: (E,) int64, class numbers.
        labels: (E,) int64, class numbers; ``UNSEEN`` counts as an error.
        classes: the names.
    """
    count = len(classes)
    labels = torch.where(labels == UNSEEN, count, labels)
    confusion = multiclass_confusion_matrix(predicted, labels, count + 1)
    names = (*classes, OTHER)
    occurs = confusion.sum(1) > 0  # torchmetrics' own mean counts classes that are predicted alone, too
    f1 = multiclass_f1_score(predicted, labels, count + 1, average="none")
    metrics = {
        "accuracy": float(multiclass_accuracy(predicted, labels, count + 1, average="micro")),
        "macro_f1": float(f1[occurs].mean()),
        "most_frequent": float(confusion.sum(1).max() / confusion.sum()),
    }
    if not occurs[count]:
        confusion, names = confusion[:count, :count], classes
    return Evaluation(len(labels), metrics, confusion, names)


def of_numbers(answers: Tensor, labels: Tensor) -> Evaluation:
    """The metrics of numbers (E,) and what they should be (E,)."""
    rmse, mae = mean_squared_error(answers, labels, squared=False), mean_absolute_error(answers, labels)
    r2 = r2_score(answers, labels) if len(labels) > 1 else torch.nan
    metrics = {"r2": float(r2), "rmse": float(rmse), "mae": float(mae)}
    return Evaluation(len(labels), metrics, answers=(answers, labels))
