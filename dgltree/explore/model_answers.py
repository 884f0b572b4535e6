"""A model's answers to the trees of a file: computed once, when they are first asked for."""

import json
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import unbatch
from dgltree.datasets.batches import UNSEEN
from dgltree.datasets.splitting.splits import split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.engine.kernels.choice import kernels
from dgltree.explore.as_given import read_texts, write_tree
from dgltree.explore.endpoint import RequestFields
from dgltree.explore.open_models import OwnTrees
from dgltree.training.folder import CARD, split_rule, split_seed
from dgltree.training.objectives import Classes, Numbers, Objective
from dgltree.training.split_file import earlier

NONE = "none of these"
"""The row of labels that are none of the model's classes."""
MAX_EXAMPLES = 20_000
"""Examples that are looked at, the first of the file."""
MAX_CLASSES, MAX_MISTAKES = 300, 100
"""Classes of a matrix that is sent, and pairs of classes that are sent in its place: the matrix of 10,000 is 270 MB."""
ACCURACY_TOLERANCE = 1e-3
"""Between the accuracy of the card and that of the examples, if they are the same."""


class ModelAnswers(ABC):
    """The examples of a file that have a label and that the model knows.

    Args:
        own: a model and its trees.
    """

    def __init__(self, own: OwnTrees) -> None:
        assert own.data is not None
        self.trained, self._path = own.trained, own.path
        self.card, self._folder = read_card(own.folder), own.folder
        self._all = own.trained.objective.labelled(own.data)

    @cached_property
    def data(self) -> TreeDataset:
        """The examples, in the model's vocabulary: those of the test set if it is the training's file, else all."""
        part = self._part if self.is_test else None
        return self.trained.dataset(
            self._all.select(range(min(MAX_EXAMPLES, len(self._all)))) if part is None else part
        )

    def text(self, example: int) -> str:
        """How the trees of an example are written in the file; else as they were read, in its notation."""
        given = self._texts[example]
        if given is not None:
            return given
        trees = unbatch(self.data.select([example]).as_read().trees)
        return " · ".join(write_tree(tree, self.trained.reading) for tree in trees)

    @cached_property
    def _texts(self) -> list[str | None]:
        assert self._path is not None
        return read_texts(self._path, self.data)

    @cached_property
    def answers(self) -> Tensor:
        """(E, classes) probabilities, or (E,) numbers."""
        with kernels("cached"):
            return self.trained.answers_to(self.data)

    @cached_property
    def labels(self) -> Tensor:
        """(E,) class numbers, ``UNSEEN`` for a label that is none; or numbers."""
        return self.trained.objective.targets(self.data.labels)

    @cached_property
    def vectors(self) -> Tensor:
        """(E, n), of the trees."""
        with kernels("cached"):
            return self.trained.encode(self.data)

    @cached_property
    def is_test(self) -> bool:
        """Whether the file is that of the training: then its test set has the size and the metric of the card."""
        test = (self.card or {}).get("metrics", {}).get("test", {})
        if self._part is None or len(self._part) > MAX_EXAMPLES or len(self._part) != test.get("examples"):
            return False
        known = self.trained.dataset(self._part)
        return self.is_as_on(test, self.trained.answers_to(known), self.trained.objective.targets(known.labels))

    @abstractmethod
    def is_as_on(self, metrics: dict[str, float], answers: Tensor, labels: Tensor) -> bool:
        """Whether answers have the metrics of a card."""

    @property
    @abstractmethod
    def wrongness(self) -> Tensor:
        """(E,) how far each answer is off."""

    @abstractmethod
    def asked_for(self, asked: RequestFields) -> Tensor:
        """(E,) bool, the examples of a request."""

    @abstractmethod
    def said(self, example: int) -> dict[str, Any]:
        """The answer to an example, for a list."""

    @abstractmethod
    def ranked(self, example: int) -> list[dict[str, Any]]:
        """The classes, the most probable first; none if there are none."""

    @abstractmethod
    def compared(self) -> dict[str, Any]:
        """All answers next to the labels."""

    @cached_property
    def _part(self) -> TreeDataset | None:
        """The test set, if the file was split as for the training."""
        try:
            if (kept := earlier(self._folder)) is not None:
                rows = [i for i, name in enumerate(kept.known(self._all)) if name == "test"]
                return self._all.select(rows) if rows else None
            return split(self._all, split_seed(self._folder), rule=split_rule(self._folder)).get("test")
        except ValueError:  # too few trees, or a column of splits that names others
            return None


