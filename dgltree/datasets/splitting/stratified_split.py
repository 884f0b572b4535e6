"""Examples dealt out in parts of about the same size and the same labels, which tear no group apart."""

import numpy as np

from dgltree.datasets.settings.field_texts import number
from dgltree.datasets.splitting.duplicates import first_equal
from dgltree.datasets.tree_dataset import TreeDataset

MOST_STRATA = 0.1
"""Different labels an example up to which each is dealt out evenly; of more, labels are numbers or names."""

JITTER = 0.7
"""How much, as an exponent, the size of a unit is changed by chance before the larger ones are dealt out first."""


def units_of(dataset: TreeDataset) -> np.ndarray:
    """(E,) int64, equal numbers from 0 for examples that stay together: of one group, else with equal trees."""
    if any(group is not None for group in dataset.groups):
        names = [f"#{i}" if group is None else f"={group}" for i, group in enumerate(dataset.groups)]
        return np.unique(names, return_inverse=True)[1]
    return np.unique(first_equal(dataset), axis=0, return_inverse=True)[1].reshape(-1)


def stratify(dataset: TreeDataset, count: int, seed: int, most: int | None = None) -> np.ndarray:
    """(E,) int64, the part of each example, from 0 to ``count`` - 1.

    Args:
        dataset: the examples.
        count: of the parts.
        seed: of the choice.
        most: examples of a unit from which on it goes to part 0: larger than a part should be.
    """
    units, strata = units_of(dataset), _strata(dataset)
    sizes = np.bincount(units)
    rng = np.random.default_rng(seed)
    part = np.zeros(len(sizes), np.int64)
    fixed = np.zeros(len(sizes), bool) if most is None else sizes > most
    large = np.flatnonzero((sizes > 1) & ~fixed)
    large = large[np.argsort(-sizes[large] * np.exp(JITTER * rng.random(len(large))), kind="stable")]
    part[large] = _greedy(units, strata, large, count)
    single = np.flatnonzero((sizes == 1) & ~fixed)
    own = np.zeros(len(sizes), np.int64)
    own[units] = strata  # of a single one its label
    single = single[np.lexsort((rng.random(len(single)), own[single]))]
    part[single] = np.arange(len(single)) % count
    return part[units]


def _greedy(units: np.ndarray, strata: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """(len(order),) int64: each unit in turn goes where the classes and the sizes of the parts stay most even."""
    labels = int(strata.max()) + 1
    table = np.zeros((int(units.max()) + 1, labels + 1))
    np.add.at(table, (units, strata), 1)
    table[:, -1] = table[:, :-1].sum(1)
    shares = table / table.sum(0).clip(min=1)  # of all examples of a class, and of all examples
    held = np.zeros((count, labels + 1))
    found = np.empty(len(order), np.int64)
    for i, unit in enumerate(order):
        found[i] = np.argmin(
            (held * shares[unit]).sum(1)
        )  # the growth of the squares, except for what is the same anywhere
        held[found[i]] += shares[unit]
    return found


def _strata(dataset: TreeDataset) -> np.ndarray:
    """(E,) int64: equal numbers for equal classes, all 0 if labels are numbers or as good as unique."""
    labels = ["" if label is None else label for label in dataset.labels]
    names, codes = np.unique(labels, return_inverse=True)
    values = [number(str(name)) for name in names]
    numbers = all(value is not None for value in values) and any(not float(value).is_integer() for value in values)  # type: ignore[arg-type]
    if numbers or len(names) > max(2, MOST_STRATA * len(labels)):
        return np.zeros(len(labels), np.int64)
    return codes
