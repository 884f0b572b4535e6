"""Counts of what occurs in a tree, as the columns of a sparse matrix."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

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
    """

    codes: np.ndarray
    places: NumberScales | None = None

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
        return cls(np.sort(found[often]), places)

    def __call__(self, data: TreeDataset) -> csr_matrix:
        """(E, D) float64: how often each of them occurs in each example, or the sum of its numbers."""
        example, codes, amounts = occurrences(data, self.places)
        place = np.searchsorted(self.codes, codes)
        place[place == len(self.codes)] = 0
        there = self.codes[place] == codes if len(self.codes) else np.zeros(len(codes), bool)
        found = csr_matrix((amounts[there], (example[there], place[there])), shape=(len(data), len(self.codes)))
        found.sum_duplicates()
        return found
