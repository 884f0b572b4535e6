"""Constants that are rational numbers in other words: sqrt(4), 2*pi/pi, 3 + sin(pi)."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import ctx, fmpq

from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.balls import Unjudged, ball
from dgltree.equations.truth.compare import PointOutcome, compare
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proof import prove
from dgltree.equations.truth.rational_functions import NoValue
from dgltree.equations.truth.region import Region
from dgltree.read.notation import number
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

BITS = 320
LARGEST = 10**9
"""Of the numerator and the denominator of a number that a constant is compared with."""
CACHED = 1024
"""Constants whose numbers are kept: those of one equation come again in the next."""


def plain_constants(equation: Equation) -> Equation:
    """The equation, if it has a name, with a number for each largest part without a name that is proved to be rational.

    Exponents, bounds of a domain and signs are then those of the number: x^sqrt(4) is x^2 at negative x, too.
    """
    if not variables(*equation):
        return equation
    return Equation(*map(_plain, equation))


def _plain(tree: Tree) -> Tree:
    def combine(node: Tree, parts: list[tuple[Tree, bool]]) -> tuple[Tree, bool]:
        if not parts:
            return node, node.function != "Symbol"
        if all(is_constant for _, is_constant in parts):
            return node, True
        return node.replace(children=[_number(part) if is_constant else part for part, is_constant in parts]), False

    found, is_constant = tree.fold(combine)
    return _number(found) if is_constant else found


@lru_cache(maxsize=CACHED)
def _number(tree: Tree) -> Tree:
    """The number that a constant is; else the constant, with numbers for parts of it."""
    if not tree.children or exact_value(tree) is not None:
        return tree
    plain = _proved_number(tree)
    return tree.replace(children=[_number(child) for child in tree.children]) if plain is None else plain


def _proved_number(tree: Tree) -> Tree | None:
    """The number that a constant is by real and by principal values."""
    try:
        value = Program(Equation(tree, tree), school=True).at({}, BITS)[0]
    except Unjudged:
        return None
    near = None if value is None else _near(ball(value))
    if near is None:
        return None
    plain = number(str(near))
    same = Equation(tree, plain)
    agree = all(  # what is blurred, such as a sum with sin(pi), a proof decides
        compare(Program(same, school), {}, kind).outcome in (PointOutcome.AGREE, PointOutcome.BLURRED)
        for school, kind in ((True, "real"), (False, "complex"))
    )
    try:
        return plain if agree and prove(same, [], Region("complex")) else None
    except NoValue:
        return None


def _near(value: Any) -> Fraction | None:
    """The rational number of few digits in a ball; None if there is none, or it is not real."""
    size = abs(value.real)
    if not value.is_finite() or not value.imag.contains(0) or not size < LARGEST:
        return None
    if size.contains(0):
        return Fraction(0)
    if not size * LARGEST > 1:
        return None
    middle = value.real.mid().fmpq()
    found = Fraction(int(middle.p), int(middle.q)).limit_denominator(LARGEST)
    with ctx.workprec(BITS):
        return found if value.real.contains(fmpq(found.numerator, found.denominator)) else None
