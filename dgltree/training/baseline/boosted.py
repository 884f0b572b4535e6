"""Boosted decision trees, as scikit-learn's HistGradientBoosting grows them, in plain arrays."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from dgltree.training.baseline.linear import LOWEST

BLOCK = 1 << 22
"""Pairs of an example and a tree that are looked at at a time."""


@dataclass(frozen=True)
class Boosted:
    """The nodes of all trees; node m leads to ``left[m]`` where its column is at most its threshold."""

    name: ClassVar[str] = "boosted"

    feature: np.ndarray
    """(M,) int64 columns."""
    threshold: np.ndarray
    """(M,) float64."""
    left: np.ndarray
    right: np.ndarray
    """(M,) int64 nodes; a leaf leads to itself."""
    value: np.ndarray
    """(M,) float64, of leaves."""
    root: np.ndarray
    """(T, K) int64, in each round a tree for each class that it knows; of two classes, and of numbers, one."""
    start: np.ndarray
    """(K,) float64, what the sums of leaves begin with."""
    columns: np.ndarray
    """(1,) int64, how many columns are read."""
    classes: np.ndarray
    """(K,) int64, the numbers of the classes that it knows, two where K is 1; of numbers (0,)."""
    count: np.ndarray
    """(1,) int64, how many classes there are."""

    @classmethod
    def of(cls, estimator: Any, columns: int, classes: int) -> "Boosted":
        """The trees of a fitted ``HistGradientBoostingClassifier`` or ``Regressor``; of numbers with 0 classes.

        scikit-learn has no public name for them; a test compares what they give with its own predictions.
        """
        rounds = [[tree.nodes for tree in of_round] for of_round in estimator._predictors]
        sizes = np.array([[len(nodes) for nodes in of_round] for of_round in rounds])
        root = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
        nodes = np.concatenate([nodes for of_round in rounds for nodes in of_round])
        own = np.arange(len(nodes))
        first, leaf = np.repeat(root.ravel(), sizes.ravel()), nodes["is_leaf"].astype(bool)
        return cls(
            np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
            np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
            np.where(leaf, own, first + nodes["left"]).astype(np.int64),
            np.where(leaf, own, first + nodes["right"]).astype(np.int64),
            nodes["value"].astype(np.float64),
            root.astype(np.int64),
            np.ravel(estimator._baseline_prediction).astype(np.float64),
            np.array([columns]),
            np.array(estimator.classes_ if classes else [], np.int64),
            np.array([classes]),
        )

    def __call__(self, counts: csr_matrix) -> np.ndarray:
        """(E, C) logits, or (E, 1) numbers, of counts (E, D)."""
        size = max(1, BLOCK // max(1, self.root.size))
        sums = np.concatenate([self._sums(counts[i : i + size].toarray()) for i in range(0, counts.shape[0], size)])
        if not len(self.classes):
            return sums
        found = np.full((len(sums), int(self.count[0])), LOWEST)
        found[:, self.classes] = sums if sums.shape[1] > 1 else np.concatenate([0 * sums, sums], 1)
        return found

    def _sums(self, counts: np.ndarray) -> np.ndarray:
        node = np.broadcast_to(self.root.ravel(), (len(counts), self.root.size))
        example = np.arange(len(counts))[:, None]
        while True:
            left = counts[example, self.feature[node]] <= self.threshold[node]
            below = np.where(left, self.left[node], self.right[node])
            if (below == node).all():
                return self.start + self.value[node].reshape(len(counts), *self.root.shape).sum(1)
            node = below

    def divided(self, temperature: float) -> "Boosted":
        """The same with all that it gives divided by a number."""
        return replace(self, value=self.value / temperature, start=self.start / temperature)

    @property
    def width(self) -> int:
        """Columns that it reads."""
        return int(self.columns[0])

    def check(self) -> None:
        """``ValueError`` for arrays that do not belong together, or trees that do not end."""
        own = np.arange(len(self.value))
        nodes = (self.feature, self.threshold, self.left, self.right)
        fits = all(array.shape == own.shape for array in nodes) and self.root.shape[1:] == self.start.shape
        sums = 1 if len(self.classes) in (0, 2) else len(self.classes)
        single = {self.columns.shape, self.count.shape} == {(1,)}
        if not (fits and single and len(own) and len(self.start) == sums):
            raise ValueError("boosted trees whose arrays do not fit each other")
        for name, array, low, high in (
            ("a child", self.left, own, len(own)),  # after its parent: every way ends
            ("a child", self.right, own, len(own)),
            ("a root", self.root, 0, len(own)),
            ("a column", self.feature, 0, self.width),
            ("a class", self.classes, 0, int(self.count[0])),
        ):
            if (array < low).any() or (array >= high).any():
                raise ValueError(f"boosted trees with {name} that is not there")
