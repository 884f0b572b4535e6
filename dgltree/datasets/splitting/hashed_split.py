"""Examples dealt out by a hash of their group or tree, so that further examples never move those that were there."""

from hashlib import blake2b

import numpy as np

from dgltree.batching.subtrees import scattered
from dgltree.datasets.splitting.duplicates import tree_digests
from dgltree.datasets.tree_dataset import TreeDataset

MIN_HASHED_EXAMPLES, MIN_HASHED_UNITS = 200, 50
"""Examples, and groups or different trees, from which on a hash deals them out: of fewer, parts are too unequal."""
STEP = 0x9E3779B97F4A7C15


def tree_keys(data: TreeDataset) -> np.ndarray:
    """(E,) uint64, equal for examples of equal trees, in any file and however numbers at leaves are read."""
    found = np.zeros(len(data), np.uint64)
    for side in tree_digests(data.by_value()).T:
        found = scattered(found + np.uint64(STEP)) ^ side
    return scattered(found)


def unit_keys(data: TreeDataset) -> np.ndarray:
    """(E,) uint64, equal for examples that stay together: of one group, and without a group with equal trees."""
    keys = tree_keys(data)
    for i, group in enumerate(data.groups):
        if group is not None:
            keys[i] = int.from_bytes(blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return keys


def hashed_parts(keys: np.ndarray, count: int, seed: int) -> np.ndarray:
    """(E,) int64, the part of each key, from 0 to ``count`` - 1: a function of the key and the seed alone."""
    drawn = scattered(scattered(keys) + np.uint64(STEP * (seed + 1) % 2**64))
    return (drawn % np.uint64(count)).astype(np.int64)
