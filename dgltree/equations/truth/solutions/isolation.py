"""All real zeros of an expression in one variable are isolated, with a proof that there are no others.

The line is cut until in each interval the expression is not 0, or rises or falls all the way, so that its signs at
the ends tell whether it has its one root there (Moore, Kearfott and Cloud, Introduction to Interval Analysis, 2009,
section 8.2). If that fails, Taylor's theorem decides next to a zero that is known and on a tail, and the slope next
to a rational end of the domain, where a root is steep and a logarithm has no bound.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, Range, enclosure, signs_by_balls
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
    parts_of,
    subexpressions,
)
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.place import to_fmpq, values_at

EVEN_BOUND, FARTHEST_CUT = 16.0, 1e15
"""Up to where the line is cut evenly, and from where on nothing is cut any more."""
PIECES = 64
"""First parts between the even bounds, each half a unit wide; what is not decided in one is cut again."""
NARROW = 1e-4
"""Width of an interval that is cut no further."""
WORK, MAX_PARTS = 1500, 120
"""Intervals that are looked at, and parts of an expression and its slope from which on these are fewer."""
ASIDE = 1 / 9973
"""Distance of the first ends from the numbers at which roots often are."""
EITHER_SIGN: Expression = ("sin", ("any",))
"""A factor whose enclosure is from -1 to 1."""
Bracket = tuple[fmpq, fmpq]


class OpenInterval(NamedTuple):
    """An interval in which there may be roots."""

    low: float
    high: float
    least: float
    """Where the expression is least."""


class Isolation(NamedTuple):
    """The roots that were found, each between two numbers at which the expression has opposite signs."""

    brackets: list[Bracket]
    doubtful: list[OpenInterval]
    whole: bool
    """Whether there are surely no others, except for doubtful ones."""


class _Cell(NamedTuple):
    low: float
    high: float

    @property
    def range(self) -> Range:
        return span(self.low, self.high)


class Isolating:
    """Isolates the real zeros of an expression; with a period those of one period around 0.

    Args:
        t: the expression, with any of ``ENCLOSED``.
        alike: one with the same zeros, for its derivatives.
        program: of the equation that it is 0.
        name: the variable.
        within: the period.
        conditions: of real values; where one fails the zeros are not looked for.
        flat: intervals whose zeros are known.
    """

    def __init__(
        self,
        t: Expression,
        alike: Expression,
        program: Program,
        name: str,
        within: float | None = None,
        conditions: Sequence[Condition] = (),
        flat: Sequence[tuple[float, float]] = (),
    ) -> None:
        self.t = t
        self.alike = alike
        self.program = program
        self.name = name
        self.within = within
        self.flat = flat
        self.loose = loose(t)
        self.conditions = tuple(dict.fromkeys((*loose_domain(t), *conditions)))
        self.inside = _open(domain(t))
        self.slope = _slope(t)
        self.work = WORK * MAX_PARTS // max(MAX_PARTS, _count_parts(t, self.slope))
        self.brackets: list[Bracket] = []
        self.narrow: list[_Cell] = []

    def run(self) -> Isolation:
        half = EVEN_BOUND if self.within is None else self.within / 2
        cuts = [half * (2 * k / PIECES - 1 + ASIDE) for k in range(PIECES + 1)]
        tails: list[list[_Cell] | None] = []
        if self.within is None:
            tails = [self._tail(_Cell(-inf, cuts[0])), self._tail(_Cell(cuts[-1], inf))]
        cells = [_Cell(low, high) for low, high in pairwise(cuts)]
        cells += [cell for tail in tails for cell in tail or []]
        for cell in cells:
            self._resolve(cell)
        brackets = sorted(self.brackets, key=_middle)
        return Isolation(brackets, self._doubtful(), None not in tails and self.work >= 0)

    def _tail(self, tail: _Cell) -> list[_Cell] | None:
        """The intervals of a tail that are still to be looked at; None if it may have roots however far out."""
        cells: list[_Cell] = []
        while not self._is_free(tail):
            cut = 4 * (tail.low if tail.high == inf else tail.high)
            if abs(cut) > FARTHEST_CUT:
                return None
            cells.append(tail._replace(high=cut) if tail.high == inf else tail._replace(low=cut))
            tail = tail._replace(low=cut) if tail.high == inf else tail._replace(high=cut)
        return cells

    def _is_free(self, tail: _Cell) -> bool:
        """Whether there is surely no root: from its end on the difference goes away from 0."""
        if self._is_settled(tail):
            return True
        end, way = (tail.low, 1) if tail.high == inf else (tail.high, -1)
        outwards = way * self._direction(tail.range)
        return (outwards != 0 and self._sign(end) == outwards) or goes_away_from_0(self.alike, end, way)

    def _is_settled(self, cell: _Cell) -> bool:
        """Whether there is surely no zero in an interval that is one of the equation, or all are known."""
        return self._is_nonzero(cell.range) or any(a <= cell.low and cell.high <= b for a, b in self.flat)

    def _is_nonzero(self, x: Range) -> bool:
        return (
            0 not in enclosure(self.loose, x).signs
            or (self.loose != self.t and _hold(self.inside, x) and 0 not in enclosure(self.t, x).signs)
            or any(not enclosure(u, x).signs & signs for u, signs in self.conditions)
        )

    def _direction(self, x: Range) -> int:
        """1 or -1 if the expression has a value all over an interval and rises or falls all the way; else 0.

        All functions here are continuous where they have a value. A corner or a vertical tangent, at which the slope
        has none, is isolated if its enclosure has one sign around it; the expression rises or falls there as well.
        """
        if self.slope is None:
            return 0
        signs = enclosure(self.slope, x).signs
        if signs not in (POSITIVE, NEGATIVE) or not _hold(self.inside, x):
            return 0
        return 1 if signs == POSITIVE else -1

    def _resolve(self, cell: _Cell) -> None:
        """Keep the roots of an interval, and where there may be some."""
        waiting = [cell]
        while waiting and self.work >= 0:
            cell = waiting.pop()
            self.work -= 1
            if self._is_settled(cell):
                continue
            if self._direction(cell.range):
                signs = self._sign(cell.low), self._sign(cell.high)
                if 0 not in signs:
                    if signs[0] != signs[1]:
                        self.brackets.append((_exactly(cell.low), _exactly(cell.high)))
                    continue
            middle = (cell.low + cell.high) / 2
            if cell.high - cell.low >= NARROW * max(1.0, abs(middle)):
                waiting += [cell._replace(low=middle), cell._replace(high=middle)]
            elif not (cell.low < 0 < cell.high and self._is_free_beside_0(cell)):
                self.narrow.append(cell)

    def _is_free_beside_0(self, cell: _Cell) -> bool:
        """Whether there is no root on either side of 0, where x*log(x) cannot be distinguished from its opposite."""
        sides = Range(arb(cell.low), arb(0), True), Range(arb(0), arb(cell.high), True)
        return all(self._is_nonzero(side) for side in sides) and not may_be_0(self.program, self.name, fmpq(0))

    def _doubtful(self) -> list[OpenInterval]:
        """Return intervals that are next to each other as one."""
        runs: list[_Cell] = []
        for cell in sorted(self.narrow):
            if runs and cell.low <= runs[-1].high:
                runs[-1] = runs[-1]._replace(high=cell.high)
            else:
                runs.append(cell)
        places = [_inexactly(least(self.program, self.name, *map(_exactly, run))) for run in runs]
        return [OpenInterval(*run, place) for run, place in zip(runs, places, strict=True)]

    def _sign(self, x: float) -> int:
        return sign_at(self.program, self.name, _exactly(x))


def loose(t: Expression) -> Expression:
    """Return ``t`` with values of both signs for a power: where the exponent is whole, its base may be negative."""
    if t[0] == "power":
        _, base, exponent = t
        size = ("exp", ("*", loose(exponent), ("log", ("abs", loose(base)))))
        return size if enclosure(base, EVERYTHING).signs == POSITIVE else ("*", size, EITHER_SIGN)
    return (t[0], *(loose(part) if isinstance(part, tuple) else part for part in t[1:]))


def loose_domain(t: Expression) -> list[Condition]:
    """The conditions of a real value of ``loose(t)``; a power of 0 may have one, too."""
    return [(u, signs) for u, signs in domain(loose(t)) if u[0] != "abs" or signs != POSITIVE]


def span(low: float, high: float) -> Range:
    """All numbers from one to another, which may be infinite."""
    return Range(arb(low), arb(high), low > 0 or high < 0)


def _slope(t: Expression) -> Expression | None:
    """The derivative; None if there is no rule for it."""
    try:
        return derivative(t)
    except Unsupported:
        return None


def _count_parts(*expressions: Expression | None) -> int:
    """Return the number of parts that are different objects, as enclosures compute each once."""
    parts: dict[int, Expression] = {}
    waiting = [t for t in expressions if t is not None]
    while waiting:
        t = waiting.pop()
        if id(t) not in parts:
            parts[id(t)] = t
            waiting += parts_of(t)
    return len(parts)


def _open(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions that do not hold everywhere."""
    return [(t, signs) for t, signs in conditions if not signs_by_balls(t, EVERYTHING, 0) <= signs]


