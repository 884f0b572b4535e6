"""Answers to periodic equations: solutions that are periods apart, and ``pi/6 + 2 k pi`` for all of them."""

from typing import NamedTuple

from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.balls import Unjudged, ball, whole
from dgltree.equations.truth.program import Program
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

COUNTERS = ("k", "n", "m")
"""Letters for any whole number."""
MAX_VALUES, QUOTIENT_BITS = 12, 256
"""Values of an answer within a period, and bits of a quotient that may be whole."""


def periods_between(first: Tree, second: Tree, period: Tree) -> int | None:
    """How many periods two numbers are apart; None if that is not a whole number."""
    quotient = Tree("Mul", (_minus(first, second), Tree("Pow", (period, Tree("NegativeOne", token="-1")))))
    try:
        value = Program(Equation(quotient, quotient), school=True).at({}, QUOTIENT_BITS)[0]
    except Unjudged:
        return None
    return None if value is None else whole(ball(value))


class Within(NamedTuple):
    """An answer with a counter, as ``pi/4 + k*pi``, within a period."""

    values: list[Tree]
    """Its different values."""
    periods: int
    """How many periods lie between two of its values, if it has one alone in each; else 1."""


def within_a_period(answer: Tree, period: Tree) -> Within | None:
    """None for an answer without a counter alone, and for one whose steps are neither parts of the period nor some."""
    names = variables(answer)
    if len(names) != 1 or names[0] not in COUNTERS:
        return None
    counter = Tree("Symbol", token=names[0])
    values = [substitute(answer, {counter: Tree("Integer", token=str(k))}) for k in range(MAX_VALUES + 1)]
    if apart := abs(periods_between(values[1], values[0], period) or 0):
        return Within([values[0].fold(_short)], apart)
    for count in range(2, MAX_VALUES + 1):
        if abs(periods_between(values[count], values[0], period) or 0) == 1:
            return Within([value.fold(_short) for value in values[:count]], 1)
    return None


def in_degrees(answer: Tree) -> Tree:
    """The number of radians of so many degrees."""
    pi, half_turn = Tree("Pi", token="pi"), Tree("Integer", token="180")
    inverse = Tree("Pow", (half_turn, Tree("NegativeOne", token="-1")))
    return Tree("Mul", (answer, Tree("Mul", (pi, inverse))))


def _short(node: Tree, children: list[Tree]) -> Tree:
    """``pi/6`` of ``pi/6 + 2*0*pi``, and ``pi/4 + pi`` of ``pi/4 + 1*pi``."""
    zero, one = (Tree("Integer", token=token) for token in "01")
    if node.function == "Mul" and zero in children:
        return zero
    if node.function in ("Add", "Mul"):
        left = [child for child in children if child != (zero if node.function == "Add" else one)]
        if len(left) < 2:
            return left[0] if left else children[0]
        return Tree(node.function, left)
    return node.replace(children=children)


def _minus(first: Tree, second: Tree) -> Tree:
    return Tree("Add", (first, Tree("Mul", (Tree("NegativeOne", token="-1"), second))))
