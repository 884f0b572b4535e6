"""Which fillers have one value: compared at points."""

from collections.abc import Sequence

import numpy as np

from dgltree.equations.search.arithmetic import TOLERANCE, value
from dgltree.equations.search.points import CHECK_POINTS, COMPLEX, Points, points, regions
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.exact import exact
from dgltree.read.functions import names as functions
from dgltree.trees.tree import Tree

MIN_COMMON_POINTS = 3
"""Points at which two trees must both have a value."""
WIDER = (37.0, 12345.0)
"""How many times farther out to compare values that may change if an argument is 0: abs(x - 4) and 4 - x."""
FAR_TOLERANCE = 1e-3
"""Relative difference of values farther out."""
ANALYTIC = {"Add", "Mul", *functions("exponential", "circular", "hyperbolic", inverse=False)}


class Values:
    """The values of trees in these variables, remembered.

    Args:
        names: of the variables.
    """

    def __init__(self, names: Sequence[str]) -> None:
        near = [points(region, list(names), CHECK_POINTS) for region in regions()]
        self._complex = [at for at in near if at.region == COMPLEX]
        self._real = [at for at in near if at.region != COMPLEX]
        self._wide = [_wider(at, times) for times in WIDER for at in self._real]
        self._known: dict[tuple[Tree, int], Array] = {}

    def same(self, a: Tree, b: Tree) -> bool:
        """Whether two trees agree at the real points where both have values; at complex points if these are few."""
        if a == b:
            return True
        for where in (self._real, self._complex):
            first, second = self._of(a, where), self._of(b, where)
            both = np.isfinite(first) & np.isfinite(second)
            if np.count_nonzero(both) >= MIN_COMMON_POINTS:
                return bool(_close(first[both], second[both]).all()) and self._same_far_out(a, b)
        return False

    def _same_far_out(self, a: Tree, b: Tree) -> bool:
        if _is_analytic(a) and _is_analytic(b):
            return True
        first, second = self._of(a, self._wide), self._of(b, self._wide)
        both = np.isfinite(first) & np.isfinite(second)
        differ = ~_close(first[both], second[both], FAR_TOLERANCE)  # far out much may cancel
        return int(np.count_nonzero(differ)) < MIN_COMMON_POINTS

    def overlap(self, a: Tree, b: Tree) -> bool:
        """Whether two trees agree at some real points."""
        return int(np.count_nonzero(_close(self._of(a, self._real), self._of(b, self._real)))) >= MIN_COMMON_POINTS

    def is_real(self, tree: Tree) -> bool:
        """Whether it has a real value at a real point."""
        return bool(np.isfinite(self._of(tree, self._real)).any())

    def _of(self, tree: Tree, where: Sequence[Points]) -> Array:
        """The values at points, NaN at real ones if they are not real."""
        key = tree, id(where)
        if key not in self._known:
            with np.errstate(all="ignore"):
                found = [np.broadcast_to(value(tree, at, {}), (at.number,)) for at in where]
            self._known[key] = np.concatenate(found)
        return self._known[key]


def _wider(at: Points, times: float) -> Points:
    return at._replace(values={name: times * values for name, values in at.values.items()})


def _is_analytic(tree: Tree) -> bool:
    """Whether it is one formula on the whole line: it has no roots, absolute values, or inverse functions."""
    return all(
        not node.children or node.function in ANALYTIC or (node.function == "Pow" and _is_whole(node.children[1]))
        for node in tree.distinct()
    )


def _is_whole(exponent: Tree) -> bool:
    n = exact(exponent)
    return n is not None and n.denominator == 1


def _close(first: Array, second: Array, difference: float = TOLERANCE) -> Array:
    """(P,) whether numbers agree; NaN agrees with nothing."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(first), np.abs(second))
        close: Array = np.abs(first - second) <= difference * size + 1e-13
    return close
