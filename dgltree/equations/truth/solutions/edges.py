"""Zeros of an expression next to a rational end of its domain, where a root is steep and a logarithm has no bound."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from flint import arb, fmpq

from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.enclosure import Range, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    NEGATIVE,
    POSITIVE,
    Condition,
    Expression,
    Unsupported,
    X,
    derivative,
    domain,
    number,
)
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.place import to_fmpq
from dgltree.equations.truth.real_roots import Bracket, sign_at
from dgltree.equations.truth.solutions.derivatives import is_zero

NEAREST = 9
"""The number 2^-(2^k) from an end, for k up to this, is where a sign is looked at."""


class Side(NamedTuple):
    """The zeros on one side of an end: there is none, or the one in a bracket."""

    brackets: list[Bracket]


def edge_within(low: float, high: float, conditions: Sequence[Condition]) -> Fraction | None:
    """The plainest rational number between two, if a condition of the domain is an equation there."""
    r = _plainest(Fraction(low), Fraction(high))
    return r if any(is_zero(t, to_fmpq(r)) for t, _ in conditions) else None


def zeros_beside(t: Expression, program: Program, name: str, r: Fraction, end: float) -> Side | None:
    """The zeros of an expression between an end of its domain and a number; None if they are not known.

    It is shown that the expression rises or falls on the whole side, the end not included. Near the end it may have no
    bound, so signs are looked at ever nearer to it.
    """
    way = 1 if end > r else -1
    slope = _slope(t, r, abs(Fraction(end) - r), way)
    if slope is None:
        return Side([]) if _is_outside(t, r, abs(Fraction(end) - r), way) else None
    far, edge = fmpq(*end.as_integer_ratio()), to_fmpq(r)
    sign = sign_at(program, name, far)
    if not sign:
        return None
    if slope * sign < 0:  # towards the end it goes away from 0
        return Side([])
    at_edge = sign_at(program, name, edge)
    if at_edge == sign:
        return Side([])
    for near in _nearer(edge, way):
        if sign_at(program, name, near) == -sign:
            return Side([(near, far) if way > 0 else (far, near)])
    return None


def _nearer(edge: fmpq, way: int) -> Iterator[fmpq]:
    for k in range(4, NEAREST + 1):
        yield edge + way * fmpq(1, 2 ** (2**k))


def _slope(t: Expression, r: Fraction, width: Fraction, way: int) -> int | None:
    """1 or -1 if an expression of the distance from r rises or falls from there on, up to a width; else None."""
    place = Range(arb(0), arb(to_fmpq(width)).upper(), True)
    with suppress(Unsupported, Refused):
        of_distance = _moved(t, r, way)
        slope = _simple(derivative(of_distance))
        conditions = (*domain(of_distance), *domain(slope))
        if all(signs_by_balls(_simple(u), place) <= signs for u, signs in conditions):
            return {POSITIVE: 1, NEGATIVE: -1}.get(signs_by_balls(slope, place))
    return None


def _is_outside(t: Expression, r: Fraction, width: Fraction, way: int) -> bool:
    """Whether a part has no real value on the whole side."""
    place = Range(arb(0), arb(to_fmpq(width)).upper(), True)
    with suppress(Unsupported, Refused):
        return any(not signs_by_balls(_simple(u), place) & signs for u, signs in domain(_moved(t, r, way)))
    return False


def _moved(t: Expression, r: Fraction, way: int) -> Expression:
    """With r + x, or r - x, for x."""
    if t == X:
        return ("+", ("*", number(way), X), number(r))
    return (t[0], *(_moved(part, r, way) if isinstance(part, tuple) else part for part in t[1:]))


def _simple(t: Expression) -> Expression:
    """Multiplied out at every level, so that x - 1 at 1 + x is x."""
    t = (t[0], *(_simple(part) if isinstance(part, tuple) else part for part in t[1:]))
    if t[0] not in ("+", "*", "^"):
        return t
    ring = ValueRing()
    top, bottom = ring.quotient(t)
    return ring.expression(top / bottom.leading_coefficient()) if bottom.is_constant() else t


def _plainest(low: Fraction, high: Fraction) -> Fraction:
    """The number with the smallest denominator between two (by continued fractions)."""
    floor = low.numerator // low.denominator
    if floor == low:
        return low
    if floor + 1 <= high:
        return Fraction(floor + 1)
    return floor + 1 / _plainest(1 / (high - floor), 1 / (low - floor))
