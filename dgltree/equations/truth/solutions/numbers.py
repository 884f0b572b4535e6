"""Real numbers put into an equation: whether they solve it, or which part has no real value there."""

import enum
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, Unjudged, ball, is_real, snap
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.solutions.polynomials import BITS
from dgltree.read.infix_writer import write_infix
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

SAME = arb(2) ** -200
"""Difference, as a share, below which numbers are the same: they agree to 60 digits."""
Number = Any
"""An ``arb`` around a number, or an ``fmpq``."""


class NumberOutcome(enum.Enum):
    """Of a number in an equation."""

    SOLVES = "solves"
    """Both sides are real, and agree to 60 digits; of a rational number they may be equal exactly."""
    NOT_REAL = "not real"
    """A part has no real value."""
    DIFFERS = "differs"
    OPEN = "open"


class Put(NamedTuple):
    """A number in an equation."""

    outcome: NumberOutcome
    part: Tree | None = None
    """The first part without a real value."""
    is_proved: bool = True
    """Whether it is exact, or balls show it; else it is so to 60 digits."""

    @property
    def reason(self) -> str:
        """Why the number is no solution, if a part is not real."""
        if self.part is None:
            return "a side has no real value there"
        exponent = exact(self.part.children[1]) if self.part.function == "Pow" else None
        if exponent is not None and exponent < 0 and exponent.denominator == 1:
            return f"the denominator {write_infix(self.part.children[0])} is 0 there"
        return f"{write_infix(self.part)} has no real value there"


class RealEquation:
    """An equation in one real variable, at numbers.

    Args:
        name: of the variable.

    Raises ``Unjudged`` for an equation that is too large or has a function without values.
    """

    def __init__(self, equation: Equation, name: str) -> None:
        self.equation, self.name = equation, name
        self._program = Program(equation, school=True)
        self._parts: list[tuple[Tree, Program]] | None = None

    def put(self, number: Number) -> Put:
        """A number in both sides.

        If balls leave it open, parts that are an integer to 2^-250 count as that: a pole, the end of a domain.
        """
        point = {self.name: number if isinstance(number, fmpq) else acb(number)}
        found = self._compared(point, *self._program.at(point, BITS))
        if found.outcome is NumberOutcome.OPEN:
            found = self._compared(point, *self._program.at(point, BITS, snap))._replace(is_proved=False)
        return found

    def _compared(self, point: dict[str, Ball], left: Ball, right: Ball) -> Put:
        if left is None or right is None:
            return Put(NumberOutcome.NOT_REAL, self._first_without_value(point))
        if isinstance(left, fmpq) and isinstance(right, fmpq):
            return Put(NumberOutcome.SOLVES if left == right else NumberOutcome.DIFFERS)
        with ctx.workprec(BITS):
            if not (ball(left).is_finite() and ball(right).is_finite()):
                part = self._first_without_value(point)
                return Put(NumberOutcome.OPEN if part is None else NumberOutcome.NOT_REAL, part, False)
            difference = ball(left) - ball(right)
            if not difference.contains(0):
                return Put(NumberOutcome.DIFFERS)
            if not (difference.imag.is_zero() and ball(left).imag.is_zero()):
                return Put(NumberOutcome.OPEN)
            size = abs(ball(left)).abs_upper() + abs(ball(right)).abs_upper() + 1
            is_small = abs(difference).abs_upper() < SAME * size
            return Put(NumberOutcome.SOLVES if is_small else NumberOutcome.OPEN, None, False)

    def _first_without_value(self, point: dict[str, Ball]) -> Tree | None:
        if self._parts is None:
            parts = dict.fromkeys(node for side in self.equation for node in side.distinct() if node.children)
            self._parts = [(part, Program(Equation(part, part), school=True)) for part in parts]
        for part, program in self._parts:
            found = program.at(point, BITS, snap)[0] if self.name in program.variables else fmpq(0)
            if found is None or _is_pole(part, found):
                return part
        return None


def _is_pole(part: Tree, value: Ball) -> bool:
    """Whether a circular function is too large for all digits: the number is a pole to 60 digits."""
    return part.function in ("tan", "cot", "sec", "csc") and not isinstance(value, fmpq) and not value.is_finite()


def value(tree: Tree) -> Number | None:
    """The real value of an expression of numbers; None if it has none. Raises ``Unjudged``."""
    program = Program(Equation(tree, tree), school=True)
    if program.variables:
        raise Unjudged("it has a variable")
    found = program.at({}, BITS, snap)[0]
    if found is None or isinstance(found, fmpq):
        return found
    return found.real if is_real(found) else None


def same(a: Number, b: Number) -> bool:
    """Whether two numbers agree to 60 digits."""
    with ctx.workprec(BITS):
        first, second = arb(a), arb(b)
        return bool(abs(first - second).abs_upper() < SAME * (1 + abs(first).abs_upper()))
