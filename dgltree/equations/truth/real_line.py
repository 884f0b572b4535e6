"""Where on the real line an equation in one variable holds: cut where a sign changes, proved in each cell.

The line is cut at 0 and at the real roots of all polynomials whose signs a proof asks for; in each cell all signs are
known. If the sides differ in a cell, they are equal at roots of one polynomial at most, if no other functions than
roots are left, and these are found exactly.
"""

import enum
import itertools
from typing import Any, NamedTuple

from flint import acb, ctx, fmpq

from dgltree.equations.truth.compare import Comparison, PointOutcome, compare, compare_end
from dgltree.equations.truth.kernels import Again, Units
from dgltree.equations.truth.part import End, Interval, Part, end, joined
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proof import ReducedDifference, difference, is_zero, normed
from dgltree.equations.truth.rational import NoValue, TooLarge
from dgltree.equations.truth.region import REFINED, Region, Root, Split, positive_roots
from dgltree.trees.equation import Equation

MOST_CELLS = 60
ROUNDS = 12
LARGEST_CANDIDATES = 40


class CellState(enum.Enum):
    """Of a cell."""

    HOLDS = "holds"
    EMPTY = "empty"
    """Neither side is real."""
    ALONE = "alone"
    """One side is real."""
    FAILS = "fails"
    OPEN = "open"


class LineCell(NamedTuple):
    """An open interval in which every sign is fixed."""

    region: Region
    state: CellState
    sample: fmpq
    found: Comparison
    """The outcome with balls at the sample."""
    points: tuple[Root, ...] = ()
    """Where the sides are equal all the same."""
    complete: bool = True
    """Whether ``points`` has all of these."""


class Spot(NamedTuple):
    """A point between two cells, or one in a cell where the sides are equal."""

    end: End
    outcome: PointOutcome


class Line(NamedTuple):
    """The known facts about an equation along the real line."""

    cells: tuple[LineCell, ...]
    """From left to right."""
    spots: tuple[Spot, ...]
    """Between them, from left to right."""
    part: Part
    """Where the equation holds, as far as it is proved."""
    complete: bool
    """Whether it holds nowhere else."""

    @property
    def holes(self) -> tuple[End, ...]:
        """Single points at which one side has no value, next to a cell in which the equation holds."""
        alone = (PointOutcome.LEFT_ALONE, PointOutcome.RIGHT_ALONE)
        return tuple(spot.end for spot in self.spots if spot.outcome in alone and self._beside(spot, CellState.HOLDS))

    @property
    def breaks(self) -> tuple[End, ...]:
        """Single points at which the sides differ."""
        return tuple(spot.end for spot in self.spots if spot.outcome in (PointOutcome.DIFFER, PointOutcome.APART))

    def _beside(self, spot: Spot, state: CellState) -> bool:
        place = self.spots.index(spot)
        return any(cell.state is state for cell in self.cells[place : place + 2])


def real_line(equation: Equation, name: str, program: Program, school: bool) -> Line | None:
    """The line of an equation in one variable; None if that is too much work."""
    units = Units()
    for _ in range(ROUNDS):
        try:
            return _line(equation, name, program, school, units)
        except Again:
            continue
        except (TooLarge, ArithmeticError, OverflowError):
            return None
    return None


def _line(equation: Equation, name: str, program: Program, school: bool, units: Units) -> Line:
    left = _cells(equation, name, program, Region("cell", school, -1), units)
    right = _cells(equation, name, program, Region("cell", school, 1), units)
    cells = [*reversed(left), *right]
    unit = units.of(f"variable {name}")
    spots = [_spot(a, b, name, program, unit) for a, b in itertools.pairwise(cells)]
    pieces: list[Interval] = []
    for place, cell in enumerate(cells):
        before = spots[place - 1].end if place else None
        after = spots[place].end if place < len(spots) else None
        if cell.state is CellState.HOLDS:
            pieces.append(Interval(before, after))
        else:
            points = [end(root, cell.region.side, unit) for root in cell.points]
            pieces += [Interval(point, point, True, True) for point in sorted(points, key=lambda p: p.value)]
        if place < len(spots) and spots[place].outcome is PointOutcome.AGREE:
            pieces.append(Interval(spots[place].end, spots[place].end, True, True))
    complete = all(cell.complete and cell.state is not CellState.OPEN for cell in cells)
    complete &= all(spot.outcome is not PointOutcome.OPEN for spot in spots)
    return Line(tuple(cells), tuple(spots), joined(pieces), complete)


