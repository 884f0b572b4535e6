"""All real roots of an equation in one variable, each between two numbers, with a proof that there are no others.

The line is cut until in each interval the difference of the sides is not 0, or rises or falls all the way, so that its
signs at the ends tell whether it has its one root there (Moore, Kearfott and Cloud, Introduction to Interval Analysis,
2009, section 8.2).
"""

from itertools import pairwise
from math import inf
from typing import NamedTuple

from flint import fmpq

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.enclosures import Enclosure, enclosure
from dgltree.equations.truth.one_fraction import ONE, one_fraction
from dgltree.equations.truth.periods import period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.real_intervals import RealInterval
from dgltree.equations.truth.real_roots import least, may_be_0, narrow, sign_at
from dgltree.read.notation import MINUS_ONE, number
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

EVEN_BOUND, FARTHEST_CUT = 16.0, 1e15
"""Up to where the line is cut evenly, and from where on nothing is cut any more."""
PIECES = 64
NARROW = 1e-4
"""Width of an interval that is cut no further."""
WORK, FIRST_WORK = 1500, 150
"""Intervals that are looked at: for all roots, and until there may be one."""
ASIDE = 1 / 9973
"""By which ends are off the numbers at which roots often are."""


ZERO = number("0")


class Isolation(NamedTuple):
    """The roots that were found, each between two numbers at which the difference has opposite signs."""

    brackets: list[tuple[fmpq, fmpq]]
    doubtful: list[float]
    """Numbers next to which there may be roots."""
    whole: bool
    """Whether there are surely no others, except for doubtful ones."""


def has_no_root(equation: Equation, program: Program) -> bool:
    """Whether it is proved that no real number is a solution; it stops at the first place where one may be."""
    return isolation(equation, program, FIRST_WORK, to_the_first=True) == Isolation([], [], True)


def isolation(equation: Equation, program: Program, work: int = WORK, to_the_first: bool = False) -> Isolation:
    """The real roots in order; of a periodic equation those of one period around 0.

    Args:
        equation: in one variable.
        program: of the same equation.
        work: intervals that are looked at, at most.
        to_the_first: whether to stop at the first root, or where there may be one.
    """
    difference = Tree("Add", (equation.left, Tree("Mul", (MINUS_ONE, equation.right))))
    turn, [name] = period(equation), program.variables
    within = None if turn is None else turn.value
    try:
        found = _Isolating(difference, program, name, within, work, to_the_first).run()
        top, bottom = one_fraction(difference)
        if (found.whole and not found.doubtful) or bottom == ONE or (found.brackets and to_the_first):
            return found
        over = Program(Equation(top, ZERO), school=True)
        other = _Isolating(top, over, name, within, work, to_the_first).run()
    except (Unjudged, RecursionError):
        return Isolation([], [], False)
    return _without_poles(other, top, bottom, name)


def _without_poles(found: Isolation, top: Tree, bottom: Tree, name: str) -> Isolation:
    """The roots of a numerator at which the denominator is not 0; if that is open, they are doubtful."""
    program = Program(Equation(top, ZERO), school=True)
    brackets, doubtful = [], list(found.doubtful)
    for bracket in found.brackets:
        low, high = map(_inexactly, narrow(program, name, *bracket))
        if enclosure(bottom, RealInterval(low, high)).has_no_zero:
            brackets.append((_exactly(low), _exactly(high)))
        else:
            doubtful.append((low + high) / 2)
    return Isolation(brackets, sorted(doubtful), found.whole)


class _Isolating:
    """The roots of an expression.

    Args:
        tree: its values are the differences between the sides of ``program``.
        within: the period.
        work, to_the_first: as of :func:`isolation`.
    """

    def __init__(
        self, tree: Tree, program: Program, name: str, within: float | None, work: int, to_the_first: bool
    ) -> None:
        self.tree, self.program, self.name, self.within = tree, program, name, within
        self.work, self.to_the_first = work, to_the_first
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
        if self.to_the_first and None in tails:
            return Isolation([], [], False)
        for cell in cells:
            if not (self.to_the_first and (self.brackets or self.narrow)):
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
        if found.has_no_zero:
            return True
        rises = self._rises(found)
        outwards = rises if tail.high == inf else -rises
        return outwards != 0 and self._sign(tail.low if tail.high == inf else tail.high) == outwards

    def _rises(self, found: Enclosure) -> int:
        return found.slope.sign if found.smooth and not found.off and found.slope is not None else 0

    def _resolve(self, cell: RealInterval) -> None:
        """Keep the roots of an interval, and where there may be some."""
        waiting = [cell]
        while waiting and self.work >= 0:
            cell = waiting.pop()
            self.work -= 1
            found = enclosure(self.tree, cell)
            if found.has_no_zero:
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

    def _doubtful(self) -> list[float]:
        """Where the difference is least in each run of intervals that are next to each other."""
        runs: list[RealInterval] = []
        for cell in sorted(self.narrow):
            if runs and cell.low <= runs[-1].high:
                runs[-1] = runs[-1]._replace(high=cell.high)
            else:
                runs.append(cell)
        return [_inexactly(least(self.program, self.name, *map(_exactly, run[:2]))) for run in runs]

    def _sign(self, x: float) -> int:
        return sign_at(self.program, self.name, _exactly(x))


def _exactly(x: float) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def _inexactly(x: fmpq) -> float:
    return int(x.p) / int(x.q)


def _middle(bracket: tuple[fmpq, fmpq]) -> float:
    return (_inexactly(bracket[0]) + _inexactly(bracket[1])) / 2
