"""Examples dealt out in parts of about the same size and the same labels, which tear no group apart."""

import numpy as np

from dgltree.batching.subtrees import subtree_numbers
from dgltree.datasets.numbers import number
from dgltree.datasets.tree_dataset import TreeDataset

MOST_STRATA = 0.1
"""Different labels by example up to which each is dealt out evenly; of more, labels are numbers or names."""


def units_of(dataset: TreeDataset) -> np.ndarray:
    """(E,) int64, equal numbers from 0 for examples that stay together: of one group, else with equal trees."""
    if any(group is not None for group in dataset.groups):
        names = [f"#{i}" if group is None else f"={group}" for i, group in enumerate(dataset.groups)]
        return np.unique(names, return_inverse=True)[1]
    kinds = subtree_numbers(dataset.trees)[dataset.trees.roots].view(-1, dataset.each).numpy()
    return np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)


def deal(dataset: TreeDataset, count: int, seed: int, most: int | None = None) -> np.ndarray:
    """(E,) int64, the part of each example, from 0 to ``count`` - 1.

    Args:
        dataset: the examples.
        count: of the parts.
        seed: of the choice.
        most: examples of a unit from which on it goes to part 0: larger than a part should be.
    """
    units, strata = units_of(dataset), _strata(dataset)
    sizes = np.bincount(units)
    stratum = _most_frequent(units, strata)
    chance = np.random.default_rng(seed).random(len(sizes))
    order = np.lexsort((chance, -sizes, stratum))
    part = np.zeros(len(sizes), np.int64)
    dealt = order if most is None else order[sizes[order] <= most]
    part[dealt] = np.arange(len(dealt)) % count
    return part[units]


def _strata(dataset: TreeDataset) -> np.ndarray:
    """(E,) int64: equal numbers for equal classes, all 0 where labels are numbers or as good as unique."""
    labels = ["" if label is None else label for label in dataset.labels]
    names, codes = np.unique(labels, return_inverse=True)
    values = [number(str(name)) for name in names]
    numbers = all(value is not None for value in values) and any(not float(value).is_integer() for value in values)  # type: ignore[arg-type]
    if numbers or len(names) > max(2, MOST_STRATA * len(labels)):
        return np.zeros(len(labels), np.int64)
    return codes


def _most_frequent(units: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """(U,) int64, the stratum that most examples of each unit are in."""
    pairs, counts = np.unique(np.stack([units, strata]), axis=1, return_counts=True)
    found = np.zeros(int(units.max()) + 1, np.int64)
    order = np.argsort(counts, kind="stable")
    found[pairs[0, order]] = pairs[1, order]  # the last one, of the highest count, stays
    return found
