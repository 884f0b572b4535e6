"""Examples as a data set keeps them: flat trees and the columns next to them; of trees in Python, and of files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite, isnan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from dgltree.batching.batch import TreeBatch
from dgltree.datasets.formats import Bad
from dgltree.datasets.loading.from_file import read_file
from dgltree.datasets.loading.gather import Gathering
from dgltree.datasets.loading.parse import ParsedChunk, dropped_leaves, flatten, prepare_tree
from dgltree.datasets.node_classes import NodeClasses
from dgltree.datasets.objects import read_objects, with_notation
from dgltree.datasets.settings.field_texts import packed, text_of
from dgltree.datasets.settings.read_settings import Reading
from dgltree.trees.tree import Tree, flat_trees

AT_A_TIME = 1000
"""Examples of a stream that are Python's objects at the same time."""


@dataclass(frozen=True)
class FlatExamples:
    """E examples, of one or two trees each."""

    trees: TreeBatch
    columns: Mapping[str, Any]
    """By the names of ``dgltree.datasets.loading.columns_on_disk.COLUMN_CLASSES`` a value of each example."""
    reading: Reading
    bad: list[Bad] = field(default_factory=list)
    """The records that could not be read."""
    detected_in: str | None = None
    """The file whose notation was detected."""
    node_classes: tuple[str, ...] | None = None
    """The texts whose numbers are the labels of nodes; None: these are given as numbers."""


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
    """Those of trees in Python. Arguments and errors as of :class:`dgltree.datasets.TreeDataset`.

    ``node_classes`` are those of the trees before.
    """
    count = len(trees)
    if not count:
        raise ValueError("no trees: give at least one")
    flat = list(flat_trees(trees))
    if len(flat) not in (count, 2 * count) or len({isinstance(item, Tree) for item in trees}) > 1:
        raise ValueError("some examples are trees and others pairs; give one kind")
    if labels is None:
        labels = [None if tree.label is None else str(tree.label) for tree in flat[:: len(flat) // count]]
    for name, column in (("labels", labels), ("splits", splits), ("ids", ids), ("groups", groups)):
        if column is not None and len(column) != count:
            raise ValueError(f"{len(column)} {name} for {count} examples")
    drop, empty = dropped_leaves(reading), [None] * count
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
    """Those of an iterable, of which some are read at a time: the flat trees grow in files.

    Arguments and errors as of :meth:`dgltree.datasets.TreeDataset.from_iterable`.
    """
    if reading.features is not None:
        raise ValueError(
            "examples of an iterable are trees with labels, without columns next to them; leave out features"
        )
    if isinstance(examples, str | Path):
        raise ValueError(f"examples are {str(examples)!r:.60}; read a file by dgltree.TreeDataset.from_file(path)")
    gathering, source, each, classes = Gathering(), iter(examples), 0, NodeClasses()
    while given := list(islice(source, AT_A_TIME)):
        first = len(gathering) + 1
        labels = [_label_of(item, i) for i, item in enumerate(given, first)]
        trees = [item[0] for item in given]
        reading = with_notation(trees, reading)
        flat = flatten_trees(read_objects(trees, reading, first=first), labels, None, None, None, reading, classes)
        if each not in (0, len(flat.trees) // len(given)):
            raise ValueError("some examples are trees and others pairs; give one kind")
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
    """Those of a file. Arguments and errors as of :meth:`dgltree.datasets.TreeDataset.from_file`."""
    stored = read_file(path, asked, workers, cached, progress, named)
    reading, bad = Reading(**stored.reading), [Bad(*each) for each in stored.bad]
    if strict and bad:
        raise ValueError(bad[0].at(path))
    detected = reading.notation is not None and asked.notation is None
    return FlatExamples(stored.trees, stored.columns, reading, bad, str(path) if detected else None)


def flatten_part(part: ParsedChunk, reading: Reading) -> FlatExamples:
    """Those of a part of a file, which has at least one."""
    assert part.trees is not None
    return FlatExamples(part.trees, vars(part), reading, [Bad(*each) for each in part.bad])


def _text(label: Any, name: str) -> str | None:
    """A label as a data set keeps it. ``ValueError`` for a number that is not finite."""
    if isinstance(label, Real) and not isfinite(label):
        raise ValueError(f"{name} is {label}; a label is a text or a finite number, None for none")
    return None if label is None else str(label)


def _feature_texts(features: Mapping[str, Sequence[Any]], count: int) -> list[str | None]:
    """The columns next to the trees as a file has them. ``ValueError`` for other lengths, and for what is no value."""
    columns = []
    for name, values in features.items():
        if "," in name or name != name.strip():
            raise ValueError(
                f"a column next to the trees is called {name!r}; give a name without commas and without spaces at its "
                f"ends"
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


def validate_weights(given: Sequence[float] | np.ndarray, count: int) -> np.ndarray:
    """(E,) float64, how much each example counts. ``ValueError`` for another number of them, and for one below 0."""
    weights = np.asarray(given, np.float64)
    if weights.shape != (count,):
        raise ValueError(f"{count} examples and weights of shape {weights.shape}; give one per example")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong) or not weights.sum() > 0:
        where = f"the weight of example {wrong[0] + 1} is {weights[wrong[0]]:g}" if len(wrong) else "all weights are 0"
        raise ValueError(f"{where}; weights are numbers from 0 on, and at least one is above 0")
    return weights
