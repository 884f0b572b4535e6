"""Intervals in which an equation in one variable holds, found numerically, if no proof has the ends."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flint import fmpq

from dgltree.equations.truth.compare import PointOutcome, compare
from dgltree.equations.truth.part import Interval, Part, decimal_end
from dgltree.equations.truth.program import Program

WINDOW = (-20, 20)
STEPS = 4
"""Points to a unit."""
MAX_WINDOW = 10_000
"""A window, that of a longer period, in which nothing is looked for."""
MIN_WINDOW_POINTS = 48
"""Points of a short window."""
WITHIN = 16
"""Further points of an interval, and of each unit of it, at which it has to hold."""
HALVED = 44
"""How often the way to an end is halved: to 1e-13."""


def numeric_part(
    name: str, program: Program, window: tuple[float, float] = WINDOW, watched: Sequence[fmpq] = ()
) -> Part:
    """The intervals between two numbers; none if the equation holds at single points only.

    Args:
        watched: further points, between those at which a sign changes.
    """
    if window[1] - window[0] > MAX_WINDOW:
        return ()

    def holds(x: Any) -> bool:
        return compare(program, {name: x}, "real").outcome is PointOutcome.AGREE

    low, high = (fmpq(*float(end).as_integer_ratio()) for end in window)
    count = max(MIN_WINDOW_POINTS, int(STEPS * (window[1] - window[0])))
    between = (low + (high - low) * fmpq(k, count) + fmpq(1, 1000) for k in range(count))
    grid = sorted({low, *between, high, *(x for x in watched if low < x < high)})
    inside = [holds(x) for x in grid]
    return tuple(_intervals(grid, inside, holds))


def _intervals(grid: list[fmpq], inside: list[bool], holds: Callable[[Any], bool]) -> Iterator[Interval]:
    start = None
    for k, here in enumerate(inside):
        if here and start is None:
            start = k
        if start is not None and (not here or k + 1 == len(grid)):
            last = k - 1 if not here else k
            if last > start and all(map(holds, _between(grid[start], grid[last]))):
                low = None if start == 0 else _end(grid[start], grid[start - 1], holds)
                high = None if last + 1 == len(grid) else _end(grid[last], grid[last + 1], holds)
                outer = [*_towards(low, grid[start]), *_towards(high, grid[last])]
                if not all(map(holds, outer)):  # it changes faster than the grid can see
                    start = None
                    continue
                first, second = (None if end is None else decimal_end(end) for end in (low, high))
                yield Interval(first, second, True, True)
            start = None


def _between(low: fmpq, high: fmpq) -> Iterator[fmpq]:
    """Points between those of the grid, if it might fail as well."""
    draw = random.Random(f"between {low} {high}")
    count = WITHIN + int(WITHIN * (int(high.p) / int(high.q) - int(low.p) / int(low.q)))
    return (low + (high - low) * fmpq(draw.randint(1, 4095), 4096) for _ in range(count))


def _towards(end: float | None, inside: fmpq) -> Iterator[fmpq]:
    """Points between an end, if there is one, and the first point of the grid from there."""
    return iter(()) if end is None else _between(*sorted((fmpq(*end.as_integer_ratio()), inside)))


def _end(inside: fmpq, outside: fmpq, holds: Callable[[Any], bool]) -> float:
    """Where the equation stops to hold."""
    for _ in range(HALVED):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return int(inside.p) / int(inside.q)
