"""Columns of a batch, from the nodes of trees: ids, labels and other numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary
from dgltree.trees.tree import Tree


def column(numbers: list[int]) -> Tensor:
    """(len,) int64; by numpy, which reads a list several times as fast as torch."""
    return torch.from_numpy(np.array(numbers, np.int64))


class _Ids(dict[Any, int]):
    """Results of a function by key, each asked for once."""

    def __init__(self, find: Callable[[Any], int]) -> None:
        self._find = find

    def __missing__(self, key: Any) -> int:
        self[key] = found = self._find(key)
        return found


def node_ids(nodes: list[Tree], sizes: np.ndarray, vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    """Those of the functions and of the tokens of nodes, ``NO_TOKEN`` where there is none.

    ``sizes`` are the nodes of each tree. Raises ``ValueError`` naming the first node that has an unknown one.
    """
    functions = _Ids(lambda key: vocabulary.function_id(*key))
    tokens = _Ids(lambda token: NO_TOKEN if token is None else vocabulary.token_id(token))
    i = 0
    try:
        function, token = [], []
        for i, node in enumerate(nodes):  # noqa: B007 (the error below names it)
            function.append(functions[node.function, len(node.children)])
            token.append(tokens[node.token])
        return function, token
    except ValueError as error:
        tree = int(np.searchsorted(np.cumsum(sizes), i, side="right"))
        raise ValueError(f"tree {tree}, node {i - int(sizes[:tree].sum())} in preorder: {error}") from None


def class_numbers(nodes: list[Tree]) -> list[int]:
    """The labels of nodes. Raises ``ValueError`` for one that is no class number."""
    return [NO_LABEL if node.label is None else _class_number(node) for node in nodes]


def _class_number(node: Tree) -> int:
    if isinstance(node.label, int) and node.label >= 0:
        return int(node.label)
    raise ValueError(f"the label {node.label!r} of a {node.function!r} node is no class number: 0, 1, ...")
