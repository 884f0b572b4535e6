"""A forest as flat arrays, which a file can hold: scikit-learn's own trees follow any place that a file names."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

ROWS = 1 << 20
"""Pairs of an example and a tree that are looked at at a time."""


def descend(
    counts: np.ndarray,
    root: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """(E, T) int64, the leaf of each tree that each example reaches.

    A leaf leads to itself, so an example has arrived when it no longer moves. :func:`check_places` guarantees that
    this ends: each child comes after its parent.

    Args:
        counts: (E, D).
        root: (T,) the first node of each tree.
        feature, threshold, left, right: (N,) of each node; it leads left if its column is at most its threshold.
    """
    example = np.arange(len(counts))[:, None]
    node = np.broadcast_to(root, (len(counts), root.size))
    while True:
        below = np.where(counts[example, feature[node]] <= threshold[node], left[node], right[node])
        if (below == node).all():
            return node
        node = below


def check_places(columns: int, root: np.ndarray, feature: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """``ValueError`` for a node that leads back, or names a child, a root or a column that is not there."""
    places = np.arange(len(left))
    for name, array, low, high in (
        ("a child", left, places, len(places)),
        ("a child", right, places, len(places)),
        ("a root", root, 0, len(places)),
        ("a column", feature, 0, columns),
    ):
        if (array < low).any() or (array >= high).any():
            raise ValueError(f"its trees refer to {name} that does not exist")


@dataclass(frozen=True)
class Forest:
    """The mean of what the leaves of several trees say: T trees of N nodes over D columns.

    Raises ``ValueError`` for arrays that do not fit each other, and for trees that do not end.
    """

    root: np.ndarray
    """(T,) int32."""
    feature: np.ndarray
    """(N,) int32, a column."""
    threshold: np.ndarray
    """(N,) float32."""
    left: np.ndarray
    """(N,) int32; a leaf leads to itself."""
    right: np.ndarray
    """(N,) int32."""
    leaf: np.ndarray
    """(N,) int32, the row of ``value`` of a leaf; that of an inner node says nothing."""
    value: np.ndarray
    """(L, C) float32 probabilities, or (L, 1) float32 numbers."""
    classes_: np.ndarray
    """(C,) int64, empty for numbers."""
    n_features_in_: int
    """D."""

    def __post_init__(self) -> None:
        nodes = (self.feature, self.threshold, self.left, self.right, self.leaf)
        if not all(isinstance(array, np.ndarray) for array in (*nodes, self.root, self.value, self.classes_)):
            raise ValueError("the parts of the forest must be arrays")
        shapes = {array.shape for array in nodes} == {(len(self.left),)} and self.root.ndim == 1
        width = max(1, len(self.classes_))
        whole = all(array.dtype.kind == "i" for array in (self.root, self.left, self.right, self.feature, self.leaf))
        if not (shapes and whole and self.value.shape[1:] == (width,) and len(self.root) and len(self.value)):
            raise ValueError("the shapes or types of the forest's arrays do not match")
        if self.classes_.dtype.kind != "i" or type(self.n_features_in_) is not int:
            raise ValueError("the classes or the number of columns of the forest are not whole numbers")
        check_places(self.n_features_in_, self.root, self.feature, self.left, self.right)
        if (self.leaf < 0).any() or (self.leaf >= len(self.value)).any():
            raise ValueError("its trees refer to a prediction that does not exist")
        if not (np.isfinite(self.value).all() and np.isfinite(self.threshold).all()):
            raise ValueError("some of its numbers are not finite")

    @classmethod
    def of(cls, fitted: Any) -> tuple["Forest", np.ndarray]:
        """Return a fitted forest of scikit-learn in this form, and (D,) the columns that it looks at, its only ones."""
        trees = [estimator.tree_ for estimator in fitted.estimators_]
        first = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(tree, name) for tree in trees])

        feature = joined("feature")
        threshold = joined("threshold")
        inner = feature >= 0
        places = np.arange(len(feature))
        columns = np.unique(feature[inner]) if inner.any() else np.zeros(1, np.int64)
        start = np.repeat(first, [tree.node_count for tree in trees])
        answers = joined("value")[~inner, 0]
        classes = np.asarray(getattr(fitted, "classes_", []), np.int64)
        # Scikit-learn compares a count of 32 bits with a threshold of 64. The next threshold of 32 bits that is not
        # above decides alike.
        low = threshold.astype(np.float32)
        low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
        forest = cls(
            root=first.astype(np.int32),
            feature=np.where(inner, np.searchsorted(columns, feature), 0).astype(np.int32),
            threshold=np.where(inner, low, np.float32(0)),
            left=np.where(inner, start + joined("children_left"), places).astype(np.int32),
            right=np.where(inner, start + joined("children_right"), places).astype(np.int32),
            leaf=np.where(inner, 0, np.cumsum(~inner) - 1).astype(np.int32),
            value=(answers / answers.sum(1, keepdims=True) if len(classes) else answers).astype(np.float32),
            classes_=classes,
            n_features_in_=len(columns),
        )
        return forest, columns

    def to_arrays(self) -> dict[str, Any]:
        """The arguments of the same."""
        return asdict(self)

    def decision_function(self, counts: np.ndarray) -> np.ndarray:
        """(E, C) float64 logits of counts (E, D): of the trees and of one that knows nothing, so none is infinite."""
        trees = len(self.root)
        classes = len(self.classes_)
        return np.log((self._mean(counts) * trees + 1 / classes) / (trees + 1))

    def predict(self, counts: np.ndarray) -> np.ndarray:
        """(E,) float64 numbers of counts (E, D)."""
        return self._mean(counts)[:, 0]

    def _mean(self, counts: np.ndarray) -> np.ndarray:
        rows = counts.astype(np.float32)
        step = max(1, ROWS // len(self.root))
        nodes = (self.root, self.feature, self.threshold, self.left, self.right)
        parts = [descend(rows[i : i + step], *nodes) for i in range(0, len(rows), step)]
        return np.concatenate([self.value[self.leaf[part]].mean(1, dtype=np.float64) for part in parts])
