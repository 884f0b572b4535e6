"""Batches with one node for equal subtrees: a graph in which a node has as many parents as contexts."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.subtrees import twins
from dgltree.batching.vocabulary import NO_LABEL


class Entangled(NamedTuple):
    """The graph of the distinct subtrees of a batch."""

    batch: TreeBatch
    """R nodes, as one graph; its roots are the nodes without a parent, and it has no labels."""
    node: Tensor
    """(N,) int64, for each node of the batch that it was made of its node in the graph."""


def entangle(batch: TreeBatch) -> Entangled:
    """One node for all equal subtrees of a batch: same function, token, value and x; linear in nodes and edges.

    A tree that occurs inside another is not a root of the graph: on the way down it gets its state from above, the mean
    over all its contexts (Opper & Siddharth 2024, Banyan, arXiv 2407.17771).
    """
    flat = batch.to("cpu")
    twin = twins(flat)
    kept = np.flatnonzero(twin == np.arange(len(twin)))
    place = np.empty(len(twin), np.int64)
    place[kept] = np.arange(len(kept))
    node = place[twin]
    arity, pointer = flat.arity.numpy()[kept], flat.child_ptr.numpy()[kept]
    child_ptr = np.concatenate([[0], np.cumsum(arity)])
    edges = np.arange(child_ptr[-1]) + np.repeat(pointer - child_ptr[:-1], arity)
    child = node[flat.child_index.numpy()[edges]]
    rows = torch.from_numpy(kept)
    graph = TreeBatch(
        function=flat.function[rows],
        token=flat.token[rows],
        child_ptr=torch.from_numpy(child_ptr),
        child_index=torch.from_numpy(child),
        level=flat.level[rows],
        roots=torch.from_numpy(np.flatnonzero(np.bincount(child, minlength=len(kept)) == 0)),
        sizes=torch.tensor([len(kept)]),
        label=torch.full((len(kept),), NO_LABEL),
        value=None if flat.value is None else flat.value[rows],
        x=None if flat.x is None else flat.x[rows],
        vocabulary=flat.vocabulary,
    )
    return Entangled(graph.to(batch.device), torch.from_numpy(node).to(batch.device))
