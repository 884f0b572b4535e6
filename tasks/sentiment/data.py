"""The Stanford Sentiment Treebank (Socher et al. 2013): batches of trees with five classes, or two, at every node."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from dgltree import Tree, TreeBatch, Vocabulary, batch, select
from dgltree.batching.vocabulary import NO_LABEL
from dgltree.read.bracket import iter_sst
from dgltree.training.loader import batch_loader
from dgltree.training.processes import own_part
from tasks.data import TaskData, data_folder

NEUTRAL = 2
LABELS = {5: (0, 1, 2, 3, 4), 2: (0, 0, NO_LABEL, 1, 1)}
"""By the number of classes, what the treebank's very negative, negative, neutral, positive and very positive are."""


class SentimentTreebank(TaskData):
    """``train.txt``, ``dev.txt`` and ``test.txt``; the order of training depends on (seed, epoch) alone.

    Args:
        folder: where the files are; by default the folder ``sst`` in the one that DGLTREE_DATA names.
        batch_size: trees a step.
        min_count: a word that occurs fewer times in the training trees becomes the unknown word.
        classes: 5, or 2: negative and positive. A neutral sentence is then left out, and a neutral phrase has no label.
        lowercase: whether words are read in lower case.
        seed: of the order.

    Raises ``ValueError`` without a folder, for another number of classes, for a file without trees and for text that is
    no sentiment tree, and ``FileNotFoundError`` for a file that is not there.
    """

    def __init__(
        self,
        folder: Path | None = None,
        batch_size: int = 25,
        min_count: int = 2,
        classes: int = 5,
        lowercase: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
        if classes not in LABELS:
            raise ValueError(f"classes is {classes}; it must be 5, or 2 for negative and positive without neutral")
        self.folder = folder or data_folder("sst")
        self.batch_size, self.min_count, self.seed = batch_size, min_count, seed
        self.classes, self.lowercase = classes, lowercase

    @cached_property
    def train(self) -> list[Tree]:
        return self._read("train")

    @cached_property
    def validation(self) -> list[Tree]:
        return self._read("dev")

    @cached_property
    def test(self) -> list[Tree]:
        return self._read("test")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Of the training trees alone."""
        return Vocabulary.from_trees(self.train, unk=True, min_count=self.min_count)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word is in the training trees."""
        return Counter(node.token for tree in self.train for node in tree.preorder() if node.token is not None)

    def setup(self, stage: str) -> None:
        """Read what the stage needs, so that a file that is wrong is known before the first step."""
        _ = (self.train, self.validation, self.test) if stage == "fit" else self.test

    def train_dataloader(self) -> DataLoader[TreeBatch]:
        order = torch.randperm(len(self.train), generator=self.epoch_generator()).tolist()
        assert self.trainer is not None
        return _loader(self._flat_train, [own_part(rows, self.trainer) for rows in self._batches(order)])

    def val_dataloader(self) -> DataLoader[TreeBatch]:
        assert self.trainer is not None
        trees = self._flat_validation
        return _loader(trees, own_part(self._batches(range(len(trees))), self.trainer))

    def test_dataloader(self) -> DataLoader[TreeBatch]:
        return _loader(self._flatten(self.test), self._batches(range(len(self.test))))

    def _batches(self, order: Sequence[int]) -> list[list[int]]:
        return [list(order[start : start + self.batch_size]) for start in range(0, len(order), self.batch_size)]

    @cached_property
    def _flat_train(self) -> TreeBatch:
        return self._flatten(self.train)

    @cached_property
    def _flat_validation(self) -> TreeBatch:
        return self._flatten(self.validation)

    def _read(self, part: str) -> list[Tree]:
        file = self.folder / f"{part}.txt"
        trees = read_trees(file, self.lowercase)
        if self.classes == 2:
            trees = [tree for tree in trees if tree.label != NEUTRAL]
        if not trees:
            raise ValueError(f"{file} has neutral sentences only, which classes=2 leaves out")
        return trees

    def _flatten(self, trees: list[Tree]) -> TreeBatch:
        flat = batch(trees, self.vocabulary)
        return replace(flat, label=torch.tensor(LABELS[self.classes])[flat.label])


def _loader(trees: TreeBatch, batches: list[list[int]]) -> DataLoader[TreeBatch]:
    """One worker takes the next batches out of all trees while the model computes."""
    return batch_loader(range(len(trees)), batch_sampler=batches, collate_fn=partial(select, trees))


def read_trees(file: Path, lowercase: bool = False) -> list[Tree]:
    """The trees of a file, in order; errors as in :class:`SentimentTreebank`."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; the folder holds train.txt, dev.txt and test.txt")
    try:
        trees = list(iter_sst(file.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if not trees:
        raise ValueError(f"{file} has no trees; expected lines such as (3 (2 The) (4 Rock))")
    return [tree.fold(_lowered) for tree in trees] if lowercase else trees


def _lowered(node: Tree, children: list[Tree]) -> Tree:
    return node.replace(children=children, token=node.token and node.token.lower())
