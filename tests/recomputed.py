"""The numbers of a training's folder, recomputed from its table and its printed answers by numpy and scikit-learn."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.dummy import DummyClassifier
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    recall_score,
    root_mean_squared_error,
)

OTHER = "(other)"
BINS = 15


class Rows(NamedTuple):
    """Those of a split, or of a whole file, that can be read."""

    labels: list[str]
    answers: np.ndarray
    """(rows, classes) probabilities, or (rows,) numbers."""
    predicted: list[str]
    left_out: int
    names: tuple[str, ...] = ()
    """The classes that the answers are of."""


def rows_of(table: Path, bad: Mapping[str, str], printed: str) -> dict[str, Rows]:
    """By split, and of all rows as "".

    Args:
        table: ``id, tree, label, split`` with tabs between them; an id that is used twice is bad the second time.
        bad: the ids of other bad rows, with their splits.
        printed: what ``predict`` printed of the table.
    """
    with table.open(encoding="utf-8", newline="") as file:
        given = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    header, *answered = [line.split("\t") for line in printed.splitlines()]
    seen: set[str] = set()
    kept: dict[str, list[tuple[str, list[str]]]] = {}
    left_out: Counter[str] = Counter()
    for line, (row, answer) in enumerate(zip(given, answered, strict=True), 2):
        assert answer[0] == (str(line) if row["id"] in seen else row["id"]), "a row of answers for every row, in order"
        good = row["id"] not in bad and row["id"] not in seen
        assert good == (answer[1] != ""), "and none for what is bad"
        seen.add(row["id"])
        for name in ("", row["split"]):
            left_out[name] += not good
            if good:
                kept.setdefault(name, []).append((row["label"], answer[1:]))
    return {name: _rows(found, left_out[name], tuple(header[2:])) for name, found in kept.items()}


def _rows(found: Sequence[tuple[str, list[str]]], left_out: int, names: tuple[str, ...]) -> Rows:
    labels = [label for label, _ in found]
    predicted = [answer[0] for _, answer in found]
    columns = np.array([[float(p) for p in (answer[1:] if names else answer[:1])] for _, answer in found])
    return Rows(labels, columns if names else columns[:, 0], predicted, left_out, names)


def metrics(rows: Rows, train: Sequence[str]) -> dict[str, float]:
    """Of classes or of numbers; ``train`` are the labels of the training set."""
    if not rows.names:
        labels, answers = np.array(list(map(float, rows.labels))), rows.answers
        return {
            "r2": r2_score(labels, answers),
            "rank_correlation": spearmanr(labels, answers).statistic,
            "rmse": root_mean_squared_error(labels, answers),
            "mae": mean_absolute_error(labels, answers),
        }
    assert rows.predicted == [rows.names[best] for best in rows.answers.argmax(1)], "the most probable class"
    np.testing.assert_allclose(rows.answers.sum(1), 1, atol=1e-5)
    labels = [label if label in rows.names else OTHER for label in rows.labels]
    found = {
        "accuracy": accuracy_score(labels, rows.predicted),
        "macro_f1": f1_score(labels, rows.predicted, average="macro", zero_division=0),
        "most_frequent": _dummy_accuracy(rows, labels, train),
        "calibration_error": _calibration_error(rows, labels),
    }
    return found | ({"balanced_accuracy": _balanced(labels, rows.predicted)} if has_rare(rows.names, train) else {})


def has_rare(names: Sequence[str], train: Sequence[str]) -> bool:
    """Whether a class has less than half of an even share of the training labels."""
    return min(list(train).count(name) for name in names) < len(train) / (2 * len(names))


def _balanced(labels: Sequence[str], predicted: Sequence[str]) -> float:
    """The mean recall of the classes among the labels."""
    return float(recall_score(labels, predicted, labels=sorted(set(labels)), average="macro", zero_division=0))


def _dummy_accuracy(rows: Rows, labels: Sequence[str], train: Sequence[str]) -> float:
    """What scikit-learn's classifier scores that always answers the largest class of training."""
    places = {name: place for place, name in enumerate(rows.names)}  # by which it decides between equals
    dummy = DummyClassifier(strategy="most_frequent").fit([[0]] * len(train), [places[label] for label in train])
    wanted = [places.get(label, -1) for label in labels]
    return float(dummy.score([[0]] * len(labels), wanted))


