"""A data set of labelled trees, flattened once."""

from collections.abc import Sequence
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from dgltree.batching.batch import TreeBatch, unbatch
from dgltree.batching.select import select
from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.flat import translate, vocabulary_of
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.from_file import read_file
from dgltree.datasets.parse import Part, dropped, flatten, prepared
from dgltree.datasets.reading import Reading
from dgltree.trees.tree import Tree

COLUMNS = ("lines", "labels", "splits", "ids", "groups", "files")
"""What stands beside the trees, a value an example."""


class TreeDataset(Dataset[Any]):
    """Trees or pairs of trees, what is to be predicted of each, and what could not be read.

    ``dataset[i]`` is the tree (or the pair) and its label. Many at a time come as flat arrays: see
    :mod:`dgltree.datasets.batches`. The data set keeps the names that stand in it; a model's vocabulary is made of, and
    brought to it, by :meth:`vocabulary` and :meth:`within`.

    Args:
        trees: trees, or pairs of them.
        labels: texts (classes) or numbers, one an example; None for what is not known. Default: those of the roots.
        splits: "train", "validation" or "test" for each example.
        ids: a name for each example.
        groups: of each example, what splits must not tear apart, such as the document of a sentence.
        reading: what ``numbers`` and ``binarize`` it names is done to the trees.

    Raises ``ValueError`` for no trees, for trees beside pairs, for columns of other lengths, and for labels that
    are NaN or infinite.
    """

    trees: TreeBatch
    """In the data set's own vocabulary; of a pair both trees, one after the other."""
    labels: list[str | None]
    splits: list[str | None]
    ids: list[str | None]
    lines: list[int]
    """Where each example stands in its file, from 1."""
    groups: list[str | None]
    """What splits must not tear apart, such as the file of a function."""
    files: list[str]
    """The file of each example, where a folder was read."""
    bad: list[Bad]
    """The records that could not be read."""
    reading: Reading

    def __init__(
        self,
        trees: Sequence[Tree | tuple[Tree, Tree]],
        labels: Sequence[str | float | None] | None = None,
        splits: Sequence[str | None] | None = None,
        ids: Sequence[str | None] | None = None,
        groups: Sequence[str | None] | None = None,
        reading: Reading | None = None,
    ) -> None:
        count = len(trees)
        if not count:
            raise ValueError("no trees: give at least one")
        flat = [tree for item in trees for tree in ((item,) if isinstance(item, Tree) else item)]
        if len(flat) not in (count, 2 * count) or len({isinstance(item, Tree) for item in trees}) > 1:
            raise ValueError("some examples are trees and others pairs; give one kind")
        if labels is None:
            labels = [None if tree.label is None else str(tree.label) for tree in flat[:: len(flat) // count]]
        for name, column in (("labels", labels), ("splits", splits), ("ids", ids), ("groups", groups)):
            if column is not None and len(column) != count:
                raise ValueError(f"{len(column)} {name} for {count} examples")
        self.reading = reading or Reading()
        drop = dropped(self.reading)
        flat = [prepared(tree, self.reading, drop) for tree in flat]
        texts = [None if label is None else str(label) for label in labels]
        for i, label in enumerate(labels):
            if isinstance(label, Real) and not isfinite(label):
                raise ValueError(f"labels[{i}] is {label}; a label is a text or a finite number, None for none")
        empty: list[str | None] = [None] * count
        self._set(
            flatten(flat, self.reading),
            {
                "lines": list(range(1, count + 1)),
                "labels": texts,
                "splits": splits or empty,
                "ids": ids or empty,
                "groups": groups or empty,
                "files": [""] * count,
            },
        )

    def _set(self, trees: TreeBatch, columns: dict[str, Any]) -> None:
        self.trees = trees
        self.lines, self.labels = columns["lines"], columns["labels"]
        self.splits, self.ids = list(columns["splits"]), list(columns["ids"])
        self.groups, self.files = list(columns["groups"]), columns["files"]
        self.bad = [Bad(*bad) for bad in columns.get("bad", ())]
        self.each = len(trees) // len(self.lines)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        workers: int | None = None,
        cached: bool = True,
        strict: bool = False,
        progress: bool = False,
        named: bool = True,
        **reading: Any,
    ) -> "TreeDataset":
        """Read a TSV, JSON lines, Parquet, CoNLL-U or Python file, bare trees line by line, or a folder of sources.

        Records that cannot be read are left out and kept in ``bad``. What was read is kept in a hidden file beside the
        path, and taken from there as long as neither the file nor the settings change.

        Args:
            path: the file or folder.
            workers: processes that read; default: one a core for files over a megabyte, else none but this.
            cached: whether to use and leave the hidden file.
            strict: whether a bad record is an error.
            progress: whether to show a progress bar.
            named: whether the columns that ``reading`` names must be there; a file for a trained model may lack some.
            reading: settings of :class:`dgltree.datasets.reading.Reading`.

        Raises ``FileNotFoundError``, and ``ValueError`` for a file that is empty, has no column of trees or no tree
        that can be read, and with ``strict`` for the first bad record.
        """
        trees, columns = read_file(path, Reading(**reading), workers, cached, progress, named)
        dataset = cls.__new__(cls)
        dataset.reading = Reading(**columns["reading"])
        dataset._set(trees, columns)
        if strict and dataset.bad:
            raise ValueError(dataset.bad[0].at(path))
        return dataset

    @classmethod
    def of_part(cls, part: Part, reading: Reading) -> "TreeDataset":
        """The examples of a part of a file, which has at least one."""
        assert part.trees is not None
        dataset = cls.__new__(cls)
        dataset.reading = reading
        dataset._set(part.trees, vars(part))
        return dataset

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        kind = "trees" if self.each == 1 else "pairs"
        return f"<TreeDataset: {len(self)} {kind}, {self.trees.num_nodes} nodes>"

    def __getitem__(self, i: int) -> tuple[Tree | tuple[Tree, ...], str | None]:
        trees = unbatch(self.select([range(len(self))[i]]).trees)
        return (trees[0] if self.each == 1 else tuple(trees)), self.labels[i]

    def __getitems__(self, examples: Sequence[int]) -> "TreeDataset":
        """What a DataLoader asks for a batch; see :class:`dgltree.datasets.batches.Collate`."""
        return self.select(examples)

    def select(self, examples: Sequence[int]) -> "TreeDataset":
        """Some of the examples, in the given order."""
        rows = np.asarray(examples, np.int64)
        chosen = self.__class__.__new__(self.__class__)
        chosen.reading = self.reading
        columns = {name: [getattr(self, name)[i] for i in rows] for name in COLUMNS}
        chosen._set(select(self.trees, (rows[:, None] * self.each + np.arange(self.each)).ravel().tolist()), columns)
        return chosen

    def vocabulary(self, any_arity: bool = False, min_count: int = 1, unk: bool = False) -> Vocabulary:
        """What stands in these trees; see :func:`dgltree.datasets.flat.vocabulary_of`."""
        return vocabulary_of(self.trees, any_arity, min_count, unk)

    def within(self, vocabulary: Vocabulary) -> "TreeDataset":
        """The examples in a model's vocabulary; what it does not know is left out and added to ``bad``.

        Raises ``ValueError`` where it knows none of them.
        """
        moved, messages = self.known(vocabulary)
        if moved is None:
            bad = self.bad_at(0, messages[0])
            raise ValueError(f"the model knows none of the trees: {bad.where}: {bad.message}")
        moved.bad = in_order([*self.bad, *(self.bad_at(i, message) for i, message in messages.items())])
        return moved

    def bad_at(self, i: int, message: str) -> Bad:
        """What is wrong with example ``i``."""
        return Bad(self.lines[i], message, self.files[i])

    def known(self, vocabulary: Vocabulary) -> tuple["TreeDataset | None", dict[int, str]]:
        """The examples that a model knows, in its vocabulary, None for none; and why not, by number, the others."""
        trees, unknown = translate(self.trees, vocabulary)
        messages = {tree // self.each: message for tree, message in sorted(unknown.items(), reverse=True)}
        moved = self.__class__.__new__(self.__class__)
        moved.__dict__.update(self.__dict__, trees=trees)
        rows = [i for i in range(len(self)) if i not in messages]
        return (moved.select(rows) if rows else None), dict(sorted(messages.items()))

    @property
    def sizes(self) -> torch.Tensor:
        """(E,) int64, the nodes of each example."""
        return self.trees.sizes.view(-1, self.each).sum(1)
