"""All real zeros of an expression in one variable, each between two numbers, with a proof that there are no others.

The line is cut until in each interval the expression is not 0, or rises or falls all the way, so that its
signs at the ends tell whether it has its one root there (Moore, Kearfott and Cloud, Introduction to Interval Analysis,
2009, section 8.2).
"""

from itertools import pairwise
from math import inf
from typing import NamedTuple

from flint import fmpq

from dgltree.equations.truth.enclosures import Enclosure, enclosure
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.real_intervals import RealInterval
from dgltree.equations.truth.real_roots import least, may_be_0, sign_at
from dgltree.trees.tree import Tree

EVEN_BOUND, FARTHEST_CUT = 16.0, 1e15
"""Up to where the line is cut evenly, and from where on nothing is cut any more."""
PIECES = 64
NARROW = 1e-4
"""Width of an interval that is cut no further."""
WORK = 1500
"""Intervals that are looked at."""
ASIDE = 1 / 9973
"""By which ends are off the numbers at which roots often are."""


class Doubt(NamedTuple):
    """An interval in which there may be roots."""

    low: float
    high: float
    least: float
    """Where the expression is least."""


class Isolation(NamedTuple):
    """The roots that were found, each between two numbers at which the expression has opposite signs."""

    brackets: list[tuple[fmpq, fmpq]]
    doubtful: list[Doubt]
    whole: bool
    """Whether there are surely no others, except for doubtful ones."""


class Hints:
    """Facts about an expression that are known by other means; here there are none."""

    def is_free_from(self, end: float, way: int) -> bool:
        """Whether there is surely no zero from a number on, to the right (1) or to the left (-1)."""
        return False

    def is_settled(self, low: float, high: float) -> bool:
        """Whether the zeros between two numbers, which may be infinite, need not be looked for."""
        return False


def isolate(
    tree: Tree,
    program: Program,
    name: str,
    within: float | None,
    hints: Hints | None = None,
    work: int = WORK,
) -> Isolation:
    """The real zeros of an expression in order; with a period those of one period around 0.

    Args:
        tree: the expression, in one variable.
        program: of the equation that it is 0.
        within: the period.
        hints: of those who know more of the expression.
        work: intervals that are looked at, at most.

    Raises ``Unjudged`` for a function that is not enclosed.
    """
    return _Isolating(tree, program, name, within, hints or Hints(), work).run()


class _Isolating:
    """The roots of an expression.

    Args:
        tree: its values are the differences between the sides of ``program``.
        within: the period.
        hints, work: as of :func:`isolate`.
    """

    def __init__(
        self,
        tree: Tree,
        program: Program,
        name: str,
        within: float | None,
        hints: Hints,
        work: int,
    ) -> None:
        self.tree, self.program, self.name, self.within, self.work = tree, program, name, within, work
        self.hints = hints
        self.brackets: list[tuple[fmpq, fmpq]] = []
        self.narrow: list[RealInterval] = []

    def run(self) -> Isolation:
        half = EVEN_BOUND if self.within is None else self.within / 2
        cuts = [half * (2 * k / PIECES - 1 + ASIDE) for k in range(PIECES + 1)]
        tails: list[list[RealInterval] | None] = []
        if self.within is None:
            tails = [self._tail(RealInterval(-inf, cuts[0])), self._tail(RealInterval(cuts[-1], inf))]
        cells = [RealInterval(low, high) for low, high in pairwise(cuts)]
        cells += [cell for tail in tails for cell in tail or []]
        for cell in cells:
            self._resolve(cell)
        brackets = sorted(self.brackets, key=_middle)
        return Isolation(brackets, self._doubtful(), None not in tails and self.work >= 0)

    def _tail(self, tail: RealInterval) -> list[RealInterval] | None:
        """The intervals of a tail that are still to be looked at; None if it may have roots however far out."""
        cells: list[RealInterval] = []
        while not self._is_free(tail):
            cut = 4 * (tail.low if tail.high == inf else tail.high)
            if abs(cut) > FARTHEST_CUT:
                return None
            cells.append(tail._replace(high=cut) if tail.high == inf else tail._replace(low=cut))
            tail = tail._replace(low=cut) if tail.high == inf else tail._replace(high=cut)
        return cells

    def _is_free(self, tail: RealInterval) -> bool:
        """Whether there is surely no root: from its end on the difference goes away from 0."""
        found = enclosure(self.tree, tail)
        if found.has_no_zero or self.hints.is_settled(tail.low, tail.high):
            return True
        rises = self._rises(found)
        outwards = rises if tail.high == inf else -rises
        end, way = (tail.low, 1) if tail.high == inf else (tail.high, -1)
        return (outwards != 0 and self._sign(end) == outwards) or self.hints.is_free_from(end, way)

    def _rises(self, found: Enclosure) -> int:
        return found.slope.sign if found.smooth and not found.off and found.slope is not None else 0

    def _resolve(self, cell: RealInterval) -> None:
        """Keep the roots of an interval, and where there may be some."""
        waiting = [cell]
        while waiting and self.work >= 0:
            cell = waiting.pop()
            self.work -= 1
            found = enclosure(self.tree, cell)
            if found.has_no_zero or self.hints.is_settled(cell.low, cell.high):
                continue
            signs = self._sign(cell.low), self._sign(cell.high)
            if self._rises(found) and 0 not in signs:
                if signs[0] != signs[1]:
                    self.brackets.append((_exactly(cell.low), _exactly(cell.high)))
                continue
            middle = (cell.low + cell.high) / 2
            if cell.high - cell.low >= NARROW * max(1.0, abs(middle)):
                waiting += [cell._replace(low=middle), cell._replace(high=middle)]
            elif not (cell.low < 0 < cell.high and self._is_free_beside_0(cell)):
                self.narrow.append(cell)

    def _is_free_beside_0(self, cell: RealInterval) -> bool:
        """Whether there is no root on either side of 0, where x*log(x) cannot be distinguished from its opposite."""
        sides = cell._replace(high=0.0, nonzero=True), cell._replace(low=0.0, nonzero=True)
        return all(enclosure(self.tree, side).has_no_zero for side in sides) and not may_be_0(
            self.program, self.name, fmpq(0)
        )

    def _doubtful(self) -> list[Doubt]:
        """Runs of intervals that are next to each other."""
        runs: list[RealInterval] = []
        for cell in sorted(self.narrow):
            if runs and cell.low <= runs[-1].high:
                runs[-1] = runs[-1]._replace(high=cell.high)
            else:
                runs.append(cell)
        places = [_inexactly(least(self.program, self.name, *map(_exactly, run[:2]))) for run in runs]
        return [Doubt(run.low, run.high, place) for run, place in zip(runs, places, strict=True)]

    def _sign(self, x: float) -> int:
        return sign_at(self.program, self.name, _exactly(x))


def _exactly(x: float) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def _inexactly(x: fmpq) -> float:
    return int(x.p) / int(x.q)


def _middle(bracket: tuple[fmpq, fmpq]) -> float:
    return (_inexactly(bracket[0]) + _inexactly(bracket[1])) / 2
