"""The solutions of an equation in one real unknown, and whether these are all, with the reason.

A real number at which a part of a side is not real is no solution; it is extraneous, and the part is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, ctx, fmpq

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.part import End, Part, decimal_end
from dgltree.equations.truth.periods import Period
from dgltree.equations.truth.proofs.expression import (
    Expression,
)
from dgltree.equations.truth.solutions.numbers import Number, NumberOutcome, Put, RealEquation, same
from dgltree.equations.truth.solutions.polynomials import BITS
from dgltree.trees.equation import Equation

DIGITS = 12
"""Of a root that has no form, as ``complete`` prints it."""
LONGEST_SOURCE = 50
"""Characters of a polynomial that is named."""


@dataclass(frozen=True)
class Root:
    """A solution."""

    number: Number
    """A rational number, or a ball of more than 60 digits around it and around no other solution."""
    polynomial: tuple[int, ...] = ()
    """An irreducible polynomial of which it is a root, the constant first; empty if none is known."""

    def __float__(self) -> float:
        q = self.number
        return int(q.p) / int(q.q) if isinstance(q, fmpq) else float(q.mid())

    @property
    def end(self) -> End:
        """As the end of a part."""
        return End(str(self.number), float(self)) if isinstance(self.number, fmpq) else decimal_end(float(self))

    @property
    def source(self) -> str:
        """Of what it is a root: its polynomial, if that is short."""
        text = "" if len(self.polynomial) < 4 else polynomial_text(self.polynomial)
        return text if 0 < len(text) <= LONGEST_SOURCE else "the equation"

    @property
    def decimal(self) -> str:
        """12 digits."""
        with ctx.workprec(BITS):
            text = str(arb(self.number).str(DIGITS, radius=False))
        return text.rstrip("0").removesuffix(".") if "." in text and "e" not in text else text


@dataclass(frozen=True)
class Extraneous:
    """A number that solves the equation by its rules, but at which a part has no real value."""

    number: Number
    reason: str


@dataclass(frozen=True)
class Solutions:
    """The solutions of an equation in one unknown, as far as they are known."""

    equation: Equation
    name: str
    """Of the unknown."""
    roots: tuple[Root, ...] = ()
    """Single numbers, in order; of a periodic equation those from -period/2, which is left out, to period/2."""
    intervals: Part = ()
    """Where every number is a solution."""
    reason: str = ""
    """Why there are no others; empty if there may be some."""
    period: Period | None = None
    extraneous: tuple[Extraneous, ...] = ()
    forms: tuple[Expression, ...] = ()
    """Exact expressions of numbers, some of which may be roots."""
    is_proved: bool = True
    """Whether of each number that is extraneous it is shown that a part has no value; else it has none to 60 digits."""
    polynomials: tuple[tuple[int, ...], ...] = ()
    """If it is one of polynomials: those irreducible ones whose roots are the solutions, complex ones, too."""

    @property
    def are_all(self) -> bool:
        return bool(self.reason)

    @property
    def are_none(self) -> bool:
        """Whether it is shown that there is no real solution."""
        return self.are_all and not self.roots and not self.intervals

    @property
    def none(self) -> str:
        """The sentence that there is no real solution, if that is shown."""
        return f"there is no real solution ({'proved' if self.is_proved else 'to 60 digits'})" if self.are_none else ""

    def put(self, number: Number) -> Put:
        """Whether a real number is a solution."""
        return Put(NumberOutcome.OPEN) if self._real is None else self._real.put(number)

    def root_at(self, number: Number) -> Root | None:
        """The root that a number is, to 60 digits; of a periodic equation also if it is some periods from one."""
        return next((root for root in self.roots if same(root.number, self.reduced(number))), None)

    def reduced(self, number: Number) -> Number:
        """The number within the period."""
        return number if self.period is None else reduce_to_period(number, self.period)

    @cached_property
    def _real(self) -> RealEquation | None:
        try:
            return RealEquation(self.equation, self.name)
        except Unjudged:
            return None


def polynomial_text(coefficients: Sequence[int], name: str = "x") -> str:
    """``x^3 - 3*x + 1`` of the coefficients 1, -3, 0, 1."""
    text = ""
    for k, c in reversed(list(enumerate(coefficients))):
        if c:
            power = "" if not k else name if k == 1 else f"{name}^{k}"
            size = f"{abs(c)}{'*' * bool(power)}" if abs(c) != 1 or not power else ""
            text += f"{' - ' if c < 0 else ' + '}{size}{power}" if text else f"{'-' * (c < 0)}{size}{power}"
    return text


def reduce_to_period(number: Number, turn: Period) -> Number:
    """The number, multiples of the period being subtracted, from -period/2, which is left out, to period/2."""
    with ctx.workprec(BITS):
        length, x = length_of(turn), arb(number)
        k = round(float((x / length).mid()))
        reduced = x - k * length if k else number
        beyond = arb(reduced) + length / 2
        return arb(reduced) + length if beyond < arb(2) ** -200 else reduced


def length_of(turn: Period) -> Any:
    with ctx.workprec(BITS):
        return arb(fmpq(turn.factor.numerator, turn.factor.denominator)) * arb.pi() ** turn.power
