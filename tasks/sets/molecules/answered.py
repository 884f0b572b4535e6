"""The answers of a model to the molecules of one split, and how good they are."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from tasks.sets.molecules.published import Molecule, MoleculeParts


@dataclass(frozen=True)
class Answered:
    """The result of a model.

    Args:
        what: the model and the settings that validation chose.
        validation: accuracy or R2 in validation.
        answers: to the test molecules, the probability of class 1 or the number.
        weights: parameters of a network or a linear model, nodes of trees.
    """

    what: str
    validation: float
    answers: list[float]
    weights: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"answers": [round(answer, 6) for answer in self.answers]}


class TrainedPeer(NamedTuple):
    """Settings of a peer, trained on the molecules to train on.

    Args:
        answers: to molecules, (E,).
        weights: as of :class:`Answered`.
    """

    what: str
    answers: Callable[[Sequence[Molecule]], np.ndarray]
    weights: int


def score(rows: Sequence[Molecule], answers: Iterable[float], classes: bool) -> float:
    """The accuracy of probabilities of class 1, or R2 of numbers."""
    labels, given = labels_of(rows), np.fromiter(answers, float)
    if classes:
        return float(((given > 0.5) == (labels > 0.5)).mean())
    return float(1 - np.square(labels - given).sum() / np.square(labels - labels.mean()).sum())


def chosen(candidates: Iterable[TrainedPeer], parts: MoleculeParts, classes: bool) -> Answered:
    """The candidate that is best in validation; the first of equal ones."""
    scored = [(score(parts.validation, one.answers(parts.validation), classes), one) for one in candidates]
    best, one = max(scored, key=lambda pair: pair[0])
    return Answered(one.what, best, one.answers(parts.test).tolist(), one.weights)


def labels_of(rows: Sequence[Molecule]) -> np.ndarray:
    """(E,)"""
    return np.array([row.label for row in rows])
