"""Claims of a verdict, tried at points of its own with 60 digits."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import mpmath

from benchmarks.verdicts.mpmath_values import DIGITS, OutOfRangeError, is_real, same, value
from dgltree import Equation
from dgltree.equations.truth.verdict import Domain, Grade, Interval, Verdict

POINTS = 16
"""Of each equation, at least; next to each end there are four more."""
NEXT = (1e-3, 1e-9)
"""Distances from an end."""
NEGLIGIBLE = 1e-40
"""Sides that are smaller do not show that an equation holds outside of its part."""
Point = Mapping[str, Any]


class Wrong(NamedTuple):
    """A point that contradicts a claim."""

    point: str
    left: str
    right: str


class Check(NamedTuple):
    """How many points were looked at, and the first that contradicts."""

    points: int
    wrong: Wrong | None


def check(equation: Equation, names: Sequence[str], verdict: Verdict, random: Random) -> Check:
    """Whether the verdict is true at random points; an equation that is not claimed to hold anywhere has none."""
    if verdict.grade not in (Grade.PROVED, Grade.TESTED) or verdict.domain is Domain.NONE:
        return Check(0, None)
    looked = 0
    for point, inside in _points(names, verdict, random):
        found = None
        for digits in DIGITS:
            with mpmath.workdps(digits):
                found = _sides(equation, point, verdict)
                contradicted = found is not None and _contradicts(*found, verdict, inside)
            if not contradicted:
                break
        looked += found is not None
        if found is not None and contradicted:
            shown = ", ".join(f"{name} = {mpmath.nstr(_at(x), 15)}" for name, x in point.items())
            return Check(looked, Wrong(shown, *(mpmath.nstr(side, 15) for side in found)))
    return Check(looked, None)


def _at(value: Any) -> Any:
    return value() if callable(value) else value


def _sides(equation: Equation, point: Point, verdict: Verdict) -> tuple[Any, Any] | None:
    """Both values, by the reading of the verdict; None if one is too large to tell."""
    school = verdict.domain is not Domain.EVERYWHERE
    at = {name: _at(x) for name, x in point.items()}
    try:
        left, right = (value(side, at, school) for side in equation)
    except (OutOfRangeError, MemoryError):
        return None
    return left, right


def _contradicts(left: Any, right: Any, verdict: Verdict, inside: bool) -> bool:
    if None in (left, right):  # a hole: its place is a condition
        return False
    if verdict.domain is Domain.EVERYWHERE:
        return not same(left, right)
    real = [is_real(side) for side in (left, right)]
    agree = all(real) and same(left, right)
    if not inside:
        return agree and abs(left) > NEGLIGIBLE
    if verdict.domain is Domain.POSITIVE and not verdict.part:
        return all(real) and not agree
    return any(real) and not agree


def _points(names: Sequence[str], verdict: Verdict, random: Random) -> Iterator[tuple[Point, bool]]:
    """Points, and whether the equation is claimed to hold there: else it is claimed not to."""
    if verdict.part and len(names) == 1:
        for x, inside in _along(verdict, random):
            yield {names[0]: x}, inside
    else:
        draw = {Domain.EVERYWHERE: _complex, Domain.POSITIVE: lambda r: abs(_real(r))}.get(verdict.domain, _real)
        for _ in range(POINTS if names else 1):
            yield {name: draw(random) for name in names}, True


def _real(random: Random) -> Any:
    way = random.random()
    if way < 0.3:
        return mpmath.mpf(random.randint(-30, 30))
    if way < 0.6:
        return mpmath.mpf(random.uniform(-4, 4))
    return mpmath.mpf(random.choice((-1, 1)) * 10 ** random.uniform(-3, 2.5))


def _complex(random: Random) -> Any:
    """Anywhere, on the axes, or at an imaginary or a real part where exp, sin and the like are on an axis."""
    way, first, second = random.random(), _real(random), _real(random)
    if way < 0.25:
        return mpmath.mpc(first)
    if way < 0.4:
        return mpmath.mpc(0, second)
    if way < 0.75:
        return mpmath.mpc(first, second)
    turns = random.randint(-6, 6)
    if way < 0.9:
        return _Turned(first, turns, upright=True)
    return _Turned(second, turns, upright=False)


class _Turned(NamedTuple):
    """A number of which one part is a multiple of pi/2, with the digits that are asked for."""

    part: Any
    turns: int
    upright: bool
    """Whether the imaginary part is."""

    def __call__(self) -> Any:
        angle = self.turns * mpmath.pi / 2
        return mpmath.mpc(self.part, angle) if self.upright else mpmath.mpc(angle, self.part)


def _along(verdict: Verdict, random: Random) -> Iterator[tuple[Any, bool]]:
    """Points of the line: inside each piece, and next to its ends on both sides."""
    low, high = verdict.window or (None, None)
    for piece in verdict.part:
        if not piece.is_point:
            yield from ((x, True) for x in islice(_within(piece, low, high, random), POINTS))
    ends = [end for piece in verdict.part for end in (piece.low, piece.high) if end is not None]
    for end in dict.fromkeys(ends):
        for distance in NEXT if not verdict.window else NEXT[:1]:  # ends in a window have 6 digits
            for x in (end.value - distance, end.value + distance):
                inside = any(_holds(piece, x) for piece in verdict.part)
                if inside or verdict.only:
                    yield mpmath.mpf(x), inside


def _within(piece: Interval, low: float | None, high: float | None, random: Random) -> Iterator[Any]:
    start = piece.low.value if piece.low else low
    stop = piece.high.value if piece.high else high
    while True:
        far = 10 ** random.uniform(-3, 3)
        if start is not None and stop is not None:
            yield mpmath.mpf(random.uniform(start, stop))
        elif start is not None:
            yield mpmath.mpf(start + far)
        else:
            yield mpmath.mpf(stop - far) if stop is not None else _real(random)


def _holds(piece: Interval, x: float) -> bool:
    return (piece.low is None or piece.low.value < x) and (piece.high is None or x < piece.high.value)
