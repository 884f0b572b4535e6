"""Decimals that are a value rounded to their digits: 0.333 for 1/3."""

from fractions import Fraction

from flint import ctx, fmpq

from dgltree.equations.truth.balls import Unjudged, ball
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.program import Program
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

BITS = 256


def rounds(decimal: Tree, value: Tree) -> bool:
    """Whether a decimal is a real number without variables, off by half a unit of its last place at most."""
    given = exact(decimal)
    if given is None or decimal.function != "Float" or "e" in (decimal.token or "").lower():
        return False
    half = Fraction(1, 2 * 10 ** len((decimal.token or "").partition(".")[2]))
    try:
        program = Program(Equation(value, value), school=True)
    except Unjudged:
        return False
    found = None if program.variables else program.at({}, BITS)[0]
    if found is None:
        return False
    with ctx.workprec(BITS):
        off = abs(ball(found) - fmpq(given.numerator, given.denominator))
        return bool(off <= fmpq(half.numerator, half.denominator))
