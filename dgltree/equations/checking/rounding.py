"""Decimals that are a value rounded to their digits: 0.333 for 1/3."""

from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from dgltree.equations.truth.balls import Unjudged, ball
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.program import Program
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

BITS = 256


def rounds(decimal: Tree, value: Tree) -> bool:
    """Whether a decimal is a real number without variables, off by half a unit of its last place at most."""
    try:
        program = Program(Equation(value, value), school=True)
    except Unjudged:
        return False
    found = None if program.variables else program.at({}, BITS)[0]
    return found is not None and _is_near(decimal, ball(found))


def rounds_number(decimal: Tree, number: Any) -> bool:
    """The same of an ``arb`` or an ``fmpq``."""
    with ctx.workprec(BITS):
        return _is_near(decimal, arb(number))


def _is_near(decimal: Tree, number: Any) -> bool:
    given = exact(decimal)
    if given is None or decimal.function != "Float" or "e" in (decimal.token or "").lower():
        return False
    half = Fraction(1, 2 * 10 ** len((decimal.token or "").partition(".")[2]))
    with ctx.workprec(BITS):
        off = abs(number - fmpq(given.numerator, given.denominator))
        return bool(off <= fmpq(half.numerator, half.denominator))
