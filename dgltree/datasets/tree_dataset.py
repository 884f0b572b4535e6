"""A data set of labelled trees is flattened once, from trees in Python, an iterable, or a file.

It keeps flat trees and the columns next to them; a selection of examples copies neither until they are looked at.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite, isnan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from dgltree.batching.batch import TreeBatch, choose_rows, unbatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.feature_columns import FeatureColumns, unpacked
from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.loading.columns_on_disk import COLUMN_CLASSES, Column
from dgltree.datasets.loading.flatten import ParsedChunk, dropped_leaves, flatten, prepare_tree, with_numbers
from dgltree.datasets.loading.from_file import Gathering, read_file
from dgltree.datasets.objects import read_objects, with_notation
from dgltree.datasets.settings import Reading, names_of, packed, text_of
from dgltree.datasets.translation import Translation, vocabulary_of, with_classes
from dgltree.support.lazy import cached_property
from dgltree.trees.tree import Tree, flat_trees

COLUMNS = tuple(COLUMN_CLASSES)
"""A column next to the trees, with a value for each example."""
BLOCK = 1 << 18
"""Nodes that are in memory at a time, about, if all trees are looked at."""
AT_A_TIME = 1000
"""Examples of a stream that are Python's objects at the same time."""


@dataclass(frozen=True)
class FlatExamples:
    """E examples, of one or two trees each."""

    trees: TreeBatch
    columns: Mapping[str, Any]
    """A value of each example, by the names of ``dgltree.datasets.loading.columns_on_disk.COLUMN_CLASSES``."""
    reading: Reading
    bad: list[Bad] = field(default_factory=list)
    """The records that could not be read."""
    detected_in: str | None = None
    """The file whose notation was detected."""
    node_classes: tuple[str, ...] | None = None
    """The texts whose numbers are the labels of nodes; None: these are given as numbers."""


