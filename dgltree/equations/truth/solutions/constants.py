"""Numbers that occur in the course of an elimination: balls, each with its expression if that is known."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from flint import arb, ctx, fmpq

from dgltree.equations.truth.proofs.expression import Expression, number
from dgltree.equations.truth.proofs.fractions import Poly, ValueRing
from dgltree.equations.truth.solutions.polynomials import BITS, NARROW, Real, Unsolved

MAX_INTEGER = 10**9
"""Integers up to this size are found in balls."""


class Value(NamedTuple):
    """A real number, and its expression if that is known."""

    ball: Real
    exact: Expression | None


class Constants:
    """Names for numbers, with which they are generators of a ring."""

    def __init__(self) -> None:
        self._balls: dict[str, Real] = {}
        self._exact: dict[str, Expression | None] = {}

    def named(self, value: Value) -> Expression:
        """A constant; an integer within all digits is one."""
        near = value.ball.unique_fmpz() if value.ball.is_finite() and abs(value.ball) < MAX_INTEGER else None
        if near is not None and value.ball.rad() < NARROW:
            return number(int(near))
        name = f"c{len(self._balls)}"
        self._balls[name], self._exact[name] = value
        return (name,)

    def value(self, ring: ValueRing, p: Poly) -> Real:
        """Of a polynomial in constants."""
        with ctx.workprec(BITS):
            return self.number_of(ring.expression(p))

    def number_of(self, t: Expression) -> Real:
        """The value of an expression without x."""
        match t:
            case ("number", q):
                return arb(fmpq(q.numerator, q.denominator))
            case ("pi",):
                return arb.pi()
            case (constant,):
                return self._balls[constant]
            case ("+", a, b):
                return self.number_of(a) + self.number_of(b)
            case ("*", a, b):
                return self.number_of(a) * self.number_of(b)
            case ("^", a, n):
                base = self.number_of(a)
                return base**n if n >= 0 else 1 / base**-n
            case ("root", a, n):
                base = self.number_of(a)
                return -((-base).root(n)) if base < 0 else base.root(n)
            case ("power", a, b):
                return (self.number_of(b) * self.number_of(a).log()).exp()
        if t[0] == "sqrt" and self.number_of(t[1]) < 0:
            raise Unsolved
        value = self.number_of(t[1])
        found = abs(value) if t[0] == "abs" else getattr(value, t[0])()
        if not found.is_finite():
            raise Unsolved
        return found

    def written(self, t: Expression) -> Expression | None:
        """With the expressions of constants in place of their names; None if one has none."""
        if len(t) == 1 and t[0] in self._exact:
            return self._exact[t[0]]
        parts = [self.written(part) if isinstance(part, tuple) else part for part in t[1:]]
        return None if None in parts else (t[0], *parts)

    def matched(self, balls: Sequence[Real], pool: Iterable[Expression]) -> list[Value]:
        """Each number with the first expression that agrees with it."""
        values = []
        for t in pool:
            with suppress(Unsolved, ArithmeticError, ValueError), ctx.workprec(BITS):
                values.append((self.number_of(t), t))
        found = []
        for ball in balls:
            with ctx.workprec(BITS):
                exact = next((t for value, t in values if value.overlaps(ball) and value.rad() < NARROW), None)
            found.append(Value(ball, exact))
        return found
