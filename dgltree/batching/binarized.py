"""Flat trees with two children a node at most: what :func:`dgltree.trees.binarize` does, without the trees."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.dgl_graph import levels
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary
from dgltree.trees.binarize import MARK


class Binarization:
    """From the flat trees of one vocabulary to those that branch to the right, in another one.

    Args:
        own: the vocabulary of the trees, in which every function has an arity.

    Raises ``ValueError`` for a function that ends with the mark of intermediate nodes.
    """

    def __init__(self, own: Vocabulary) -> None:
        for name, _ in own.functions:
            if name.endswith(MARK):
                raise ValueError(f"the function {name!r} ends with {MARK!r}, which marks intermediate nodes")
        narrow = [(name, min(arity or 0, 2)) for name, arity in own.functions]
        marked = [(name + MARK, 2) for name, arity in own.functions if (arity or 0) > 2]
        functions = list(dict.fromkeys([*narrow, *marked]))
        number = {function: i for i, function in enumerate(functions)}
        self.vocabulary = Vocabulary(functions, own.tokens, unk=own.unk)
        self._narrow = torch.tensor([number[function] for function in narrow])
        self._marked = torch.tensor([number.get((name + MARK, 2), -1) for name, _ in own.functions])

    def __call__(self, batch: TreeBatch) -> TreeBatch:
        """The same trees, on the CPU; an intermediate node is numbered before the first of its children.

        That is preorder, but for nodes with several parents. Raises ``ValueError`` for input vectors x.
        """
        if batch.x is not None:
            raise ValueError("the batch carries input vectors x, of which intermediate nodes have none")
        child, parent = batch.child_index.numpy(), batch.parent_index.numpy()
        slot = batch.slot.numpy()
        middle = inserts(batch).numpy()  # edges whose child gets an intermediate node above it
        before = np.bincount(child[middle], minlength=batch.num_nodes)
        place = np.arange(batch.num_nodes) + np.cumsum(before)  # of the nodes
        node = np.full(len(child), -1)  # of each edge what it leads from now: the child, or its intermediate node
        by_child = np.flatnonzero(middle)[np.argsort(child[middle], kind="stable")]
        ordinal = np.arange(len(by_child)) - np.repeat(np.cumsum(before) - before, before)
        node[by_child] = place[child[by_child]] - before[child[by_child]] + ordinal
        above = np.where(middle, node, place[child])
        kept = (slot < 2) & ~middle | (middle & (slot == 1))  # edges of the nodes themselves
        own = np.stack([place[parent[kept]], slot[kept], above[kept]])
        inner = np.flatnonzero(middle)  # the two edges of each intermediate node
        first = np.stack([node[inner], np.zeros_like(inner), place[child[inner]]])
        second = np.stack([node[inner], np.ones_like(inner), above[inner + 1]])
        edges = np.concatenate([own, first, second], 1)
        edges = edges[:, np.lexsort((edges[1], edges[0]))]
        count = batch.num_nodes + len(inner)
        pointer = np.concatenate([[0], np.cumsum(np.bincount(edges[0], minlength=count))])
        at, new = torch.from_numpy(place), torch.from_numpy(node[inner])
        function = torch.empty(count, dtype=torch.int64)
        function[at] = self._narrow[batch.function]
        function[new] = self._marked[batch.function[torch.from_numpy(parent[inner])]]
        sizes = batch.sizes + extra_nodes(batch)

        def column(values: Tensor, missing: float) -> Tensor:
            return torch.full((count,), missing, dtype=values.dtype).index_copy(0, at, values)

        return replace(
            batch,
            function=function,
            token=column(batch.token, NO_TOKEN),
            child_ptr=torch.from_numpy(pointer),
            child_index=torch.from_numpy(np.ascontiguousarray(edges[2])),
            level=torch.from_numpy(levels(edges[2], edges[0], count)),
            roots=at[batch.roots],
            sizes=sizes,
            label=column(batch.label, NO_LABEL),
            value=None if batch.value is None else column(batch.value, torch.nan),
            vocabulary=self.vocabulary,
        )


def inserts(batch: TreeBatch) -> Tensor:
    """(E,) bool: whether an intermediate node comes between the child of an edge and its parent."""
    arity = batch.arity[batch.parent_index]
    return (arity > 2) & (batch.slot >= 1) & (batch.slot <= arity - 2)


def extra_nodes(batch: TreeBatch) -> Tensor:
    """(B,) int64, how many intermediate nodes each tree gets."""
    ends = torch.cumsum(batch.sizes, 0)
    of_nodes = torch.nn.functional.pad((batch.arity - 2).clamp(min=0).cumsum(0), (1, 0))
    return of_nodes[ends] - of_nodes[ends - batch.sizes]