class TreeDataset(Dataset[Any]):
    """Trees or pairs of trees, what is to be predicted of each, and what could not be read.

    Examples:
        >>> from dgltree import TreeDataset, read_infix
        >>> data = TreeDataset([read_infix("x + y"), read_infix("x*y")], labels=["sum", "product"])
        >>> len(data), data[1]
        (2, (Tree('Mul', (Tree('Symbol', token='x'), Tree('Symbol', token='y'))), 'product'))

    ``dataset[i]`` is the tree (or the pair) and its label. Many at a time come as flat arrays: see
    :mod:`dgltree.datasets.batches`. The data set keeps the names that are in it; a model's vocabulary is made of, and
    brought to it, by :meth:`vocabulary` and :meth:`within`.

    Args:
        trees: trees, or pairs of them; or all of it flat, as files have it, and nothing else.
        labels: texts (classes) or numbers, one an example; None for what is not known. Default: those of the roots.
        splits: "train", "validation" or "test" for each example.
        ids: a name for each example.
        groups: of each example, what splits must not tear apart, such as the document of a sentence.
        reading: what ``numbers`` and ``binarize`` in it say is done to the trees, and ``missing`` says which labels
            are missing. Default: nothing, and none but None.
        weights: (E,) how much each example counts in the loss of a training, 0 or more; None: all the same.
        features: columns next to the trees by their names, each with a number, a text, a date or None of each example.

    Raises ``ValueError`` for no trees, for trees next to pairs, for columns of other lengths, and for labels that
    are NaN or infinite.

    See also: :func:`dgltree.fit`; :meth:`from_file` and :meth:`from_iterable`.
    """

    labels: Sequence[str | None]
    splits: Sequence[str | None]
    ids: Sequence[str | None]
    lines: Sequence[int]
    """Where each example is in its file, from 1."""
    groups: Sequence[str | None]
    """The groups that splits must keep together, such as the file of a function."""
    files: Sequence[str]
    """The file of each example, if a folder was read."""
    bad: list[Bad]
    """The records that could not be read."""
    reading: Reading
    detected_in: str | None
    """The file whose notation was detected."""
    node_classes: tuple[str, ...] | None
    """The texts whose numbers are the labels of nodes in ``trees``; None: these were given as numbers."""
    weights: np.ndarray | None
    """(E,) float64, how much each example counts in a loss; None: all the same."""
    features: Sequence[str | None]
    """The columns next to the trees that ``reading.features`` names, one text of all for each example."""
    feature_rows: np.ndarray | None
    """(E, F) float32, what a model reads of them, in its vocabulary; None: nothing."""

    def __init__(
        self,
        trees: Sequence[Tree | tuple[Tree, Tree]] | FlatExamples,
        labels: Sequence[str | float | None] | None = None,
        splits: Sequence[str | None] | None = None,
        ids: Sequence[str | None] | None = None,
        groups: Sequence[str | None] | None = None,
        reading: Reading | None = None,
        weights: Sequence[float] | np.ndarray | None = None,
        features: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        examples = trees
        if not isinstance(examples, FlatExamples):
            reading = reading or Reading(missing="")
            examples = flatten_trees(examples, labels, splits, ids, groups, reading, features=features)
        assert examples.trees.vocabulary is not None
        self._flat = examples.trees
        self._flat_vocabulary = examples.trees.vocabulary
        self.own_vocabulary = self._flat_vocabulary
        self.reading = examples.reading
        self.bad = examples.bad
        self.detected_in = examples.detected_in
        self.node_classes = examples.node_classes
        self._chosen: np.ndarray | None = None
        self._translation: Translation | None = None
        self._classes: tuple[str, ...] | None = None
        self._numbers = False
        for name in COLUMNS:
            setattr(self, name, examples.columns[name])
        self.each = len(self._flat) // len(self.lines)
        self.weights = None if weights is None else validate_weights(weights, len(self.lines))
        self.feature_rows = None

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

        Records that cannot be read are left out and kept in ``bad``. What was read is kept in a hidden file next to the
        path, and taken from there as long as neither the file nor the settings change.

        Args:
            path: the file or folder.
            workers: processes that read; default: one a core for files over a megabyte, else none but this.
            cached: whether to use and leave the hidden file.
            strict: whether a bad record is an error.
            progress: whether to show a progress bar.
            named: whether the columns that ``reading`` names must be there; a file for a trained model may lack some.
            reading: settings of :class:`dgltree.datasets.settings.Reading`.

        Raises ``FileNotFoundError``, and ``ValueError`` for a file that is empty, has no column of trees or no tree
        that can be read, and with ``strict`` for the first bad record.
        """
        return cls(flatten_file(path, Reading(**reading), workers, cached, strict, progress, named))

    @classmethod
    def from_iterable(cls, examples: Iterable[Any], **reading: Any) -> "TreeDataset":
        """Read a generator of examples with labels, once; memory holds a part of them, temporary files the rest.

        Args:
            examples: ``(tree, label)`` or ``((left, right), label)``. A tree is a ``Tree``, a text, a dict, a node of
                ``ast``, or a graph; a label is a text, a finite number, or None if it is not known.
            reading: settings of :class:`dgltree.datasets.Reading`, such as the ``notation`` of texts. Default: detected
                by the first thousand.

        Raises ``ValueError`` for no examples, and for one that cannot be read or comes without a label, naming it.
        """
        return cls(flatten_stream(examples, Reading(**{"missing": "", **reading})))

    @classmethod
    def of_part(cls, part: ParsedChunk, reading: Reading) -> "TreeDataset":
        """The examples of a part of a file, which has at least one."""
        return cls(flatten_part(part, reading))

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        kind = "trees" if self.each == 1 else "pairs"
        return f"<TreeDataset: {len(self)} {kind}, {self.num_nodes} nodes>"

    def __getitem__(self, i: int) -> tuple[Tree | tuple[Tree, ...], str | None]:
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no example {i}; the length of the data set is {len(self)}")
        trees = unbatch(self.select([i % len(self)]).trees)
        return (trees[0] if self.each == 1 else tuple(trees)), self.labels[i]

    def __getitems__(self, examples: Sequence[int]) -> "TreeDataset":
        """Called by a DataLoader for a batch; see :class:`dgltree.datasets.batches.Collate`."""
        return self.select(examples)

    def select(self, examples: Sequence[int] | np.ndarray | Tensor) -> "TreeDataset":
        """Some of the examples, in the given order: by numbers, or by a mask (E,) of booleans.

        Nothing is copied until their trees are looked at. Raises the errors of :meth:`dgltree.TreeBatch.__getitem__`.
        """
        rows = choose_rows(examples, len(self), "examples", "the data set")
        some = copy(self)
        some.__dict__.pop("trees", None)
        some._chosen = rows if self._chosen is None else self._chosen[rows]
        some.bad = []
        some.weights = None if self.weights is None else self.weights[rows]
        some.feature_rows = None if self.feature_rows is None else self.feature_rows[rows]
        for name in COLUMNS:
            column = getattr(self, name)
            setattr(some, name, column.select(rows) if isinstance(column, Column) else [column[i] for i in rows])
        return some

    @cached_property
    def trees(self) -> TreeBatch:
        """All of them flat, in memory, in the data set's vocabulary; of a pair both, one after the other.

        Of more trees than memory holds take :meth:`blocks`, or some by :meth:`select`.
        """
        if self._chosen is None:
            trees = self._flat.map(_wide)
        else:
            trees = self._flat[(self._chosen[:, None] * self.each + np.arange(self.each)).ravel()]
        if self._numbers:
            trees = with_numbers(trees, bool(self.reading.numbers), bool(self.reading.dates))
        trees = trees if self._translation is None else self._translation(trees)
        return trees if self._classes is None else with_classes(trees, self._classes, self.node_classes)

    def blocks(self) -> Iterator["TreeDataset"]:
        """The examples in order, some at a time: what looks at all trees holds no more of them than one block."""
        ends = torch.cumsum(self.sizes, 0).numpy()
        if ends[-1] <= BLOCK:
            yield self
            return
        start = 0
        while start < len(self):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + BLOCK, side="right")))
            yield self.select(range(start, stop))
            start = stop

    @property
    def num_nodes(self) -> int:
        return int(self.sizes.sum())

    @property
    def has_numbers(self) -> bool:
        """Whether leaves may carry numbers."""
        return self._flat.value is not None or self._numbers

    def vocabulary(
        self,
        any_arity: bool = False,
        min_count: int = 1,
        unk: bool = False,
        always: bool = False,
        parts: bool = False,
    ) -> Vocabulary:
        """The vocabulary of these trees; see :func:`dgltree.datasets.translation.vocabulary_of`."""
        blocks = (block.trees for block in self.blocks())
        return vocabulary_of(blocks, self.own_vocabulary, any_arity, min_count, unk, always, parts)

    def within(self, vocabulary: Vocabulary, features: FeatureColumns | None = None) -> "TreeDataset":
        """The examples in a model's vocabulary; what it does not know is left out and added to ``bad``.

        Raises ``ValueError`` if it knows none of them, and as :meth:`known`.
        """
        moved, messages = self.known(vocabulary, features)
        if moved is None:
            bad = self.bad_at(0, messages[0])
            raise ValueError(f"the model can read none of the trees: {bad.where}: {bad.message}")
        moved.bad = in_order([*self.bad, *(self.bad_at(i, message) for i, message in messages.items())])
        return moved

    def with_classes(self, classes: Sequence[str]) -> "TreeDataset":
        """The examples with the labels of nodes as numbers of these classes, ``NO_LABEL`` for others."""
        named = copy(self)
        named.__dict__.pop("trees", None)
        named._classes = tuple(classes)
        return named

    def as_read(self) -> "TreeDataset":
        """The examples in the names of their file, if :meth:`within` brought it to a model's vocabulary."""
        same = copy(self)
        same.__dict__.pop("trees", None)
        same._translation = None
        same.own_vocabulary = self._flat_vocabulary
        return same

    def with_numbers(self, dates: bool | None = True) -> "TreeDataset":
        """The examples, whose leaves that are written as numbers carry numbers instead of tokens.

        ``dates`` says whether those that are written as dates do, too, unless ``reading`` does.

        Raises ``ValueError`` for a data set in the vocabulary of a model, which may lack the texts of numbers.
        """
        if self._translation is not None:
            raise ValueError(
                "the data set is already encoded with a model's vocabulary; change the reading options before encoding"
            )
        changed = copy(self)
        changed.__dict__.pop("trees", None)
        changed._numbers = True
        dates = dates if self.reading.dates is None else self.reading.dates
        changed.reading = replace(self.reading, numbers=self.reading.numbers is not False, dates=dates)
        return changed

    def by_value(self) -> "TreeDataset":
        """The examples as they were read, with numbers and dates at leaves as values whatever ``reading`` says of them.

        So trees of files can be compared that were read with other settings of these.
        """
        same = self.as_read()
        same._numbers = True
        same.reading = replace(self.reading, numbers=True, dates=True)
        return same

    def bad_at(self, i: int, message: str) -> Bad:
        """The fault of example ``i``."""
        return Bad(self.lines[i], message, self.files[i], self.ids[i], self.splits[i])

    def feature_table(self, names: Sequence[str]) -> list[list[str | None]]:
        """The texts of all examples in each of these columns next to the trees, None for none.

        Raises ``ValueError`` for a column that is not among those that were read.
        """
        there = names_of(self.reading.features)
        for name in names:
            if name not in there:
                read = f"; {', '.join(there)} are read" if there else ""
                raise ValueError(
                    f"the model reads the column {name!r} next to the trees, which is missing (--features){read}"
                )
        table = unpacked(self.features, len(there), self.reading.missing)
        return [table[there.index(name)] for name in names]

    def known(
        self, vocabulary: Vocabulary, features: FeatureColumns | None = None
    ) -> tuple["TreeDataset | None", dict[int, str]]:
        """The examples that a model knows, in its vocabulary, or None; and by number what is wrong with the others.

        ``features`` are the columns that it reads next to the trees. A data set that was read without any has no
        ``feature_rows`` then. Raises ``ValueError`` if others were read.
        """
        translation = Translation(self.own_vocabulary, vocabulary)
        messages: dict[int, str] = {}
        if translation.can_fail:
            first = 0
            for block in self.blocks():
                unknown = translation.unknown(block.trees)
                messages |= {first + tree // self.each: why for tree, why in sorted(unknown.items(), reverse=True)}
                first += len(block)
        table = None
        if features is not None and self.reading.features is not None:
            table = self.feature_table(features.names)
            messages |= features.faults(table)
        rows = [i for i in range(len(self)) if i not in messages]
        moved = self.select(rows) if rows else None
        if moved is not None and features is not None and table is not None:
            moved.feature_rows = features.rows([[texts[i] for i in rows] for texts in table])
        if moved is not None:
            moved._translation = translation if self._translation is None else translation.after(self._translation)
            moved.own_vocabulary = vocabulary
        return moved, dict(sorted(messages.items()))

    @property
    def sizes(self) -> torch.Tensor:
        """(E,) int64, the nodes of each example."""
        sizes = self._flat.sizes.view(-1, self.each)
        return (sizes if self._chosen is None else sizes[torch.from_numpy(self._chosen)]).sum(1)

    @property
    def leaves(self) -> torch.Tensor:
        """(E,) int64, the leaves of each example, of a pair those of the tree that has more."""
        found = []
        for block in self.blocks():
            tree = torch.repeat_interleave(block.trees.sizes)
            found.append(torch.bincount(tree[block.trees.arity == 0]).view(-1, self.each).amax(1))
        return torch.cat(found)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers of 32 bits, as a file has them, as ``TreeBatch`` has them."""
    return tensor.long() if tensor.dtype == torch.int32 else tensor


def validate_weights(given: Sequence[float] | np.ndarray, count: int) -> np.ndarray:
    """(E,) float64, how much each example counts. ``ValueError`` for another number of them, and for one below 0."""
    weights = np.asarray(given, np.float64)
    if weights.shape != (count,):
        raise ValueError(f"{count} examples and weights of shape {weights.shape}; give one per example")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong) or not weights.sum() > 0:
        where = f"the weight of example {wrong[0] + 1} is {weights[wrong[0]]:g}" if len(wrong) else "all weights are 0"
        raise ValueError(f"{where}; weights must be finite numbers, 0 or more, at least one above 0")
    return weights


class NodeClasses:
    """Numbers the texts that label nodes, in the order in which they occur first."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._kinds: set[type] = set()

    @property
    def names(self) -> tuple[str, ...] | None:
        """The text of each number; None if no label is a text."""
        return tuple(self.numbers) or None

    def numbered(self, trees: list[Tree]) -> list[Tree]:
        """Trees whose labels are numbers. Raises ``ValueError`` if texts and numbers are mixed, in trees before too."""
        kinds = {type(node.label) for tree in trees for node in tree.distinct_preorder()} - {type(None)}
        self._kinds |= kinds
        if str in self._kinds and len(self._kinds) > 1:
            raise ValueError("some node labels are strings and others are numbers; give one kind")
        return [tree.fold(self._relabelled) for tree in trees] if str in kinds else trees

    def _relabelled(self, node: Tree, children: list[Tree]) -> Tree:
        label = None if node.label is None else self.numbers.setdefault(str(node.label), len(self.numbers))
        return node.replace(label=label, children=children)


def flatten_trees(
    trees: Sequence[Tree | tuple[Tree, Tree]],
    labels: Sequence[str | float | None] | None,
    splits: Sequence[str | None] | None,
    ids: Sequence[str | None] | None,
    groups: Sequence[str | None] | None,
    reading: Reading,
    node_classes: NodeClasses | None = None,
    features: Mapping[str, Sequence[Any]] | None = None,
) -> FlatExamples:
    """Flatten trees in Python. Arguments and errors as of :class:`dgltree.datasets.TreeDataset`.

    ``node_classes`` are those of the trees before.
    """
    count = len(trees)
    if not count:
        raise ValueError("no trees: give at least one")
    flat = list(flat_trees(trees))
    if len(flat) not in (count, 2 * count) or len({isinstance(item, Tree) for item in trees}) > 1:
        raise ValueError("some examples are single trees and others are pairs; give one kind")
    if labels is None:
        labels = [None if tree.label is None else str(tree.label) for tree in flat[:: len(flat) // count]]
    for name, column in (("labels", labels), ("splits", splits), ("ids", ids), ("groups", groups)):
        if column is not None and len(column) != count:
            raise ValueError(f"{len(column)} {name} for {count} examples")
    drop = dropped_leaves(reading)
    empty = [None] * count
    columns: dict[str, Any] = {
        "lines": list(range(1, count + 1)),
        "labels": [_text(label, f"labels[{i}]") for i, label in enumerate(labels)],
        "splits": splits or empty,
        "ids": ids or empty,
        "groups": groups or empty,
        "files": [""] * count,
        "features": empty if features is None else _feature_texts(features, count),
    }
    if features is not None:
        reading = replace(reading, features=",".join(features))
    classes = node_classes or NodeClasses()
    found = flatten(classes.numbered([prepare_tree(tree, reading, drop) for tree in flat]), reading)
    return FlatExamples(found, columns, reading, node_classes=classes.names)


def flatten_stream(examples: Iterable[Any], reading: Reading) -> FlatExamples:
    """Flatten the examples of an iterable, of which some are read at a time: the flat trees grow in files.

    Arguments and errors as of :meth:`dgltree.datasets.TreeDataset.from_iterable`.
    """
    if reading.features is not None:
        raise ValueError("an iterable gives trees and labels, and no columns next to the trees; leave out features")
    if isinstance(examples, str | Path):
        raise ValueError(f"examples are {str(examples)!r:.60}; read a file by dgltree.TreeDataset.from_file(path)")
    gathering = Gathering()
    source = iter(examples)
    each = 0
    classes = NodeClasses()
    while given := list(islice(source, AT_A_TIME)):
        first = len(gathering) + 1
        labels = [_label_of(item, i) for i, item in enumerate(given, first)]
        trees = [item[0] for item in given]
        reading = with_notation(trees, reading)
        flat = flatten_trees(read_objects(trees, reading, first=first), labels, None, None, None, reading, classes)
        if each not in (0, len(flat.trees) // len(given)):
            raise ValueError("some examples are single trees and others are pairs; give one kind")
        each = len(flat.trees) // len(given)
        lines = range(first, first + len(given))
        gathering.add(ParsedChunk(flat.trees, **{**flat.columns, "lines": list(lines)}))
    if not len(gathering):
        raise ValueError("no examples: give at least one")
    stored = gathering.finish(reading)
    return FlatExamples(stored.trees, stored.columns, reading, node_classes=classes.names)


def _label_of(item: Any, number: int) -> str | None:
    """The label of an example that came with one."""
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ValueError(
            f"example {number} is {item!r:.60}; give a tree, or a pair of trees, and its label: (tree, label)"
        )
    return _text(item[1], f"the label of example {number}")


def flatten_file(
    path: str | Path, asked: Reading, workers: int | None, cached: bool, strict: bool, progress: bool, named: bool
) -> FlatExamples:
    """Flatten the examples of a file. Arguments and errors as of :meth:`dgltree.datasets.TreeDataset.from_file`."""
    stored = read_file(path, asked, workers, cached, progress, named)
    reading = Reading(**stored.reading)
    bad = [Bad(*each) for each in stored.bad]
    if strict and bad:
        raise ValueError(bad[0].at(path))
    detected = reading.notation is not None and asked.notation is None
    return FlatExamples(stored.trees, stored.columns, reading, bad, str(path) if detected else None)


def flatten_part(part: ParsedChunk, reading: Reading) -> FlatExamples:
    """Flatten the examples of a part of a file, which has at least one."""
    assert part.trees is not None
    return FlatExamples(part.trees, vars(part), reading, [Bad(*each) for each in part.bad])


def _text(label: Any, name: str) -> str | None:
    """A label as a data set keeps it. ``ValueError`` for a number that is not finite."""
    if isinstance(label, Real) and not isfinite(label):
        raise ValueError(f"{name} is {label}; a label must be a string, a finite number or None")
    return None if label is None else str(label)


def _feature_texts(features: Mapping[str, Sequence[Any]], count: int) -> list[str | None]:
    """The columns next to the trees as a file has them. ``ValueError`` for other lengths, and for what is no value."""
    columns = []
    for name, values in features.items():
        if "," in name or name != name.strip():
            raise ValueError(
                f"a column next to the trees is called {name!r}; give a name without commas and without leading or "
                "trailing spaces"
            )
        if len(values) != count:
            raise ValueError(f"{len(values)} values of {name!r} for {count} examples")
        columns.append([_value_text(value, name) for value in values])
    return [packed(row) for row in zip(*columns, strict=True)] if columns else [None] * count


def _value_text(value: Any, name: str) -> str | None:
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if value is None or (isinstance(value, Real) and isnan(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "isoformat"):  # a date, or a time stamp of pandas
        return str(value.isoformat())
    return text_of({name: float(value) if isinstance(value, np.floating) else value}, name)
