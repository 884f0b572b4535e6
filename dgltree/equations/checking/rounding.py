"""The numbers that decimals round: 1/3 of 0.333."""

from flint import fmpq

from dgltree.equations.truth.balls import Ball, Unjudged, ball
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.program import Program
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

BITS = 256
"""Of a value before it is rounded."""
UNITS = (1, 2, 3, 5, 7, 11, 13)
"""Sizes of base units at which two quantities are divided: if the quotient is a number, it is the same at all."""


def number_of(value: Tree) -> Ball | None:
    """A number without variables, exact if it is rational; None of any other tree."""
    fraction = exact_value(value)
    if fraction is not None:
        return fmpq(fraction.numerator, fraction.denominator)
    try:
        program = Program(Equation(value, value), school=True)
    except Unjudged:
        return None
    return None if program.variables else program.at({}, BITS)[0]


def number_in_units(value: Tree, unit: Tree) -> Ball | None:
    """The number of a quantity in a unit, both in base units as variables; None if its unit is another one."""
    quotient = Tree("Mul", (value, Tree("Pow", (unit, Tree("NegativeOne", token="-1")))))
    try:
        program = Program(Equation(quotient, quotient), school=True)
    except Unjudged:
        return None
    ones, others = (
        program.at({name: fmpq(one(k)) for k, name in enumerate(program.variables)}, BITS)[0]
        for one in (lambda k: 1, lambda k: UNITS[1 + k % (len(UNITS) - 1)])
    )
    if ones is None or others is None:
        return None
    if isinstance(ones, fmpq) and isinstance(others, fmpq):
        return ones if ones == others else None
    return ones if ball(ones).overlaps(ball(others)) else None
