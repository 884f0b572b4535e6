"""A batch as plain trees in preorder, whatever its numbering and its shared children."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch

MOST_NODES = 10_000_000  # of one tree: shared children may unfold to 2^60


@dataclass
class Unfolded:
    """M nodes of B trees, tree after tree, each in preorder; a shared child comes once for each parent. On the CPU."""

    node: Tensor
    """(M,) int64, the node of the batch."""
    parent: Tensor
    """(M,) int64, the parent's place among the M; -1 for a root."""
    slot: Tensor
    """(M,) int64, the position among the siblings, from 0; -1 for a root."""
    depth: Tensor
    """(M,) int64, edges from the root."""
    sizes: Tensor
    """(B,) int64, nodes of each tree."""


def unfold(batch: TreeBatch) -> Unfolded:
    """The trees below the roots of a batch. Raises ``ValueError`` for one that unfolds to more than ten million nodes.

    A loop over the nodes, not over levels: a chain may have as many levels as nodes.
    """
    pointer, child = batch.child_ptr.tolist(), batch.child_index.tolist()
    node: list[int] = []
    parent: list[int] = []
    slot: list[int] = []
    depth: list[int] = []
    ends: list[int] = []
    for tree, root in enumerate(batch.roots.tolist(), 1):
        most = len(node) + MOST_NODES
        stack = [(root, -1, -1, 0)]
        while stack:
            j, above, position, d = stack.pop()
            here = len(node)
            if here == most:
                raise ValueError(f"tree {tree} unfolds to more than {MOST_NODES:,} nodes: it shares too many children")
            node.append(j)
            parent.append(above)
            slot.append(position)
            depth.append(d)
            first, stop = pointer[j], pointer[j + 1]
            for e in range(stop - 1, first - 1, -1):
                stack.append((child[e], here, e - first, d + 1))
        ends.append(len(node))
    sizes = torch.tensor([0, *ends]).diff()
    return Unfolded(torch.tensor(node), torch.tensor(parent), torch.tensor(slot), torch.tensor(depth), sizes)
