"""Points at which a search evaluates have a value for each variable, fixed by its name.

Values of trees at them are arrays: fast and without error bounds. truth/judge.py verifies what they find.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dgltree.equations.truth.elementary import Array, apply, finite, number_of
from dgltree.read.notation import NUMBERS
from dgltree.read.text import one_line
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

TABLE_POINTS = 4  # points of the big tables: with so many, different values hardly ever agree at all
CHECK_POINTS = 40  # points for what is fitted, and to check what was found
TOLERANCE = 1e-9  # relative difference of values that count as equal
MAX_VALUE = 1e9  # of a value that is looked at
ROWS = 20_000  # values put into a blank at once
TOGETHER = 1_000_000  # values of nodes that are worked out at once: some tenths of a second, and 130 MB
RANGES: dict[str, tuple[float, float]] = {
    "below one": (0.15, 0.92),  # where sqrt(1 - x^2), asin and atanh are real
    "above one": (1.15, 2.9),  # where log, sqrt(x - 1) and acosh are
    "negative": (-2.3, -0.2),
    "mixed": (-1.9, 1.9),
}
COMPLEX = "complex"


class Points(NamedTuple):
    """Values of variables at some points; of real points a value that is not real is NaN."""

    region: str
    values: dict[str, Array]
    """Name to (P,) float64, or complex128 of the complex points."""
    number: int
    """P"""

    def constant(self, value: float) -> Array:
        """(P,) of one value."""
        return np.full(self.number, value, complex if self.region == COMPLEX else float)


def points(region: str, variables: list[str], count: int) -> Points:
    """``count`` points of a region; the first of many are the same as when few are asked for."""
    return Points(region, {name: _values(region, name)[:count] for name in variables}, count)


def regions() -> Iterator[str]:
    """All regions: what holds anywhere mostly holds at positive points, so these come first."""
    yield from RANGES
    yield COMPLEX


def _values(region: str, name: str) -> Array:
    seed = int.from_bytes(hashlib.sha256(f"search {region} {name}".encode()).digest()[:8], "big")
    random = np.random.default_rng(seed)
    if region == COMPLEX:
        values: Array = random.uniform(0.4, 1.6, CHECK_POINTS) * np.exp(1j * random.uniform(-1.2, 1.2, CHECK_POINTS))
        return values
    return random.uniform(*RANGES[region], CHECK_POINTS)


def value(tree: Tree, points: Points, known: Mapping[Tree, Array]) -> Array:
    """(..., P) of ``tree`` if ``known`` says what some leaves stand for; NaN if there is no value.

    Call it with numpy's floating-point warnings off. Raises ``ValueError`` for a function or leaf without a value.
    """

    def combine(node: Tree, children: list[Array]) -> Array:
        return apply(node.function, children) if children else _leaf(node, points, known)

    return tree.fold(combine)


def rows_at_once(equation: Equation) -> int:
    """How many values are put into the blanks of an equation at once: fewer if many nodes depend on them."""
    dependent: set[int] = set()
    for side in equation:
        for node in side.distinct():
            if node.function == BLANK.function or any(id(child) in dependent for child in node.children):
                dependent.add(id(node))
    return max(1, min(ROWS, TOGETHER // max(1, len(dependent))))


def agree(a: Array, b: Array) -> Array:
    """(...) whether values (..., P) agree at all points; NaN agrees with nothing."""
    size = np.maximum(np.abs(a), np.abs(b))
    close: Array = (np.abs(a - b) <= TOLERANCE * size + 1e-13).all(axis=-1)
    return close


def literal(node: Tree) -> float | None:
    """The number that a leaf is, None for another node."""
    if node.children or node.function not in NUMBERS:
        return None
    return number_of(node)


def _leaf(node: Tree, points: Points, known: Mapping[Tree, Array]) -> Array:
    if node in known:
        return known[node]
    if node.function == "Symbol" and node.token in points.values:
        return points.values[node.token]
    if node.function in NUMBERS and math.isinf(number_of(node)):
        raise Refusal(
            f"the number {one_line(node.token or '', 40)} is too large; a search takes numbers of up to 308 digits"
        )
    return points.constant(finite(node))
