"""Which examples have equal trees, of data sets that need not fit into memory."""

from collections.abc import Iterator

import numpy as np

from dgltree.batching.subtrees import Named, digests
from dgltree.datasets.settings.label_texts import key_of
from dgltree.datasets.tree_dataset import TreeDataset


def tree_digests(data: TreeDataset) -> np.ndarray:
    """(E, 1 or 2) uint64, a digest of each tree of each example: equal for equal trees, in any data set."""
    return np.concatenate([of_nodes[roots] for of_nodes, roots in node_digests(data)]).reshape(-1, data.each)


def count_contradicted(data: TreeDataset) -> int:
    """How many examples have trees that occur with another label, too; those without a label do not count."""
    labels = [None if label is None else key_of(label) for label in data.labels]
    codes = {label: i for i, label in enumerate(dict.fromkeys(label for label in labels if label is not None))}
    code = np.array([-1 if label is None else codes[label] for label in labels])
    kinds = np.unique(tree_digests(data), axis=0, return_inverse=True)[1].reshape(-1)[code >= 0]
    code = code[code >= 0]
    lowest, highest = np.full(len(data), len(codes)), np.full(len(data), -1)
    np.minimum.at(lowest, kinds, code)
    np.maximum.at(highest, kinds, code)
    return int((lowest[kinds] != highest[kinds]).sum())


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