def _cells(equation: Equation, name: str, program: Program, whole: Region, units: Units) -> list[LineCell]:
    """The cells of one side of 0, outwards."""
    waiting, done = [whole], []
    while waiting:
        region = waiting.pop()
        try:
            done.append(_cell(equation, name, program, region, units))
        except Split as split:
            ends = [region.low, *split.roots, region.high]
            if len(waiting) + len(done) + len(ends) > MOST_CELLS:
                raise TooLarge from None
            pairs = itertools.pairwise(ends)
            waiting += [region._replace(low=low, high=high) for low, high in reversed(list(pairs))]
    return done


def _cell(equation: Equation, name: str, program: Program, region: Region, units: Units) -> LineCell:
    try:
        found: ReducedDifference | None = difference(equation, [name], region, units)
    except NoValue:
        found = None
    zero = found is not None and is_zero(found)
    agreed = False
    for t in region.samples():
        sample = t ** units.of(f"variable {name}") * region.side
        seen = compare(program, {name: sample}, "real")
        if zero or seen.outcome is not PointOutcome.AGREE:  # else it may be the one point at which the sides are equal
            break
        agreed = True
    if zero:
        states = dict.fromkeys((PointOutcome.AGREE, PointOutcome.BLURRED), CellState.HOLDS)
        states[PointOutcome.NO_VALUE] = CellState.EMPTY
        return LineCell(region, states.get(seen.outcome, CellState.OPEN), sample, seen)
    state = _unproved(seen.outcome)  # of the last sample
    if found is None or state is CellState.OPEN:
        return LineCell(region, state, sample, seen)
    points = () if _is_signed(found) else _points(found, name, program, units)
    if points is None and agreed:  # it holds on a part of the cell, perhaps
        state = CellState.OPEN
    return LineCell(region, state, sample, seen, points or (), complete=points is not None)


def _unproved(outcome: PointOutcome) -> CellState:
    if outcome in (PointOutcome.LEFT_ALONE, PointOutcome.RIGHT_ALONE):
        return CellState.ALONE
    if outcome is PointOutcome.NO_VALUE:
        return CellState.EMPTY
    return CellState.FAILS if outcome in (PointOutcome.DIFFER, PointOutcome.APART) else CellState.OPEN


def _is_signed(found: ReducedDifference) -> bool:
    """Whether a difference is above 0 in a whole cell, or below 0. Raises ``Split``."""
    try:
        return found.kernels.sign(found.value) in (2, -2)
    except ArithmeticError:
        return False


def _points(found: ReducedDifference, name: str, program: Program, units: Units) -> tuple[Root, ...] | None:
    """Where in a cell a difference is 0 that is not 0 everywhere; None if that is not known."""
    kernels = found.kernels
    try:
        norm = normed(kernels, found.value.num, turns=True)
    except TooLarge:
        return None
    if norm is None or norm.poly.is_zero() or kernels.ring.involved(norm.poly) not in ([], [0]):
        return None
    if norm.poly.is_constant():
        return ()
    region, unit = kernels.region, units.of(f"variable {name}")
    inside = [root for root in positive_roots(kernels.univariate(norm.poly)) if region.holds(root)]
    if len(inside) > LARGEST_CANDIDATES:
        return None
    holding = []
    for root in inside:
        outcome = compare_end(program, {name: _value(root, region.side, unit)}, REFINED // 2).outcome
        if outcome is PointOutcome.AGREE:
            holding.append(root)
        elif outcome is PointOutcome.OPEN:
            return None
    return tuple(holding)


def _spot(a: LineCell, b: LineCell, name: str, program: Program, unit: int) -> Spot:
    """The point between two cells."""
    if a.region.side < 0 < b.region.side:
        place, value = End("0", 0.0), fmpq(0)
    else:
        root = a.region.low if a.region.side < 0 else a.region.high
        assert root is not None  # only the outermost cells have no end
        place, value = end(root, a.region.side, unit), _value(root, a.region.side, unit)
    return Spot(place, compare_end(program, {name: value}, REFINED // 2).outcome)


def _value(root: Root, side: int, unit: int) -> Any:
    """A number as an exact rational or a ball."""
    if root.rational is not None:
        return root.rational**unit * side
    with ctx.workprec(REFINED):
        return acb(root.value**unit * side)