def _hold(conditions: Sequence[Condition], x: Range) -> bool:
    return all(enclosure(t, x).signs <= signs for t, signs in conditions)


def _exactly(x: float) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def _inexactly(x: fmpq) -> float:
    return int(x.p) / int(x.q)


def _middle(bracket: Bracket) -> float:
    return (_inexactly(bracket[0]) + _inexactly(bracket[1])) / 2


# Zeros by derivatives: Taylor's theorem on an interval and on a tail

HIGHEST_DERIVATIVE, FARTHEST, HALVINGS = 6, 100.0, 2
"""Derivatives that are looked at, from where on none are, and how often a tail is halved for their signs."""
CACHED, MAX_DERIVATIVE_NODES = 256, 200
"""Derivatives that are remembered, and parts of an expression whose derivatives are looked at."""


def is_only_zero(t: Expression, r: fmpq, low: float, high: float) -> bool:
    """Whether r is the only zero in an interval: t(x) = t^(n)(y)*(x - r)^n/n! for a y in between (Taylor)."""
    place = span(low, high)
    try:
        for _ in range(HIGHEST_DERIVATIVE):
            if _count_nodes(t) > MAX_DERIVATIVE_NODES or not is_zero(t, r):
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
    at = _exactly(end)
    beyond = span(end, inf) if way > 0 else span(-inf, end)
    outwards = None
    try:
        for n in range(HIGHEST_DERIVATIVE + 1):
            if _count_nodes(t) > MAX_DERIVATIVE_NODES:  # each derivative of a power may be several times as large
                return False
            if any(not signs_by_balls(u, beyond, HALVINGS) <= signs for u, signs in domain(t)):
                return False
            if outwards is not None and _turned(signs_by_balls(t, beyond, HALVINGS), way, n) <= {0, outwards}:
                return True
            [sign, *others] = _turned(values_at(t, at).signs, way, n)
            if others or not sign or outwards not in (None, sign):
                return False
            outwards = sign
            t = simple_derivative(t)
    except (Unsupported, Refused):
        return False
    return False


