"""The probability from which on a class is predicted: given, or chosen in validation."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dgltree.training.options import parse_threshold

MAX_NAMED_CLASSES = 10
"""Classes that a message names."""


@dataclass(frozen=True)
class ThresholdRule:
    """A threshold as it is asked for: ``fraud=0.2``, ``fraud=f1``, ``fraud=recall:0.9`` or
    ``fraud=precision:0.9``."""

    name: str
    """Name of the class."""
    by: str
    """``given``, ``f1``, ``recall`` or ``precision``."""
    number: float = 0.0
    """The probability, the recall or the precision."""

    @classmethod
    def of(cls, text: str) -> "ThresholdRule":
        """Read one. Errors as of :func:`dgltree.training.options.parse_threshold`."""
        return cls(*parse_threshold(text))

    def place(self, classes: tuple[str, ...]) -> int:
        """The number of its class. Raises ``ValueError`` for one that is not there."""
        if self.name not in classes:
            known = ", ".join(classes[:MAX_NAMED_CLASSES])
            raise ValueError(f"threshold names {self.name!r:.60}; it must name a class, such as {known}")
        return classes.index(self.name)

    def chosen(self, answers: Tensor, targets: Tensor, classes: tuple[str, ...]) -> "Threshold | None":
        """The threshold, by validation examples if it is not given; None if none of them has the class, or if no
        threshold has enough precision.

        Of thresholds with the same F1 the highest, and of those with enough recall the highest, too; of those with
        enough precision the one that finds most, the lowest.

        Args:
            answers: (E, C) probabilities.
            targets: (E,) the classes of the examples.
            classes: their names.
        """
        place = self.place(classes)
        if self.by == "given":
            return Threshold(place, self.number)
        right = targets == place
        if not bool(right.any()):
            return None
        from torchmetrics.functional.classification import binary_precision_recall_curve

        precision, recall, at = binary_precision_recall_curve(answers[:, place].double(), right.long())
        precision = precision[:-1]  # the last point, of no predictions, has no threshold
        recall = recall[:-1]
        if self.by == "recall":
            return Threshold(place, float(at[recall >= self.number].max()))
        if self.by == "precision":
            enough = at[precision >= self.number]
            return Threshold(place, float(enough.min())) if len(enough) else None
        f1 = 2 * precision * recall / (precision + recall).clamp(min=1e-12)
        return Threshold(place, float(at[f1 == f1.max()].max()))


@dataclass(frozen=True)
class Threshold:
    """Predict the class with this number if its probability is as high as this, else the most probable other one."""

    place: int
    probability: float

    def predicted(self, answers: Tensor) -> Tensor:
        """(E,) the numbers of the classes, of probabilities (E, C)."""
        others = answers.index_fill(1, torch.tensor([self.place], device=answers.device), -1.0).argmax(1)
        return torch.where(answers[:, self.place].double() >= self.probability, self.place, others)

    def to_json(self, classes: tuple[str, ...]) -> dict[str, Any]:
        return {"class": classes[self.place], "probability": self.probability}

    @classmethod
    def from_json(cls, data: Any, classes: tuple[str, ...]) -> "Threshold":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` for anything else."""
        name, number = (data.get(key) for key in ("class", "probability")) if isinstance(data, dict) else (None, None)
        if (
            name not in classes
            or isinstance(number, bool)
            or not isinstance(number, int | float)
            or not 0 <= number <= 1
        ):
            raise ValueError("a threshold must be a class of the model and a probability")
        return cls(classes.index(name), float(number))
