"""Which examples have equal trees, of data sets that need not fit into memory."""

from collections.abc import Iterator

import numpy as np

from dgltree.batching.subtrees import Named, digests
from dgltree.datasets.tree_dataset import TreeDataset


def tree_digests(data: TreeDataset) -> np.ndarray:
    """(E, 1 or 2) uint64, a digest of each tree of each example: equal for equal trees, in any data set."""
    return np.concatenate([of_nodes[roots] for of_nodes, roots in node_digests(data)]).reshape(-1, data.each)


def first_equal(data: TreeDataset) -> np.ndarray:
    """(E, 1 or 2) int64, for each tree the first node of the data set that is the root of an equal one."""
    known, which = np.unique(tree_digests(data), return_inverse=True)
    first, before = np.full(len(known), np.iinfo(np.int64).max), 0
    for of_nodes, _ in node_digests(data):
        place = np.searchsorted(known, of_nodes).clip(max=len(known) - 1)
        nodes = np.flatnonzero(known[place] == of_nodes)
        np.minimum.at(first, place[nodes], before + nodes)
        before += len(of_nodes)
    return first[which].reshape(-1, data.each)


def node_digests(data: TreeDataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Block after block the digests of all nodes, and the roots."""
    named = Named.of(data.own_vocabulary)
    for block in data.blocks():
        yield digests(block.trees, named), block.trees.roots.numpy()
