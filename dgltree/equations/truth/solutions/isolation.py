"""All real zeros of an expression in one variable, each between two numbers, with a proof that there are no others.

The line is cut until in each interval the expression is not 0, or rises or falls all the way, so that its
signs at the ends tell whether it has its one root there (Moore, Kearfott and Cloud, Introduction to Interval Analysis,
2009, section 8.2).
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from flint import arb, fmpq

from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, Range, enclosure, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    NEGATIVE,
    POSITIVE,
    Condition,
    Expression,
    Unsupported,
    derivative,
    domain,
    parts_of,
)
from dgltree.equations.truth.real_roots import least, may_be_0, sign_at
from dgltree.equations.truth.solutions.derivatives import goes_away_from_0, span

EVEN_BOUND, FARTHEST_CUT = 16.0, 1e15
"""Up to where the line is cut evenly, and from where on nothing is cut any more."""
PIECES = 64
"""First parts between the even bounds, each half a unit wide; what is not decided in one is cut again."""
NARROW = 1e-4
"""Width of an interval that is cut no further."""
WORK, MAX_PARTS = 1500, 120
"""Intervals that are looked at, and parts of an expression and its slope from which on these are fewer."""
ASIDE = 1 / 9973
"""By which ends are off the numbers at which roots often are."""
EITHER_SIGN: Expression = ("sin", ("any",))
"""A factor whose enclosure is from -1 to 1."""


class OpenInterval(NamedTuple):
    """An interval in which there may be roots."""

    low: float
    high: float
    least: float
    """Where the expression is least."""


class Isolation(NamedTuple):
    """The roots that were found, each between two numbers at which the expression has opposite signs."""

    brackets: list[tuple[fmpq, fmpq]]
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
    """The real zeros of an expression in order; with a period those of one period around 0.

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
        self.t, self.alike, self.program, self.name, self.within = t, alike, program, name, within
        self.flat, self.loose = flat, loose(t)
        self.conditions = tuple(dict.fromkeys((*domain(self.loose), *conditions)))
        self.inside = _open(domain(t))
        self.slope, self.smooth = _slope(t)
        self.work = WORK * MAX_PARTS // max(MAX_PARTS, _count_parts(t, self.slope))
        self.brackets: list[tuple[fmpq, fmpq]] = []
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
        """1 or -1 if the expression is continuous on an interval and rises or falls all the way; else 0."""
        if self.slope is None:
            return 0
        signs = enclosure(self.slope, x).signs
        if signs not in (POSITIVE, NEGATIVE) or not _hold(self.inside, x) or not _hold(self.smooth, x):
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
        """Runs of intervals that are next to each other."""
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
    """With values of both signs for a power, whose base may be negative where the exponent is whole: as large ones."""
    if t[0] == "power":
        _, base, exponent = t
        size = ("exp", ("*", loose(exponent), ("log", ("abs", loose(base)))))
        return size if enclosure(base, EVERYTHING).signs == POSITIVE else ("*", size, EITHER_SIGN)
    return (t[0], *(loose(part) if isinstance(part, tuple) else part for part in t[1:]))


def _slope(t: Expression) -> tuple[Expression | None, list[Condition]]:
    """The derivative, and where it exists; None if there is no rule for it."""
    try:
        slope = derivative(t)
    except Unsupported:
        return None, []
    return slope, _open([one for one in domain(slope) if one not in domain(t)])


def _count_parts(*expressions: Expression | None) -> int:
    """Those that are different objects, as enclosures compute each once."""
    parts: dict[int, Expression] = {}
    waiting = [t for t in expressions if t is not None]
    while waiting:
        t = waiting.pop()
        if id(t) not in parts:
            parts[id(t)] = t
            waiting += parts_of(t)
    return len(parts)


def _open(conditions: Sequence[Condition]) -> list[Condition]:
    """Those that do not hold everywhere."""
    return [(t, signs) for t, signs in conditions if not signs_by_balls(t, EVERYTHING, 0) <= signs]


def _hold(conditions: Sequence[Condition], x: Range) -> bool:
    return all(enclosure(t, x).signs <= signs for t, signs in conditions)


def _exactly(x: float) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def _inexactly(x: fmpq) -> float:
    return int(x.p) / int(x.q)


def _middle(bracket: tuple[fmpq, fmpq]) -> float:
    return (_inexactly(bracket[0]) + _inexactly(bracket[1])) / 2
