"""A model's answers to the trees of a file: computed once, when they are first asked for."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.datasets.batches import UNSEEN, label_numbers
from dgltree.datasets.labels import with_labels
from dgltree.datasets.splitting.splits import split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.engine.kernels.choice import kernels
from dgltree.explore.open_models import OwnTrees
from dgltree.training.folder import CARD

MOST = 20_000
"""Examples that are looked at, the first of the file."""
CLOSE = 1e-3
"""Between the accuracy of the card and that of the examples, where they are the same."""


class ModelAnswers:
    """The examples of a file that have a label and that the model knows.

    Args:
        own: a model and its trees.
    """

    def __init__(self, own: OwnTrees) -> None:
        assert own.data is not None
        self.trained = own.trained
        self.card = read_card(own.folder)
        self._all = with_labels(own.data, own.trained.gives_numbers)

    @cached_property
    def data(self) -> TreeDataset:
        """The examples, in the model's vocabulary: those of the test set where it is the training's file, else all."""
        part = self._part if self.is_test else None
        return self.trained.dataset(self._all.select(range(min(MOST, len(self._all)))) if part is None else part)

    @cached_property
    def answers(self) -> Tensor:
        """(E, classes) probabilities, or (E,) numbers."""
        with kernels("cached"):
            return self.trained.predict(self.data)

    @cached_property
    def labels(self) -> Tensor:
        """(E,) class numbers, ``UNSEEN`` for a label that is none; or numbers."""
        return label_numbers(self.data.labels, self.trained.classes or None)

    @cached_property
    def vectors(self) -> Tensor:
        """(E, n), of the trees."""
        with kernels("cached"):
            return self.trained.encode(self.data)

    @cached_property
    def wrongness(self) -> Tensor:
        """(E,) what the true class lacks to a probability of 1, or how far a number is off."""
        if self.trained.gives_numbers:
            return (self.answers - self.labels).abs()
        known = self.labels.clamp(min=0)
        right = self.answers.gather(1, known[:, None])[:, 0]
        return 1 - torch.where(self.labels == UNSEEN, torch.zeros_like(right), right)

    @cached_property
    def is_test(self) -> bool:
        """Whether the file is that of the training: then its test set has the size and the accuracy of the card."""
        test = (self.card or {}).get("metrics", {}).get("test", {})
        if self._part is None or len(self._part) > MOST or len(self._part) != test.get("examples"):
            return False
        known = self.trained.dataset(self._part)
        if self.trained.gives_numbers:
            error = (self.trained.predict(known) - label_numbers(known.labels, None)).abs().mean()
            return abs(float(error) - test["mae"]) <= CLOSE * max(1.0, test["mae"])
        right = self.trained.predict(known).argmax(1) == label_numbers(known.labels, self.trained.classes)
        return abs(float(right.float().mean()) - test["accuracy"]) <= CLOSE

    @cached_property
    def _part(self) -> TreeDataset | None:
        """The test set, if the file was split as for the training."""
        try:
            return split(self._all, (self.card or {}).get("options", {}).get("seed", 0)).get("test")
        except ValueError:  # too few trees, or a column of splits that names others
            return None


def read_card(folder: Path) -> dict[str, Any] | None:
    """What a training says of itself; None where it is not done.

    Raises ``ValueError`` for a file that is no JSON.
    """
    file = folder / CARD
    if not file.exists():
        return None
    try:
        card: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file}: damaged; fit writes it again once {CARD} is deleted") from None
    return card
