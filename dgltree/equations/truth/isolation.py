"""All real roots of an equation in one variable, each between two numbers, with a proof that there are no others.

The line is cut until in each interval the difference of the sides is not 0, or rises or falls all the way, so that its
signs at the ends tell whether it has its one root there (Moore, Kearfott and Cloud, Introduction to Interval Analysis,
2009, section 8.2).
"""

from math import inf
from typing import NamedTuple

from flint import fmpq

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.enclosures import Enclosure, enclosure
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.real_roots import sign_at
from dgltree.equations.truth.spans import Span
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MIDDLE, FAR = 16.0, 1e15
"""Up to where the line is cut evenly, and from where on nothing is cut any more."""
PIECES = 64
NARROW = 1e-9
WORK = 1500
"""Intervals that are looked at."""
ASIDE = 1 / 997
"""By which ends are off the numbers at which roots often are."""


class Isolation(NamedTuple):
    """The roots that were found, each between two numbers at which the difference has opposite signs."""

    brackets: list[tuple[fmpq, fmpq]]
    whole: bool
    """Whether it is proved that there are no others."""


def isolation(equation: Equation, program: Program) -> Isolation:
    """The real roots in order.

    Args:
        equation: in one variable.
        program: of the same equation.
    """
    try:
        return _Isolating(equation, program).run()
    except (Unjudged, RecursionError):
        return Isolation([], False)


class _Isolating:
    def __init__(self, equation: Equation, program: Program) -> None:
        self.difference = Tree("Add", (equation.left, Tree("Mul", (MINUS_ONE, equation.right))))
        self.program = program
        [self.name] = program.variables
        self.work = WORK
        self.brackets: list[tuple[fmpq, fmpq]] = []

    def run(self) -> Isolation:
        step = 2 * MIDDLE / PIECES
        cuts = [-MIDDLE + step * k + ASIDE for k in range(PIECES + 1)]
        tails = [self._tail(Span(-inf, cuts[0])), self._tail(Span(cuts[-1], inf))]
        if None in tails:
            return Isolation([], False)
        cells = [cell for tail in tails for cell in tail or []]
        cells += [Span(low, high) for low, high in zip(cuts, cuts[1:], strict=False)]
        whole = all(map(self._resolved, cells))
        return Isolation(sorted(self.brackets, key=lambda bracket: float(bracket[0].p) / float(bracket[0].q)), whole)

    def _tail(self, tail: Span) -> list[Span] | None:
        """The intervals of a tail that are still to be looked at; None where it may have roots however far out."""
        cells: list[Span] = []
        while not self._is_free(tail):
            cut = 4 * (tail.low if tail.high == inf else tail.high)
            if abs(cut) > FAR:
                return None
            cells.append(tail._replace(high=cut) if tail.high == inf else tail._replace(low=cut))
            tail = tail._replace(low=cut) if tail.high == inf else tail._replace(high=cut)
        return cells

    def _is_free(self, tail: Span) -> bool:
        """Whether there is surely no root: from its end on the difference goes away from 0."""
        found = enclosure(self.difference, tail)
        if found.has_no_zero:
            return True
        rises = self._rises(found)
        outwards = rises if tail.high == inf else -rises
        return outwards != 0 and self._sign(tail.low if tail.high == inf else tail.high) == outwards

    def _rises(self, found: Enclosure) -> int:
        return found.slope.sign if found.smooth and not found.off and found.slope is not None else 0

    def _resolved(self, cell: Span) -> bool:
        """Whether the roots of an interval are known; they are kept."""
        waiting = [cell]
        while waiting:
            cell = waiting.pop()
            self.work -= 1
            found = enclosure(self.difference, cell)
            if found.has_no_zero:
                continue
            signs = self._sign(cell.low), self._sign(cell.high)
            if self._rises(found) and 0 not in signs:
                if signs[0] != signs[1]:
                    self.brackets.append((_exactly(cell.low), _exactly(cell.high)))
                continue
            middle = (cell.low + cell.high) / 2
            if self.work < 0 or cell.high - cell.low < NARROW * max(1.0, abs(middle)):
                return False
            waiting += [cell._replace(low=middle), cell._replace(high=middle)]
        return True

    def _sign(self, x: float) -> int:
        return sign_at(self.program, self.name, _exactly(x))


def _exactly(x: float) -> fmpq:
    return fmpq(*x.as_integer_ratio())
