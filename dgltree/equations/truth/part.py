"""A part of the real line: intervals and points, with their ends as they are written."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple


class End(NamedTuple):
    """A number at which an interval ends."""

    text: str
    """Exact if it is rational or a quadratic irrational, else a decimal of six digits."""
    value: float

    def __str__(self) -> str:
        return self.text


class Interval(NamedTuple):
    """From ``low`` to ``high``; None stands for no end."""

    low: End | None
    high: End | None
    low_in: bool = False
    """Whether the end is part of it."""
    high_in: bool = False

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high

    def written(self, name: str) -> str:
        """``x <= 4``"""
        left, right = "≤" if self.low_in else "<", "≤" if self.high_in else "<"
        if self.is_point:
            return f"{name} = {self.low}"
        if self.low is None and self.high is None:
            return f"all real {name}"
        if self.low is None:
            return f"{name} {right} {self.high}"
        if self.high is None:
            return f"{name} {'≥' if self.low_in else '>'} {self.low}"
        return f"{self.low} {left} {name} {right} {self.high}"

    @property
    def described(self) -> dict[str, object]:
        """For JSON."""
        ends = {"from": self.low and str(self.low), "to": self.high and str(self.high)}
        return {**ends, "from_included": self.low_in, "to_included": self.high_in}


Part = tuple[Interval, ...]
"""In order; disjoint."""


def join_parts(pieces: Sequence[Interval]) -> Part:
    """Neighbours of which one has the end that they share become one."""
    found: list[Interval] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and last.high is not None and last.high == piece.low and (last.high_in or piece.low_in):
            found[-1] = last._replace(high=piece.high, high_in=piece.high_in)
        else:
            found.append(piece)
    return tuple(found)


def write_part(part: Part, name: str) -> str:
    """``x <= -1 or x >= 1``; a line without some points says these."""
    missing = list(_missing(part))
    if missing:
        return f"all real {name} but {_listed([end.text for end in missing])}"
    points = [piece for piece in part if piece.is_point]
    if len(points) == len(part):
        return _listed([piece.written(name) for piece in part])
    return " or ".join(piece.written(name) for piece in part)


def _missing(part: Part) -> Iterator[End]:
    """The points that a part lacks, if it lacks nothing else."""
    if len(part) < 2 or part[0].low is not None or part[-1].high is not None:
        return
    if all(a.high == b.low for a, b in itertools.pairwise(part)):
        yield from (piece.high for piece in part[:-1] if piece.high is not None)


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def decimal_end(value: float) -> End:
    """A number that was found numerically."""
    value = round(value, 10) + 0.0
    return End(f"{value:.6g}", value)


def quadratic(coefficients: Sequence[int], value: float) -> str:
    """The irrational root next to a number of a quadratic polynomial, constant term first: ``(1 + sqrt(5))/2``."""
    c, b, a = coefficients
    inside, outside = b * b - 4 * a * c, 1
    for square in range(2, 1000):
        while inside % (square * square) == 0:
            inside, outside = inside // (square * square), outside * square
    middle = Fraction(-b, 2 * a)
    factor = Fraction(outside if value > middle else -outside, 2 * abs(a))
    below = lcm(middle.denominator, factor.denominator)
    first, second = int(middle * below), int(factor * below)
    radical = f"sqrt({inside})" if abs(second) == 1 else f"{abs(second)}*sqrt({inside})"
    top = f"{first} {'-' if second < 0 else '+'} {radical}" if first else f"{'-' if second < 0 else ''}{radical}"
    if below == 1:
        return top
    return f"({top})/{below}" if first else f"{top}/{below}"
