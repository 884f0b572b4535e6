"""The answers of a model to the rows of one split, and how good they are."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

RESAMPLES = 10_000


class RowsOfParts(Protocol):
    """Rows to train on, to validate on and to test on; each has a number ``label``, of a class its place in a list."""

    @property
    def train(self) -> Sequence[Any]: ...
    @property
    def validation(self) -> Sequence[Any]: ...
    @property
    def test(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Answered:
    """The result of a model.

    Args:
        what: the model and the settings that validation chose.
        validation: accuracy or R2 in validation.
        answers: to the test rows: the number, the place of the class, or of two classes the probability of the second.
        weights: parameters of a network or a linear model, nodes of trees.
    """

    what: str
    validation: float
    answers: list[float]
    weights: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"answers": [round(answer, 6) for answer in self.answers]}


class TrainedPeer(NamedTuple):
    """Settings of a peer, trained on the rows to train on.

    Args:
        answers: to rows, (E,), as of :class:`Answered`.
        weights: as of :class:`Answered`.
    """

    what: str
    answers: Callable[[Sequence[Any]], np.ndarray]
    weights: int


def score(rows: Sequence[Any], answers: Iterable[float], classes: bool) -> float:
    """The accuracy of classes, or R2 of numbers."""
    labels, given = labels_of(rows), np.fromiter(answers, float)
    return float(scores(labels, given, np.arange(len(labels))[None], classes)[0])


def scores(labels: np.ndarray, given: np.ndarray, rows: np.ndarray, classes: bool) -> np.ndarray:
    """(R,) the accuracy or R2 of each resample, whose examples ``rows`` (R, E) names."""
    labels, given = labels[rows], given[rows]
    if classes:
        return np.asarray((np.rint(given) == labels).mean(1))
    errors, spread = np.square(labels - given), np.square(labels - labels.mean(1, keepdims=True))
    return np.asarray(1 - errors.sum(1) / spread.sum(1))


class SplitPair(NamedTuple):
    """Labels (E,) of the test rows of a split, and the answers of two models to them."""

    labels: np.ndarray
    ours: Sequence[float]
    theirs: Sequence[float]


def interval(pairs: Iterable[SplitPair], classes: bool) -> tuple[float, float]:
    """The 95 % interval of the mean difference over splits, by a paired bootstrap over each one's test rows."""
    random, resampled = np.random.default_rng(0), []
    for labels, ours, theirs in pairs:
        rows = random.integers(len(labels), size=(RESAMPLES, len(labels)))
        ours_of, theirs_of = (scores(labels, np.array(given), rows, classes) for given in (ours, theirs))
        resampled.append(ours_of - theirs_of)
    low, high = np.quantile(np.mean(resampled, axis=0), (0.025, 0.975))
    return float(low), float(high)


def choose_candidate(candidates: Iterable[TrainedPeer], parts: RowsOfParts, classes: bool) -> Answered:
    """The candidate that is best in validation; the first of equal ones."""
    scored = [(score(parts.validation, one.answers(parts.validation), classes), one) for one in candidates]
    best, one = max(scored, key=lambda pair: pair[0])
    return Answered(one.what, best, one.answers(parts.test).tolist(), one.weights)


def labels_of(rows: Sequence[Any]) -> np.ndarray:
    """(E,)"""
    return np.array([row.label for row in rows])


def read_runs(file: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """The lines of a file of results, by set, seed and model; none if there is no file."""
    if not file.exists():
        return {}
    found: list[dict[str, Any]] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {(run["set"], run["seed"], run["model"]): run for run in found}