def probabilities(rows: Rows) -> dict[str, float]:
    """The log loss, the Brier score and the average precision of the rarer of two classes; a strange label has none."""
    names, onehot = list(rows.names), np.zeros_like(rows.answers)
    for i, label in enumerate(rows.labels):
        if label in names:
            onehot[i, names.index(label)] = 1
    right = np.maximum((rows.answers * onehot).sum(1), 1e-12)
    strange = 1 - onehot.sum(1)
    found = {
        "log_loss": float(-np.log(right).mean()),
        "brier": float((((rows.answers - onehot) ** 2).sum(1) + strange).mean()),
    }
    counts = [rows.labels.count(name) for name in names]
    if len(names) == 2 and min(counts) > 0:
        rarer = 0 if counts[0] < counts[1] else 1
        found["average_precision"] = average_precision_score(onehot[:, rarer], rows.answers[:, rarer])
    return found


def by_class(rows: Rows) -> dict[str, tuple[float, float, float, int]]:
    """Precision, recall, F1 and support of the classes that occur."""
    labels = [label if label in rows.names else OTHER for label in rows.labels]
    names = [name for name in rows.names if name in labels or name in rows.predicted]
    found = precision_recall_fscore_support(labels, rows.predicted, labels=names, zero_division=0)
    return {name: tuple(column[i] for column in found) for i, name in enumerate(names)}


def intervals(rows: Rows, train: Sequence[str]) -> dict[str, tuple[float, float]]:
    """95 % of a thousand resamples, drawn as documented: numpy's generator with seed 0."""
    labels = np.array(rows.labels if rows.names else list(map(float, rows.labels)))
    random = np.random.default_rng(0)
    drawn = [random.integers(len(labels), size=len(labels)) for _ in range(1000)]
    if not rows.names:
        each = {"r2": r2_score, "rmse": root_mean_squared_error, "mae": mean_absolute_error}
        return {name: _middle([of(labels[k], rows.answers[k]) for k in drawn]) for name, of in each.items()}
    labels = np.array([label if label in rows.names else OTHER for label in rows.labels])
    predicted = np.array(rows.predicted)
    macro = [f1_score(labels[k], predicted[k], average="macro", zero_division=0) for k in drawn]
    found = {"accuracy": _middle([(labels[k] == predicted[k]).mean() for k in drawn]), "macro_f1": _middle(macro)}
    if has_rare(rows.names, train):
        found["balanced_accuracy"] = _middle([_balanced(labels[k].tolist(), predicted[k].tolist()) for k in drawn])
    return found


def _middle(values: list[float]) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _calibration_error(rows: Rows, labels: list[str]) -> float:
    """Guo et al. 2017, equation 5, bin by bin."""
    sure, right = rows.answers.max(1), np.array(rows.predicted) == np.array(labels)
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    there = [(place == k).nonzero()[0] for k in range(BINS)]
    return sum(len(k) / len(labels) * abs(sure[k].mean() - right[k].mean()) for k in there if len(k))


def confusion(rows: Rows) -> list[list[Any]]:
    """Name and counts of each row of ``confusion.tsv``."""
    labels = [label if label in rows.names else OTHER for label in rows.labels]
    names = [*rows.names, *([OTHER] if OTHER in labels else [])]
    counts = confusion_matrix(labels, rows.predicted, labels=names)
    return [[name, *row] for name, row in zip(names, counts.tolist(), strict=True)]
