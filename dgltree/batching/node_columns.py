"""Columns of a batch, from the nodes of trees: ids, children, labels and other numbers."""

from collections.abc import Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from dgltree.batching.run_lengths import ranges
from dgltree.batching.vocabulary import NO_LABEL, UNSEEN, Vocabulary
from dgltree.trees.tree import Tree

MAX_WALKED_NODES = 256
"""Nodes of a tree that is walked before its objects are known to be distinct: a larger one may unfold to 2^60."""


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
    """The fields of all nodes, the nodes, and the number of distinct nodes of each tree."""
    fields = Fields(
        function=[],
        arity=[],
        token=[],
        value=[],
        label=[],
        level=[],
        size=[],
    )
    # This loop takes half of the time of a batch, so its lists have names of their own.
    functions = fields.function
    arities = fields.arity
    tokens = fields.token
    values = fields.value
    labels = fields.label
    levels = fields.level
    sizes = fields.size
    nodes = []
    counts = []
    shared = False
    for tree in trees:
        tree_nodes = _distinct_nodes(tree, shared)
        shared |= len(tree_nodes) < tree.size
        for node in tree_nodes:  # all of a node at once, while it is in a cache
            functions.append(node.function)
            arities.append(len(node.children))
            tokens.append(node.token)
            values.append(node.value)
            labels.append(node.label)
            levels.append(node.depth)
            sizes.append(node.size)
        nodes += tree_nodes
        counts.append(len(tree_nodes))
    return fields, nodes, counts


def _distinct_nodes(tree: Tree, is_likely_shared: bool) -> list[Tree]:
    """The distinct nodes of a tree in preorder."""
    # Most trees share no objects: then a plain walk and one look at all ids is faster than a look at each id.
    if not is_likely_shared and tree.size <= MAX_WALKED_NODES:
        nodes = list(tree.preorder())
        if len(set(map(id, nodes))) == len(nodes):
            return nodes
    return list(tree.distinct_preorder())


def column(numbers: Sequence[int]) -> np.ndarray:
    """(len,) int64."""
    return np.fromiter(numbers, np.int64, len(numbers))


class _FunctionIds(dict[Any, int]):
    """The ids of a vocabulary's functions by name and arity, each asked for once; ``UNSEEN`` for an unknown one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._find = vocabulary.find_function

    def __missing__(self, key: tuple[str, int]) -> int:
        number = self._find(*key)
        if number is None:
            number = UNSEEN
        self[key] = number
        return number


def node_ids(
    fields: Fields,
    counts: Sequence[int],
    vocabulary: Vocabulary,
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the functions and of the tokens of nodes, ``NO_TOKEN`` if there is none; (N,) int64 each.

    ``counts`` are the nodes of each tree. Raises ``ValueError`` naming the first node that has an unknown one.
    """
    count = len(fields.function)
    keys = zip(fields.function, fields.arity, strict=True)
    function = np.fromiter(map(_FunctionIds(vocabulary).__getitem__, keys), np.int64, count)
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


def children_in_preorder(
    size: np.ndarray,
    arity: np.ndarray,
    pointer: np.ndarray,
) -> np.ndarray:
    """(E,) int64, the children of all nodes, if no tree holds an object twice.

    Sorted by distance from the root, the nodes that are not roots come in the order of their parents. The sort is
    stable, so one distance is in preorder, and the roots, at distance 0, come first.

    Args:
        size: (N,) int64, nodes of the subtree at each node.
        arity: (N,) int64.
        pointer: (N + 1,) int64, the ``child_ptr`` of the batch.
    """
    node = np.arange(len(size))
    # Before a node come its ancestors, whose subtrees end after it, and nodes whose subtrees have ended.
    ends = np.bincount(node + size)
    distance = node - np.cumsum(ends[:-1])
    narrow = distance.astype(np.min_scalar_type(distance.max()))  # numpy sorts integers of 16 bits in linear time
    order = np.argsort(narrow, kind="stable")
    child_index = np.empty(pointer[-1], np.int64)
    edges = ranges(pointer[order], arity[order])
    child_index[edges] = order[len(order) - len(child_index) :]
    return child_index


def children_by_object(nodes: list[Tree], counts: Sequence[int]) -> np.ndarray:
    """(E,) int64, the children of all nodes of any trees; ``counts`` are the nodes of each tree."""
    child_index = []
    start = 0
    # Tree by tree, because an object that two trees share is a node of each.
    for count in counts:
        tree_nodes = nodes[start : start + count]
        index = {id(node): i for i, node in enumerate(tree_nodes, start)}
        for node in tree_nodes:
            child_index += [index[id(child)] for child in node.children]
        start += count
    return column(child_index)


def class_numbers(fields: Fields) -> np.ndarray:
    """(N,) int64, the labels of nodes. Raises ``ValueError`` for one that is not a class number."""
    types = set(map(type, fields.label))
    if types == {NoneType}:
        return np.full(len(fields.label), NO_LABEL, np.int64)
    if types == {int}:
        labels = column(fields.label)  # type: ignore[arg-type]
        if labels.min() >= 0:
            return labels
    # Some nodes have none, or some label is wrong: look at each.
    class_numbers = []
    for label, function in zip(fields.label, fields.function, strict=True):
        if label is None:
            class_numbers.append(NO_LABEL)
        elif isinstance(label, int) and label >= 0:
            class_numbers.append(int(label))
        else:
            raise ValueError(f"the label {label!r} of a {function!r} node is not a class number: 0, 1, ...")
    return column(class_numbers)


def numbers(fields: Fields) -> np.ndarray | None:
    """(N,) float64, the numbers of nodes, NaN if there is none; None if no node has one."""
    if fields.value.count(None) == len(fields.value):
        return None
    return np.array(fields.value, np.float64)  # None is NaN