def _count_nodes(t: Expression) -> int:
    return sum(1 for _ in subexpressions(t))


@lru_cache(maxsize=CACHED)
def simple_derivative(t: Expression) -> Expression:
    """Return the derivative, multiplied out if it is a polynomial in x and functions."""
    slope = derivative(t)
    ring = ValueRing()
    with suppress(Refused):
        top, bottom = ring.quotient(slope)
        if bottom.is_constant():
            return ring.expression(top / bottom.leading_coefficient())
    return slope


def _turned(signs: Iterable[int], way: int, n: int) -> set[int]:
    """Return signs of the n-th derivative in a direction: to the left those of odd ones are opposite."""
    return {sign * way**n for sign in signs}


# Zeros next to a rational end of the domain

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
    distances = Range(arb(0), arb(to_fmpq(abs(Fraction(end) - r))).upper(), True)
    slope = _direction_beside(t, r, distances, way)
    if slope is None:
        return Side([]) if _is_outside(t, r, distances, way) else None
    far = _exactly(end)
    edge = to_fmpq(r)
    sign = sign_at(program, name, far)
    if not sign:
        return None
    if slope * sign < 0:  # towards the end it goes away from 0
        return Side([])
    at_edge = sign_at(program, name, edge)
    if at_edge == sign:
        return Side([])
    for k in range(4, NEAREST + 1):
        near = edge + way * fmpq(1, 2 ** (2**k))
        if sign_at(program, name, near) == -sign:
            return Side([(near, far) if way > 0 else (far, near)])
    return None


def _direction_beside(t: Expression, r: Fraction, distances: Range, way: int) -> int | None:
    """Return 1 or -1 if an expression of the distance from r rises or falls over all distances; else None."""
    with suppress(Unsupported, Refused):
        of_distance = _moved(t, r, way)
        slope = _simple(derivative(of_distance))
        conditions = (*domain(of_distance), *domain(slope))
        if all(signs_by_balls(_simple(u), distances) <= signs for u, signs in conditions):
            return {POSITIVE: 1, NEGATIVE: -1}.get(signs_by_balls(slope, distances))
    return None


def _is_outside(t: Expression, r: Fraction, distances: Range, way: int) -> bool:
    """Whether a part has no real value on the whole side."""
    with suppress(Unsupported, Refused):
        return any(not signs_by_balls(_simple(u), distances) & signs for u, signs in domain(_moved(t, r, way)))
    return False


def _moved(t: Expression, r: Fraction, way: int) -> Expression:
    """Return ``t`` with r + x, or r - x, for x."""
    if t == X:
        return ("+", ("*", number(way), X), number(r))
    return (t[0], *(_moved(part, r, way) if isinstance(part, tuple) else part for part in t[1:]))


def _simple(t: Expression) -> Expression:
    """Return ``t`` multiplied out at every level, so that x - 1 at 1 + x is x."""
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


# Sign changes that a grid shows, and the roots in brackets between them

STEPS = 600
"""Points on either side of 0, up to some 900."""
BITS, FINE = 64, 160
HALVED, CONTINUOUS = 90, 12
"""Halvings of a bracket, and after how many of them the difference has to be continuous in it."""
MAX_ROOTS = 8
"""Sign changes that are followed."""


