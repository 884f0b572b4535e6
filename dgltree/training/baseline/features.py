"""Counts of what occurs in a tree, as the columns of a sparse matrix."""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix, hstack

from dgltree.batching.number_scales import NumberScales
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.baseline.codes import occurrences

MIN_COLUMN_EXAMPLES, MAX_COLUMNS = 2, 1 << 15
"""Training examples that a column occurs in at least, and how many columns there are at most, the most frequent."""


@dataclass(frozen=True)
class Columns:
    """The columns of counts.

    Args:
        codes: (D,) uint64, sorted.
        places: the scales of numbers, by which some are counted.
        features: (K,) int64, which numbers of the columns next to the trees are columns as they are.
    """

    codes: np.ndarray
    places: NumberScales | None = None
    features: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def width(self) -> int:
        """How many columns there are, those next to the trees last."""
        return len(self.codes) + len(self.features)

    def take(self, chosen: np.ndarray) -> "Columns":
        """Some of them, by their numbers in ascending order."""
        counts = chosen[chosen < len(self.codes)]
        return Columns(self.codes[counts], self.places, self.features[chosen[len(counts) :] - len(self.codes)])

    @classmethod
    def of(cls, data: TreeDataset, places: NumberScales | None = None) -> "Columns":
        """Everything that occurs in enough examples of a training set."""
        example, codes, _ = occurrences(data, places)
        order = np.lexsort((example, codes))
        example, codes = example[order], codes[order]
        new = np.ones(len(codes), bool)
        new[1:] = (codes[1:] != codes[:-1]) | (example[1:] != example[:-1])
        found, counts = np.unique(codes[new], return_counts=True)
        often = np.flatnonzero(counts >= min(MIN_COLUMN_EXAMPLES, len(data)))
        often = often[np.argsort(-counts[often], kind="stable")[:MAX_COLUMNS]]
        beside = 0 if data.feature_rows is None else data.feature_rows.shape[1]
        return cls(np.sort(found[often]), places, np.arange(beside))

    def __call__(self, data: TreeDataset) -> csr_matrix:
        """(E, D) float64: how often each of them occurs in each example, or the sum of its numbers.

        Raises ``ValueError`` for data without the columns next to the trees.
        """
        if len(self.features) and data.feature_rows is None:
            raise ValueError("the baseline reads columns next to the trees, which these trees lack")
        example, codes, amounts = occurrences(data, self.places)
        place = np.searchsorted(self.codes, codes)
        place[place == len(self.codes)] = 0
        there = self.codes[place] == codes if len(self.codes) else np.zeros(len(codes), bool)
        found = csr_matrix((amounts[there], (example[there], place[there])), shape=(len(data), len(self.codes)))
        found.sum_duplicates()
        if not len(self.features) or data.feature_rows is None:
            return found
        return hstack([found, csr_matrix(data.feature_rows[:, self.features].astype(np.float64))], "csr")
