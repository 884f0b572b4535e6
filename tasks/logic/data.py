"""Batches of pairs of formulas with the relation between them."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch

from dgltree import batch
from dgltree.batching.subtrees import number_subtrees
from dgltree.datasets.labelled import Labelled
from dgltree.read.bracket import read_unlabelled
from tasks.data import BucketedData
from tasks.logic import generate
from tasks.logic.files import Pair, read_pairs
from tasks.logic.language import RELATIONS, VOCABULARY
from tasks.logic.splits import LONGEST, PATTERNS, Known, Read, Split, divided, for_test, kept

CLASSES = len(RELATIONS)


class LogicPairs(BucketedData):
    """Pairs of formulas of up to 6 operators to train and validate on; the order depends on (seed, epoch) alone.

    The test is on longer formulas, in groups of one number of operators; or for a systematic split on what training
    left out (tasks/logic/splits.py): in group 6 that of up to 6 operators, in group 7 that of more. Batches hold pairs
    of similar lengths.

    Args:
        folder: the published files, or own ones that tasks.logic.generate wrote; without it own pairs are made.
        split: "full", "A", "B" or "C".
        train_pairs: so many of the training pairs, a larger number holding every smaller one of its seed; by default
            all. Validation and test do not depend on it.
        batch_size: pairs a step.
        seed: of the order, of which pairs are taken, and of own pairs.

    Raises ``ValueError`` for another split, a batch size below 1, and more training pairs than there are; and what
    :func:`tasks.logic.files.read_pairs` raises.
    """

    def __init__(
        self,
        folder: Path | None = None,
        split: Split = "full",
        train_pairs: int | None = None,
        batch_size: int = 128,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if split not in PATTERNS:
            raise ValueError(f"split is {split!r}; it must be one of {', '.join(PATTERNS)}")
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
        self.folder, self.split, self.train_pairs = folder, split, train_pairs
        self.batch_size, self.seed = batch_size, seed
        self.vocabulary = VOCABULARY

    @cached_property
    def _read(self) -> Read:
        folder = self.folder
        if folder is not None:
            return lambda part, number: read_pairs(folder, part, number)
        own = generate.pairs(self.seed)
        return lambda part, number: own[part, number]

    @cached_property
    def _known(self) -> Known:
        return divided(kept(self._read, self.split))

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

    def length(self, pair: Pair) -> int:
        return max(len(pair.left), len(pair.right))

    def labelled(self, pairs: Sequence[Pair]) -> Labelled:
        """Pairs as trees, with their classes and groups."""
        trees = batch((read_unlabelled(text) for pair in pairs for text in (pair.left, pair.right)), VOCABULARY)
        labels = torch.tensor([RELATIONS.index(pair.relation) for pair in pairs])
        return Labelled(number_subtrees(trees), labels, torch.tensor([self._group(pair) for pair in pairs]))

    def _group(self, pair: Pair) -> int:
        """Operators; of a systematic split, what it left out of training is one group and what is longer another."""
        return pair.operators if self.split == "full" else min(max(pair.operators, LONGEST), LONGEST + 1)