class ClassAnswers(ModelAnswers):
    """The same of classes."""

    def is_as_on(self, metrics: dict[str, float], answers: Tensor, labels: Tensor) -> bool:
        return (
            abs(float((self.trained.objective.predicted(answers) == labels).float().mean()) - metrics["accuracy"])
            <= ACCURACY_TOLERANCE
        )

    @cached_property
    def wrongness(self) -> Tensor:
        """(E,) what the true class lacks to a probability of 1."""
        right = self.answers.gather(1, self.labels.clamp(min=0)[:, None])[:, 0]
        return 1 - torch.where(self.labels == UNSEEN, torch.zeros_like(right), right)

    def asked_for(self, asked: RequestFields) -> Tensor:
        """All mistakes, or the examples of one field of the confusion matrix."""
        predicted, names = self.trained.objective.predicted(self.answers), len(self.trained.classes)
        if asked.flag("all"):
            return predicted != self.labels
        true = asked.whole("true", 0, names)
        wanted = UNSEEN if true == names else true
        return (self.labels == wanted) & (predicted == asked.whole("predicted", 0, names - 1))

    def said(self, example: int) -> dict[str, Any]:
        answer = self.answers[example]
        best = int(self.trained.objective.predicted(answer.unsqueeze(0)))
        return {"predicted": self.trained.classes[best], "probability": round(float(answer[best]), 4)}

    def ranked(self, example: int) -> list[dict[str, Any]]:
        pairs = zip(self.answers[example].tolist(), self.trained.classes, strict=True)
        return [{"name": name, "probability": round(p, 4)} for p, name in sorted(pairs, key=lambda pair: -pair[0])[:8]]

    def compared(self) -> dict[str, Any]:
        """The confusion matrix; of more than ``MAX_CLASSES`` classes the most frequent mistakes, whose matrix is "
        "empty."""
        names = list(self.trained.classes)
        true = torch.where(self.labels == UNSEEN, len(names), self.labels)
        pairs = true * len(names) + self.trained.objective.predicted(self.answers)
        if len(names) > MAX_CLASSES:
            return {"confusion": {"true": [*names, NONE], "mistakes": self._mistakes(true, pairs)}}
        counts = torch.bincount(pairs, minlength=(len(names) + 1) * len(names)).view(-1, len(names))
        if not counts[-1].any():
            return {"confusion": {"true": names, "counts": counts[:-1].tolist()}}
        return {"confusion": {"true": [*names, NONE], "counts": counts.tolist()}}

    def _mistakes(self, true: Tensor, pairs: Tensor) -> list[dict[str, Any]]:
        """The most frequent pairs of different classes, with their share in the examples of the true class."""
        size = torch.bincount(true, minlength=len(self.trained.classes) + 1)
        found, counts = pairs.unique(return_counts=True)
        rows = [
            {"true": pair // len(self.trained.classes), "predicted": pair % len(self.trained.classes), "count": count}
            for pair, count in zip(found.tolist(), counts.tolist(), strict=True)
        ]
        wrong = [
            row | {"share": row["count"] / int(size[row["true"]])} for row in rows if row["true"] != row["predicted"]
        ]
        return sorted(wrong, key=lambda row: (-row["count"], -row["share"]))[:MAX_MISTAKES]


class NumberAnswers(ModelAnswers):
    """The same of numbers."""

    def is_as_on(self, metrics: dict[str, float], answers: Tensor, labels: Tensor) -> bool:
        return abs(float((answers - labels).abs().mean()) - metrics["mae"]) <= ACCURACY_TOLERANCE * max(
            1.0, metrics["mae"]
        )

    @cached_property
    def wrongness(self) -> Tensor:
        return (self.answers - self.labels).abs()

    def asked_for(self, asked: RequestFields) -> Tensor:
        """All of them."""
        return torch.ones(len(self.data), dtype=torch.bool)

    def said(self, example: int) -> dict[str, Any]:
        return {"predicted": float(self.answers[example])}

    def ranked(self, example: int) -> list[dict[str, Any]]:
        return []

    def compared(self) -> dict[str, Any]:
        return {"predicted": list(zip(self.labels.tolist(), self.answers.tolist(), strict=True))}


ANSWERS: dict[type[Objective], type[ModelAnswers]] = {Classes: ClassAnswers, Numbers: NumberAnswers}
"""By what a model predicts."""


def answers_of(own: OwnTrees) -> ModelAnswers:
    """A model's answers to its examples."""
    return ANSWERS[type(own.trained.objective)](own)


def read_card(folder: Path) -> dict[str, Any] | None:
    """A training's report of itself; None if it is not done.

    Raises ``ValueError`` for a file that is not JSON.
    """
    file = folder / CARD
    if not file.exists():
        return None
    try:
        card: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file}: damaged; fit writes it again once {CARD} is deleted") from None
    return card
