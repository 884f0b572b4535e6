"""Intervals around the values of an expression, by balls of Arb; their ends may be infinite.

Arb alone would not do: ``(-inf)^3`` is NaN there, and ``inf.upper()`` is no longer infinite.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from flint import arb, fmpq

from dgltree.equations.truth.proofs.expression import (
    ANY,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    Expression,
    Signs,
)
from dgltree.equations.truth.proofs.work import spend

INFINITY = arb("inf")
DEPTH = 6
"""Times that an interval is halved."""


class Range(NamedTuple):
    """An interval from ``low`` to ``high``, numbers without a radius."""

    low: Any
    high: Any
    nonzero: bool
    """Whether 0 is surely none of the values: exp is above 0, next to it as well."""

    @property
    def signs(self) -> Signs:
        """The signs that the values may have. What is not ``low <= high`` is not a number: comparisons are false."""
        if not self.low <= self.high:
            return ANY
        below = self.low < 0
        above = self.high > 0
        there = [s for s, has in ((-1, below), (0, self._has_zero), (1, above)) if has]
        return frozenset(there) or ANY

    @property
    def _has_zero(self) -> bool:
        return bool(self.low <= 0 <= self.high) and not self.nonzero


EVERYTHING = Range(-INFINITY, INFINITY, False)


def around(q: fmpq) -> Range:
    value = arb(q)
    return Range(value.lower(), value.upper(), q != 0)


def down(v: Any) -> Any:
    if v.is_finite():
        return v.lower()
    return v if v == INFINITY else -INFINITY


def up(v: Any) -> Any:
    if v.is_finite():
        return v.upper()
    return v if v == -INFINITY else INFINITY


def least(values: Iterable[Any]) -> Any:
    smallest = INFINITY
    for v in values:
        smallest = v if v < smallest else smallest
    return smallest


def largest(values: Iterable[Any]) -> Any:
    return -least(-v for v in values)


def signs_by_balls(t: Expression, x: Range, depth: int = DEPTH) -> Signs:
    """Return the signs of an expression for x in an interval, which is halved until they are clear."""
    there = enclosure(t, x).signs
    if len(there) == 1 or depth == 0 or there in (NOT_NEGATIVE, NOT_POSITIVE):
        return there
    low, high, _ = x
    if high == INFINITY:
        middle = largest([2 * low, arb(1)])
    elif low == -INFINITY:
        middle = least([2 * high, arb(-1)])
    else:
        middle = ((low + high) / 2).mid()
    if not low < middle < high:
        return there
    left = signs_by_balls(t, Range(low, middle, bool(x.nonzero or middle < 0)), depth - 1)
    if left == ANY:
        return left
    return left | signs_by_balls(t, Range(middle, high, bool(x.nonzero or middle > 0)), depth - 1)


def enclosure(t: Expression, x: Range, known: dict[int, Range] | None = None) -> Range:
    """Around the values of an expression where it has one.

    Args:
        known: of parts that are the same object; a derivative of a tower of powers has each part many times.
    """
    known = {} if known is None else known
    values = known.get(id(t))
    if values is None:
        spend(1)
        values = _enclosure(t, x, known)
        if not values.low <= values.high:  # not a number: inf - inf
            values = EVERYTHING
        known[id(t)] = values
    return values


def _enclosure(t: Expression, x: Range, known: dict[int, Range]) -> Range:
    match t:
        case ("x",):
            return x
        case (variable,) if variable != "pi":
            return EVERYTHING
        case ("pi",):
            return Range(arb.pi().lower(), arb.pi().upper(), True)
        case ("number", q):
            return around(fmpq(q.numerator, q.denominator))
        case ("+", a, b):
            return _sum(enclosure(a, x, known), enclosure(b, x, known))
        case ("*", a, b):
            return _product(enclosure(a, x, known), enclosure(b, x, known))
        case ("^", a, n):
            return _power(enclosure(a, x, known), n)
        case ("root", a, n):
            return _root(enclosure(a, x, known), n)
        case ("power", a, b):
            logarithm = _function("log", enclosure(a, x, known))
            return _function("exp", _product(enclosure(b, x, known), logarithm))
    return _function(t[0], enclosure(t[1], x, known))


def _sum(a: Range, b: Range) -> Range:
    same = bool((a.low >= 0 and b.low >= 0) or (a.high <= 0 and b.high <= 0))
    return Range(down(a.low + b.low), up(a.high + b.high), same and (a.nonzero or b.nonzero))


def _product(a: Range, b: Range) -> Range:
    if a.low >= 0 and b.low >= 0 and a.high < INFINITY and b.high < INFINITY:
        return Range(down(a.low * b.low), up(a.high * b.high), a.nonzero and b.nonzero)
    ends = [arb(0) if u == 0 or v == 0 else u * v for u in a[:2] for v in b[:2]]
    if any(end.is_nan() for end in ends):
        return EVERYTHING
    return Range(least(map(down, ends)), largest(map(up, ends)), a.nonzero and b.nonzero)


def _size(a: Range) -> Range:
    if a.low >= 0:
        return a
    return Range(-a.high, -a.low, a.nonzero) if a.high <= 0 else Range(arb(0), largest([-a.low, a.high]), a.nonzero)


def _power(a: Range, n: int) -> Range:
    if n == 0:
        return Range(arb(1), arb(1), True)
    base = _size(a) if n % 2 == 0 else a
    low, high = (end if abs(end) == INFINITY else end ** abs(n) for end in base[:2])
    low = down(low)
    high = up(high)
    if n > 0:
        return Range(low, high, a.nonzero)
    if low >= 0:
        return Range(down(1 / high) if high > 0 else arb(0), up(1 / low) if low > 0 else INFINITY, True)
    if high <= 0:
        return Range(down(1 / high) if high < 0 else -INFINITY, up(1 / low), True)
    return Range(-INFINITY, INFINITY, True)


def _root(a: Range, n: int) -> Range:
    def root(v: Any) -> Any:
        if abs(v) == INFINITY or v == 0:
            return v
        return v.root(n) if v > 0 else -((-v).root(n))

    return Range(down(root(a.low)), up(root(a.high)), a.nonzero)


def _function(name: str, argument: Range) -> Range:
    a, b, nonzero = argument
    match name:
        case "abs":
            return _size(argument)
        case "exp":
            return Range(arb(0) if a == -INFINITY else down(a.exp()), INFINITY if b == INFINITY else up(b.exp()), True)
        case "log":
            return Range(
                down(a.log()) if a > 0 else -INFINITY, INFINITY if b == INFINITY or b <= 0 else up(b.log()), False
            )
        case "sqrt":
            return Range(
                down(a.sqrt()) if a > 0 else arb(0), INFINITY if b == INFINITY or b < 0 else up(b.sqrt()), nonzero
            )
        case "sin" | "cos":
            finite = abs(a) < INFINITY and abs(b) < INFINITY
            v = getattr(a.union(b), name)() if finite else arb(0, 1)
            return Range(largest([down(v), arb(-1)]), least([up(v), arb(1)]), False)
        case "atan":
            half = up(arb.pi() / 2)
            return Range(-half if a == -INFINITY else down(a.atan()), half if b == INFINITY else up(b.atan()), nonzero)
        case "tanh":
            return Range(
                arb(-1) if a == -INFINITY else down(a.tanh()), arb(1) if b == INFINITY else up(b.tanh()), nonzero
            )
        case "asinh":
            return Range(a if a == -INFINITY else down(a.asinh()), b if b == INFINITY else up(b.asinh()), nonzero)
        case "acosh":
            low, high = (arb(0) if v <= 1 else v if v == INFINITY else v.acosh() for v in (a, b))
            return Range(down(low), up(high), False)
    a = largest([a, arb(-1)])
    b = least([b, arb(1)])
    if not a <= b:  # it has no value
        return EVERYTHING
    return (
        Range(down(a.asin()), up(b.asin()), nonzero) if name == "asin" else Range(down(b.acos()), up(a.acos()), False)
    )
