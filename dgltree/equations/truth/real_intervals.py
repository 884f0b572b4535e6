"""Intervals of real numbers with ends that are floats, infinite ones among them, rounded outwards.

Balls cannot be half a line, and tails of the real line are: that is what these are for.
"""

from collections.abc import Callable
from math import inf, isnan, nextafter
from typing import Any, NamedTuple

from flint import arb, ctx

BITS = 64
MAX_FINITE_END = 1e300
"""Beyond it an end is infinite."""


class RealInterval(NamedTuple):
    """The numbers from ``low`` to ``high``."""

    low: float
    high: float
    nonzero: bool = False
    """Whether 0 is surely not one of the values that it stands for: those of exp are above 0, next to it as well."""

    @property
    def sign(self) -> int:
        """1 or -1 if all values have that sign, else 0."""
        above = self.low > 0 or (self.low == 0 and self.nonzero)
        below = self.high < 0 or (self.high == 0 and self.nonzero)
        return 1 if above else -1 if below else 0

    @property
    def is_nonzero(self) -> bool:
        return self.nonzero or self.low > 0 or self.high < 0


ALL, ZERO, ONE = RealInterval(-inf, inf), RealInterval(0.0, 0.0), RealInterval(1.0, 1.0)


def below(x: float) -> float:
    return x if x in (0, -inf) else nextafter(x, -inf)


def above(x: float) -> float:
    return x if x in (0, inf) else nextafter(x, inf)


def from_ball(value: Any) -> RealInterval:
    """Around a real ball."""
    return RealInterval(below(_float(value.lower(), -inf)), above(_float(value.upper(), inf)))


def _float(end: Any, infinite: float) -> float:
    found = float(end)
    return infinite if isnan(found) or abs(found) > MAX_FINITE_END else found


def add(a: RealInterval, b: RealInterval) -> RealInterval:
    low, high = below(a.low + b.low), above(a.high + b.high)
    return RealInterval(low, high, a.sign * b.sign > 0 or (a.sign * b.sign == 0 and _leans(a, b)))


def _leans(a: RealInterval, b: RealInterval) -> bool:
    """Whether a sum is not 0, as one term is on one side of 0 and the other nowhere on the other side."""
    return any(
        (one.sign > 0 and other.low >= 0) or (one.sign < 0 and other.high <= 0) for one, other in ((a, b), (b, a))
    )


def negate(a: RealInterval) -> RealInterval:
    return RealInterval(-a.high, -a.low, a.nonzero)


def mul(a: RealInterval, b: RealInterval) -> RealInterval:
    ends = [0.0 if 0 in (x, y) else x * y for x in a[:2] for y in b[:2]]
    return RealInterval(below(min(ends)), above(max(ends)), a.is_nonzero and b.is_nonzero)


def reciprocal(a: RealInterval) -> RealInterval | None:
    """None of 0 alone."""
    if a.low == a.high == 0:
        return None
    if a.low < 0 < a.high:
        return ALL._replace(nonzero=True)
    low, high = -inf if a.high == 0 else 1 / a.high, inf if a.low == 0 else 1 / a.low
    return RealInterval(below(low), above(high), True)


def absolute(a: RealInterval) -> RealInterval:
    if a.low >= 0:
        return a
    return negate(a) if a.high <= 0 else RealInterval(0.0, max(-a.low, a.high), a.nonzero)


def whole_power(a: RealInterval, n: int) -> RealInterval | None:
    """None of 0 alone, if the exponent is below 0."""
    if n < 0:
        found = reciprocal(a)
        return None if found is None else whole_power(found, -n)
    if n == 0:
        return ONE
    a = absolute(a) if n % 2 == 0 else a
    low, high = (-inf if n % 2 else 0.0), inf
    return rising(a, lambda x: x**n, low, high)._replace(nonzero=a.is_nonzero)


def rising(a: RealInterval, function: Callable[[Any], Any], at_low: float, at_high: float) -> RealInterval:
    """The values of a rising function, with its limits for infinite ends, or ends at which it is infinite."""
    with ctx.workprec(BITS):
        low, high = (function(arb(end)) if abs(end) < MAX_FINITE_END else None for end in a[:2])
    first = at_low if low is None or not low.is_finite() else below(_float(low.lower(), -inf))
    last = at_high if high is None or not high.is_finite() else above(_float(high.upper(), inf))
    return RealInterval(max(first, at_low), min(last, at_high))


def wave(a: RealInterval, function: Callable[[Any], Any]) -> RealInterval:
    """The values of a sine or a cosine."""
    if a.high - a.low > 6:
        return RealInterval(-1.0, 1.0)
    with ctx.workprec(BITS):
        found = from_ball(function(arb(a.low).union(arb(a.high))))
    return RealInterval(max(found.low, -1.0), min(found.high, 1.0))
