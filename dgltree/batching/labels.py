"""Which nodes of a batch are to be predicted."""

from typing import Literal

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, place
from dgltree.batching.vocabulary import NO_LABEL

Supervision = Literal["nodes", "roots"]
"""Every node, or the roots alone."""


def supervised(batch: TreeBatch, supervision: Supervision, classes: int) -> Tensor:
    """(N,) for "nodes" or (B,) for "roots", int64: the numbers of the nodes to be predicted, all of them labelled.

    Raises ``ValueError`` naming the first of these nodes that has no label, or a label that is not below ``classes``:
    a loss would leave out the first in silence and fail without a place at the second.
    """
    if supervision not in ("nodes", "roots"):
        raise ValueError(f"supervision is {supervision!r}; it must be 'nodes' or 'roots'")
    nodes = batch.roots if supervision == "roots" else torch.arange(batch.num_nodes, device=batch.device)
    labels = batch.label[nodes]
    wrong = torch.nonzero((labels < 0) | (labels >= classes))
    if not len(wrong):
        return nodes
    node, label = int(nodes[wrong[0]]), int(labels[wrong[0]])
    which = "the root" if supervision == "roots" else "every node"
    if label != NO_LABEL:
        raise ValueError(f"{place(batch, node)} has the label {label}; classes are 0 to {classes - 1}")
    raise ValueError(f"{place(batch, node)} has no label; supervision={supervision!r} needs one at {which} of a tree")
