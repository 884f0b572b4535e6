"""Values of trees at points, as arrays: fast and without error bounds. truth/judge.py verifies what they find."""

import math
from collections.abc import Mapping

import numpy as np

from dgltree.equations.search.points import Points
from dgltree.equations.truth.elementary import Array, apply
from dgltree.equations.truth.leaves import finite, number_of
from dgltree.read.notation import NUMBERS
from dgltree.read.text import one_line
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

TOLERANCE = 1e-9  # relative difference of values that count as equal
MAX_VALUE = 1e9  # of a value that is looked at
ROWS = 20_000  # values put into a blank at once
TOGETHER = 1_000_000  # values of nodes that are worked out at once: some tenths of a second, and 130 MB


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
        raise ValueError(f"the number {one_line(node.token or '', 40)} is too large; a search takes up to 308 digits")
    return points.constant(finite(node))
