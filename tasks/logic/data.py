"""Pairs of formulas with the relation between them, as data sets."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch

from dgltree import TreeDataset
from dgltree.datasets import Reading
from dgltree.read.bracket import read_unlabelled
from dgltree.trees.logic import RELATIONS
from tasks.fit_cli import Sets
from tasks.logic import generate
from tasks.logic.files import Pair, read_pairs
from tasks.logic.language import VOCABULARY
from tasks.logic.splits import MAX_TRAINED_OPERATORS, PATTERNS, Known, Read, Split, divide, for_test, keep_pairs


class LogicPairs:
    """Pairs of formulas of up to 6 operators to train and validate on.

    The test is on longer formulas, also in sets of one number of operators; or for a systematic split on what training
    left out (tasks/logic/splits.py): in the set of 6 that of up to 6 operators, in the set of 7 that of more.

    Args:
        folder: the published files, or own ones that tasks.logic.generate wrote; without it own pairs are made.
        split: "full", "A", "B" or "C".
        train_pairs: so many of the training pairs, a larger number holding every smaller one of its seed; by default
            all. Validation and test do not depend on it.
        seed: of which pairs are taken, and of own pairs.

    Raises ``ValueError`` for another split, and more training pairs than there are; and what
    :func:`tasks.logic.files.read_pairs` raises.
    """

    def __init__(
        self, folder: Path | None = None, split: Split = "full", train_pairs: int | None = None, seed: int = 0
    ) -> None:
        if split not in PATTERNS:
            raise ValueError(f"split is {split!r}; it must be one of {', '.join(PATTERNS)}")
        self.folder, self.split, self.train_pairs, self.seed = folder, split, train_pairs, seed

    @cached_property
    def _read(self) -> Read:
        folder = self.folder
        if folder is not None:
            return lambda part, number: read_pairs(folder, part, number)
        own = generate.pairs(self.seed)
        return lambda part, number: own[part, number]

    @cached_property
    def _known(self) -> Known:
        return divide(keep_pairs(self._read, self.split))

    @cached_property
    def train(self) -> list[Pair]:
        """The training data, in file order."""
        pairs = self._known.train
        if self.train_pairs is None:
            return pairs
        if not 1 <= self.train_pairs <= len(pairs):
            raise ValueError(f"train_pairs is {self.train_pairs}; there are {len(pairs):,} in split {self.split!r}")
        order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(self.seed)).tolist()
        return [pairs[i] for i in sorted(order[: self.train_pairs])]

    @property
    def validation(self) -> list[Pair]:
        """The validation data."""
        return self._known.validation

    @cached_property
    def test(self) -> list[Pair]:
        """The test data."""
        return for_test(self._read, self.split)

    def sets(self) -> Sets:
        """All of them as data sets."""
        groups = list(map(self._group, self.test))
        parts = {f"operators_{k:02}": [i for i, group in enumerate(groups) if group == k] for k in sorted({*groups})}
        tests = {"test": data_of(self.test)}
        return Sets(data_of(self.train), data_of(self.validation), tests, VOCABULARY, RELATIONS, parts)

    def _group(self, pair: Pair) -> int:
        """Operators; of a systematic split, what it left out of training is one group and what is longer another."""
        return (
            pair.operators
            if self.split == "full"
            else min(max(pair.operators, MAX_TRAINED_OPERATORS), MAX_TRAINED_OPERATORS + 1)
        )


def data_of(pairs: Sequence[Pair]) -> TreeDataset:
    """Pairs as trees, with their relations."""
    trees = [(read_unlabelled(pair.left), read_unlabelled(pair.right)) for pair in pairs]
    return TreeDataset(trees, [pair.relation for pair in pairs], reading=Reading(notation="brackets", numbers=False))
