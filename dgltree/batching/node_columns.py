"""Columns of a batch, from the nodes of trees: ids, children, labels and other numbers."""

from collections.abc import Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from dgltree.batching.run_lengths import ranges
from dgltree.batching.vocabulary import NO_LABEL, UNSEEN, Vocabulary
from dgltree.trees.tree import Tree

MAX_WALKED_NODES = (
    256  # nodes of a tree that is walked before its objects are known to be distinct: one may unfold to 2^60
)


class Fields(NamedTuple):
    """The fields of the distinct nodes of trees, a list each: tree after tree, each in preorder."""

    function: list[str]
    arity: list[int]
    token: list[str | None]
    value: list[float | None]
    label: list[int | str | None]
    level: list[int]
    size: list[int]


def read_fields(trees: Sequence[Tree]) -> tuple[Fields, list[Tree], list[int]]:
    """The fields of all nodes, the nodes, and the numbers of distinct nodes of the trees."""
    fields = Fields([], [], [], [], [], [], [])
    functions, arities, tokens, values, labels, levels, sizes = fields
    nodes: list[Tree] = []
    counts: list[int] = []
    shared = False
    for tree in trees:
        own = None if shared or tree.size > MAX_WALKED_NODES else list(tree.preorder())
        if own is None or len(set(map(id, own))) < len(own):
            own = list(tree.distinct_preorder())
            shared |= len(own) < tree.size
        for node in own:  # all of a node at once, while it is in a cache
            functions.append(node.function)
            arities.append(len(node.children))
            tokens.append(node.token)
            values.append(node.value)
            labels.append(node.label)
            levels.append(node.depth)
            sizes.append(node.size)
        nodes += own
        counts.append(len(own))
    return fields, nodes, counts


def column(numbers: Sequence[int]) -> np.ndarray:
    """(len,) int64."""
    return np.fromiter(numbers, np.int64, len(numbers))


class _FunctionIds(dict[Any, int]):
    """Those of a vocabulary by name and arity, each asked for once; ``UNSEEN`` for an unknown one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._find = vocabulary.find_function

    def __missing__(self, key: tuple[str, int]) -> int:
        found = self._find(*key)
        self[key] = number = UNSEEN if found is None else found
        return number


def node_ids(fields: Fields, counts: Sequence[int], vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Those of the functions and of the tokens of nodes, ``NO_TOKEN`` if there is none; (N,) int64 each.

    ``counts`` are the nodes of each tree. Raises ``ValueError`` naming the first node that has an unknown one.
    """
    count, named = len(fields.function), zip(fields.function, fields.arity, strict=True)
    function = np.fromiter(map(_FunctionIds(vocabulary).__getitem__, named), np.int64, count)
    token = np.fromiter(vocabulary.find_tokens(fields.token), np.int64, count)
    unseen = np.flatnonzero(np.minimum(function, token) == UNSEEN)
    if len(unseen):
        i = int(unseen[0])
        tree = int(np.searchsorted(np.cumsum(counts), i, side="right"))
        try:
            vocabulary.function_id(fields.function[i], fields.arity[i])
            vocabulary.token_id(fields.token[i] or "")
        except ValueError as error:
            node = i - int(sum(counts[:tree])) + 1
            raise ValueError(f"tree {tree + 1}, node {node} in preorder: {error}") from None
    return function, token


def children_in_preorder(size: np.ndarray, arity: np.ndarray, pointer: np.ndarray) -> np.ndarray:
    """(E,) int64, the children of all nodes, if no tree holds an object twice.

    Sorted by distance from the root, the nodes that are not roots come in the order of their parents.

    Args:
        size: (N,) int64, nodes of the subtree at each node.
        arity: (N,) int64.
        pointer: (N + 1,) int64, the ``child_ptr`` of the batch.
    """
    node = np.arange(len(size))
    distance = node - np.cumsum(np.bincount(node + size)[:-1])
    order = np.argsort(distance.astype(np.min_scalar_type(distance.max())), kind="stable")  # of small types linear
    child = np.empty(pointer[-1], np.int64)
    child[ranges(pointer[order], arity[order])] = order[len(order) - len(child) :]
    return child


def children_by_object(nodes: list[Tree], counts: Sequence[int]) -> np.ndarray:
    """(E,) int64, the same of any trees; ``counts`` are the nodes of each tree."""
    found: list[int] = []
    start = 0
    for count in counts:
        own = nodes[start : start + count]
        number = dict(zip(map(id, own), range(start, start + count), strict=True))
        found += [number[id(child)] for node in own for child in node.children]
        start += count
    return column(found)


def class_numbers(fields: Fields) -> np.ndarray:
    """(N,) int64, the labels of nodes. Raises ``ValueError`` for one that is not a class number."""
    types = set(map(type, fields.label))
    if types == {NoneType}:
        return np.full(len(fields.label), NO_LABEL, np.int64)
    if types == {int}:
        labels = column(fields.label)  # type: ignore[arg-type]
        if labels.min() >= 0:
            return labels
    nodes = zip(fields.label, fields.function, strict=True)
    return column([NO_LABEL if label is None else _class_number(label, function) for label, function in nodes])


def _class_number(label: int | str, function: str) -> int:
    if isinstance(label, int) and label >= 0:
        return int(label)
    raise ValueError(f"the label {label!r} of a {function!r} node is not a class number: 0, 1, ...")


def numbers(fields: Fields) -> np.ndarray | None:
    """(N,) float64, the numbers of nodes, NaN if there is none; None if no node has one."""
    if fields.value.count(None) == len(fields.value):
        return None
    return np.array([np.nan if value is None else value for value in fields.value])