def sign_changes(program: Program, name: str) -> list[Bracket]:
    """Brackets around roots that a grid shows: at most 8, those next to 0, and none beyond some 900."""
    half = [fmpq(k * k, 400) + fmpq(1, 997) for k in range(STEPS)]
    at = [-x for x in reversed(half)] + half
    signs = [(x, sign_at(program, name, x)) for x in at]
    brackets = [(low, high) for (low, a), (high, b) in pairwise(signs) if a * b < 0]
    found: list[Bracket] = []
    for bracket in sorted(brackets, key=lambda bracket: abs(_inexactly(bracket[0]))):
        closer = _halved(program, name, *bracket, CONTINUOUS)
        if _is_continuous(program, name, *closer):
            found.append(closer)
        if len(found) == MAX_ROOTS:
            break
    return found


def sign_at(program: Program, name: str, x: fmpq) -> int:
    """The sign of the difference of the sides; 0 if it is open, or has no real value."""
    return _sign_of(_difference(program, name, x, BITS))


def may_be_0(program: Program, name: str, x: fmpq) -> bool:
    """Whether the difference of the sides may be 0."""
    value = _difference(program, name, x, FINE)
    return value is not None and bool(ball(value).contains(0))


def _halved(program: Program, name: str, low: fmpq, high: fmpq, times: int) -> Bracket:
    sign = _sign_of(_difference(program, name, low, FINE))
    for _ in range(times):
        middle = (low + high) / 2
        found = _sign_of(_difference(program, name, middle, FINE))
        if not found:  # it may be 0
            return middle, middle
        low, high = (middle, high) if found == sign else (low, middle)
    return low, high


def narrow(program: Program, name: str, low: fmpq, high: fmpq, bits: int) -> Any:
    """A ball around the one root between two numbers, of about half as many bits.

    A secant guesses a bracket that is 2^n times as narrow, with n twice as large after each guess that was right.
    """
    with ctx.workprec(bits):
        a = arb(low).mid()
        b = arb(high).mid()
        first, last = (_real(_difference(program, name, acb(x), bits)) for x in (a, b))
        shrink = 4
        for _ in range(bits):
            if first is None or last is None or (b - a).abs_upper() < arb(2) ** (-bits // 2) * (1 + abs(a)):
                break
            guess = ((a * last - b * first) / (last - first)).mid()
            half = ((b - a) * arb(2) ** -shrink).mid()
            inner = [x for x in ((guess - half).mid(), (guess + half).mid()) if a < x < b]
            closer = False
            for x in [*inner, ((a + b) / 2).mid()]:
                if not a < x < b:
                    continue
                y = _real(_difference(program, name, acb(x), bits))
                if y is None or y.contains(0):
                    return x if y is not None and y.is_zero() else a.union(b)
                if bool(y > 0) == bool(first > 0):
                    a = x
                    first = y
                else:
                    b = x
                    last = y
                closer = len(inner) == 2 and bool((b - a) <= 3 * half)
                if closer:
                    break
            shrink = min(2 * shrink, bits // 4) if closer else max(4, shrink // 2)
        return a.union(b)


def _real(value: Ball) -> Any | None:
    found = None if value is None else ball(value)
    return found.real if found is not None and found.is_finite() and found.imag.is_zero() else None


def least(program: Program, name: str, low: fmpq, high: fmpq) -> fmpq:
    """Where the size of the difference is least between two numbers, if it falls and rises once."""
    for _ in range(HALVED):
        third = (high - low) / 3
        sizes = [_size(_difference(program, name, x, FINE)) for x in (low + third, high - third)]
        low, high = (low, high - third) if sizes[0] <= sizes[1] else (low + third, high)
    return (low + high) / 2


def _size(value: Ball) -> float:
    return inf if value is None or not ball(value).is_finite() else float(abs(ball(value)).mid())


def _is_continuous(program: Program, name: str, low: fmpq, high: fmpq) -> bool:
    """Whether every value in a bracket is finite, those on the way, too."""
    with ctx.workprec(FINE):
        between = acb(arb((low + high) / 2, arb((high - low) / 2)))
    return all(value is not None and bool(ball(value).is_finite()) for value in program.values({name: between}, FINE))


def _difference(program: Program, name: str, x: Ball, bits: int) -> Ball:
    left, right = program.at({name: x}, bits)
    with ctx.workprec(bits):
        return None if left is None or right is None else ball(left) - ball(right)


def _sign_of(value: Any) -> int:
    """Return the sign of a ball; 0 if there is no real value, or it is open."""
    if value is None or not value.imag.is_zero():
        return 0
    if value.real > 0:
        return 1
    return -1 if value.real < 0 else 0
