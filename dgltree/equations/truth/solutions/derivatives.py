"""Zeros of an expression by its derivatives: Taylor's theorem on an interval and on a tail."""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from math import inf

from flint import arb, fmpq

from dgltree.equations.truth.proofs.enclosure import Range, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    NEGATIVE,
    POSITIVE,
    Expression,
    Unsupported,
    derivative,
    domain,
    subexpressions,
)
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.place import values_at

HIGHEST_DERIVATIVE, FARTHEST, HALVINGS = 6, 100.0, 2
"""Derivatives that are looked at, from where on none are, and how often a tail is halved for their signs."""
CACHED, MAX_PARTS = 256, 200
"""Derivatives that are remembered, and parts of an expression whose derivatives are looked at."""


def span(low: float, high: float) -> Range:
    """All numbers from one to another, which may be infinite."""
    return Range(arb(low), arb(high), low > 0 or high < 0)


def is_only_zero(t: Expression, r: fmpq, low: float, high: float) -> bool:
    """Whether r is the only zero in an interval: t(x) = t^(n)(y)*(x - r)^n/n! for a y in between (Taylor)."""
    place = span(low, high)
    try:
        for _ in range(HIGHEST_DERIVATIVE):
            if _size(t) > MAX_PARTS or not is_zero(t, r):
                return False
            t = simple_derivative(t)
            if any(not signs_by_balls(u, place) <= signs for u, signs in domain(t)):
                return False
            if signs_by_balls(t, place) in (POSITIVE, NEGATIVE):
                return True
    except (Unsupported, Refused):
        return False
    return False


def is_zero(t: Expression, r: fmpq) -> bool:
    values = values_at(t, r)
    return bool(values.low == values.high == 0)


def goes_away_from_0(t: Expression, end: float, way: int) -> bool:
    """Whether an expression and its first derivatives have one sign at a number, and the next one from there on.

    By Taylor's theorem the expression has that sign from there on, too; to the left signs alternate.
    """
    if abs(end) > FARTHEST:
        return False
    number = fmpq(*end.as_integer_ratio())
    beyond = span(end, inf) if way > 0 else span(-inf, end)
    outwards = None
    try:
        for n in range(HIGHEST_DERIVATIVE + 1):
            if _size(t) > MAX_PARTS:  # each derivative of a power that is not multiplied out is several times as large
                return False
            if any(not signs_by_balls(u, beyond, HALVINGS) <= signs for u, signs in domain(t)):
                return False
            if outwards is not None and _turned(signs_by_balls(t, beyond, HALVINGS), way, n) <= {0, outwards}:
                return True
            [sign, *others] = _turned(values_at(t, number).signs, way, n)
            if others or not sign or outwards not in (None, sign):
                return False
            outwards, t = sign, simple_derivative(t)
    except (Unsupported, Refused):
        return False
    return False


def _size(t: Expression) -> int:
    return sum(1 for _ in subexpressions(t))


@lru_cache(maxsize=CACHED)
def simple_derivative(t: Expression) -> Expression:
    """Multiplied out, if it is a polynomial in x and functions."""
    slope, ring = derivative(t), ValueRing()
    with suppress(Refused):
        top, bottom = ring.quotient(slope)
        if bottom.is_constant():
            return ring.expression(top / bottom.leading_coefficient())
    return slope


def _turned(signs: Iterable[int], way: int, n: int) -> set[int]:
    """Those of the n-th derivative, in a direction."""
    return {sign * way**n for sign in signs}
