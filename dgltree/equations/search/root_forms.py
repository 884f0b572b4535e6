"""Roots of an equation as expressions: candidates that agree with a root to 60 digits, the plainest first."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from math import isfinite

from flint import fmpq

from dgltree.equations.expressions.textbook_order import TextbookOrder
from dgltree.equations.search import written_operations
from dgltree.equations.search.numbers import decimal, multiples, name_angle, name_number
from dgltree.equations.search.textbook_cost import textbook_cost
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.periods import CIRCULAR, PI, Period
from dgltree.equations.truth.proofs.expression import Unsupported, to_text
from dgltree.equations.truth.solutions.exact_roots import tidy
from dgltree.equations.truth.solutions.solutions import Number, Root, Solutions, same, value
from dgltree.read.infix import read_infix
from dgltree.read.notation import number
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MAX_ROOT_NODES = 60
"""Nodes of an expression for a root."""
MOST_FORMS = 8
"""The plainest forms of a root, which are compared with what the equation needs."""


class RootForms:
    """Expressions for the roots of one equation.

    Args:
        solutions: with the roots.
        equation: as it was asked, for the order in which a textbook writes.
        others: expressions that may be roots, among those that are tried.
    """

    def __init__(self, solutions: Solutions, equation: Equation, others: Iterable[Tree] = ()) -> None:
        self._solutions = solutions
        self._order = TextbookOrder(equation)
        nodes = {node.function for side in equation for node in side.distinct()}
        self._has_decimals = "Float" in nodes
        self._is_circular = bool(nodes & CIRCULAR)
        self._pool = [pair for tree in (*others, *self._own()) for pair in _valued(self._order(tree))]

    def _own(self) -> Iterator[Tree]:
        for form in self._solutions.forms:
            try:
                yield read_infix(to_text(tidy(form)))
            except (ValueError, Unsupported, ZeroDivisionError):  # too large to be written, or without a value
                continue

    def of(self, root: Root) -> list[Tree]:
        """The expressions of a root, the plainest first; none if only its digits are known."""
        if isinstance(root.number, fmpq):
            exact = Fraction(int(root.number.p), int(root.number.q))
            written = decimal(float(exact)) if self._has_decimals else None
            return [fraction(exact)] if written is None else [written, fraction(exact)]
        x = float(root)
        trees = [tree for tree, at in self._pool if self._is(root, at)]
        guesses = [*name_number(x), *(name_angle(x) if self._is_circular and isfinite(x) else ())]
        trees += [tree for guess in guesses for tree, at in _valued(self._order(guess)) if self._is(root, at)]
        return sorted(dict.fromkeys(trees), key=textbook_cost)[:MOST_FORMS]

    def plainest(self, root: Root) -> Tree:
        """The plainest expression, or 12 digits."""
        return next(iter(self.of(root)), number(root.decimal))

    def _is(self, root: Root, at: Number) -> bool:
        """Whether a value is a root: one that is rational exactly may be alike, as 1 is next to 1 + e^-2000."""
        others = (other.number for other in self._solutions.roots if other is not root)
        taken = isinstance(at, fmpq) and any(isinstance(q, fmpq) and q == at for q in others)
        return same(root.number, at) and not taken


def write_period(turn: Period) -> Tree:
    """``2*pi``, and ``2*pi/a`` of the period of sin(a*x)"""
    written = fraction(turn.factor)
    if turn.power:
        unit = PI if turn.power == 1 else written_operations.power(PI, fraction(Fraction(turn.power)))
        written = next(multiples(turn.factor, unit))
    return reduce(_divided, turn.letters, written)


def _divided(tree: Tree, factor: Tree) -> Tree:
    """``2*pi/a``, and ``2*pi*a`` where the factor is ``1/a``"""
    exponent = exact(factor.children[1]) if factor.function == "Pow" else None
    if exponent is None or exponent > 0:
        return written_operations.divide(tree, factor)
    base = factor.children[0]
    turned = base if exponent == -1 else written_operations.power(base, fraction(-exponent))
    return written_operations.multiply(tree, turned)


def _valued(tree: Tree) -> Iterator[tuple[Tree, Number]]:
    """An expression of numbers with its value, if that is real."""
    if tree.size > MAX_ROOT_NODES:
        return
    try:
        at = value(tree)
    except Unjudged:
        return
    if at is not None and (isinstance(at, fmpq) or at.is_finite()):
        yield tree, at
