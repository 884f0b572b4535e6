"""Pairs of formulas with the relation between them, as data sets."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from dgltree import TreeDataset
from dgltree.datasets import Reading
from dgltree.read.bracket import read_unlabelled
from dgltree.support.lazy import cached_property
from dgltree.trees.logic import RELATIONS
from tasks.fit_cli import Sets
from tasks.logic import generate
from tasks.logic.files import MAX_FILE_NUMBER, Pair, Part, read_pairs
from tasks.logic.language import VOCABULARY

# Training, validation and test sets: length generalisation and the systematic splits A, B, C.
# A systematic split leaves out of training every pair in which either formula contains one of its patterns of tokens
# (Shen et al. 2019, arXiv 1910.13466, section 5.1), and tests on what it left out.
Split = Literal["full", "A", "B", "C"]
PATTERNS: dict[Split, tuple[str, ...]] = {
    "full": (),
    "A": ("( and ( not a ) )",),
    "B": ("( and ( not",),
    "C": ("( and ( not", "( or ( not"),
}
MAX_TRAINED_OPERATORS = 6
"""The most operators of a formula to train on; tests of length generalisation have more."""
EACH = 10  # every so manieth pair is for validation

Read = Callable[[Part, int], Iterable[Pair]]
"""Part and number of a file to its pairs."""


class Known(NamedTuple):
    """The pairs that may be learned from, and those that a model is chosen by."""

    train: list[Pair]
    validation: list[Pair]


def contains(pair: Pair, split: Split) -> bool:
    """Whether a pair has a pattern of the split."""
    return any(pattern in text for pattern in PATTERNS[split] for text in (pair.left, pair.right))


def keep_pairs(read: Read, split: Split) -> list[Pair]:
    """The pairs of train0 to train6 that a split keeps, in file order."""
    return [pair for k in range(MAX_TRAINED_OPERATORS + 1) for pair in read("train", k) if not contains(pair, split)]


def divide(pairs: Sequence[Pair]) -> Known:
    """Every tenth pair is for validation, counted from 1."""
    train = [pair for number, pair in enumerate(pairs, 1) if number % EACH]
    return Known(train, list(pairs[EACH - 1 :: EACH]))


def for_test(read: Read, split: Split) -> list[Pair]:
    """The test data.

    For "full" the pairs of test7 to test12. For another split those of them that have its pattern, after the pairs
    that it dropped from train0 to train6: these have up to 6 operators, those more.
    """
    long = [pair for k in range(MAX_TRAINED_OPERATORS + 1, MAX_FILE_NUMBER + 1) for pair in read("test", k)]
    if split == "full":
        return long
    dropped = [pair for k in range(MAX_TRAINED_OPERATORS + 1) for pair in read("train", k) if contains(pair, split)]
    return dropped + [pair for pair in long if contains(pair, split)]


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
        self.folder = folder
        self.split = split
        self.train_pairs = train_pairs
        self.seed = seed

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
