"""A verdict on an equation says how sure it is, where the equation holds, and a point where it does not."""

import enum
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple


class Grade(enum.Enum):
    """The basis of a verdict; the values are the codes in JSON."""

    PROVED = "proved"
    """The difference of the sides is 0 by rational arithmetic with true relations."""
    TESTED = "tested"
    """The sides agree to 60 digits at every point that was tried."""
    ROUNDED = "rounded"
    """The sides agree at a number next to the one that is written, to 12 digits of it."""
    REFUTED = "refuted"
    """There is a point at which balls that surely contain the sides' values do not meet."""
    UNDECIDED = "undecided"


class Doubt(enum.Enum):
    """Why an equation is undecided."""

    NO_VALUE = "a side has no value"
    NOT_COMPARED = "values are too large, too small, too much alike or too few"
    NOT_READ = "a part has no rules, or there are too many parts"
    NO_TIME = "there was no time"
    FAULT = "this program has a fault"


class Domain(enum.Enum):
    """Where an equation holds, from the strongest to the weakest; the values are the codes in JSON."""

    EVERYWHERE = "everywhere"
    """At complex points, with principal values, wherever both sides have a value."""
    REALS = "reals"
    """Wherever a side is real, the other is and agrees."""
    SOLVED = "solved"
    """An unknown has this value wherever the equation has a solution, at drawn values of its other letters."""
    POSITIVE = "positive"
    """At positive points: wherever both sides are real."""
    PART = "part"
    """On intervals or at points of the real line."""
    NONE = "none"
    """Not as a whole, and no part is known."""


class Tested(NamedTuple):
    """The points at which an equation was tried."""

    agreed: int
    skipped: int
    """Points at which balls leave open what the sides are."""
    low: str
    high: str
    """The numbers between which the points lie."""

    def __str__(self) -> str:
        left_out = f", {self.skipped} skipped" if self.skipped else ""
        points = "point" if self.agreed == 1 else "points"
        between = f" from {self.low} to {self.high}" if self.low else ""
        return f"agrees at {self.agreed} {points}{between}{left_out}"


class Counterexample(NamedTuple):
    """Values of the variables at which the sides of an equation differ, as they are written."""

    variables: Mapping[str, str]
    left: str
    right: str

    def __str__(self) -> str:
        names = ", ".join(f"{name} = {value}" for name, value in self.variables.items())
        return f"{f'at {names} ' if names else ''}left {self.left}, right {self.right}"


class End(NamedTuple):
    """A number at which an interval ends."""

    text: str
    """Exact if it is rational or a quadratic irrational, else a decimal of six digits."""
    value: float

    def __str__(self) -> str:
        return self.text


class Interval(NamedTuple):
    """An interval from ``low`` to ``high``; None stands for no end."""

    low: End | None
    high: End | None
    low_in: bool = False
    """Whether the end is part of it."""
    high_in: bool = False

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high

    def written(self, name: str) -> str:
        """Write the interval, as ``x <= 4``."""
        left = "≤" if self.low_in else "<"
        right = "≤" if self.high_in else "<"
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
        """The interval for JSON."""
        ends = {"from": self.low and str(self.low), "to": self.high and str(self.high)}
        return {**ends, "from_included": self.low_in, "to_included": self.high_in}


ZERO_END = End("0", 0.0)
Part = tuple[Interval, ...]
"""Intervals in order, none of which meets another."""


@dataclass(frozen=True)
class Verdict:
    """A verdict on an equation."""

    grade: Grade
    domain: Domain = Domain.NONE
    variable: str = ""
    """The only variable, of which ``part`` tells."""
    part: Part = ()
    """Where on the real line it holds, in one variable, as far as that is known."""
    only: bool = False
    """Whether it holds nowhere else on the real line."""
    agrees: Part = ()
    """Where, outside of a proved ``part``, the sides agree at every point that was tried, and nothing is proved."""
    window: tuple[float, float] | None = None
    """The numbers between which ``part`` was looked for; None for the whole line."""
    period: str = ""
    """The period of an equation of which ``window`` is one."""
    conditions: tuple[str, ...] = ()
    """Where it does not hold although it does all around, or may not: ``x = -3``, ``x + y = 0``."""
    both_real: bool = False
    """Whether there are points of the domain at which one side alone is real; it holds where both are."""
    tested: Tested | None = None
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = ()
    """Readings: of odd roots, of ``i``."""
    doubt: Doubt | None = None
    """Why it is undecided."""
    reason: str = ""
    """Why it is undecided, in words."""

    @property
    def rank(self) -> int:
        """The rank by where it holds, 0 for the strongest; undecided is 5, and what does not hold 6."""
        if self.grade is Grade.UNDECIDED:
            return 5
        return _RANKS[self.domain]

    @property
    def holds(self) -> bool:
        """Whether the equation holds at least on positive reals."""
        return self.rank <= _RANKS[Domain.POSITIVE]

    @property
    def place(self) -> str:
        """Where it holds, in words."""
        if self.grade is Grade.UNDECIDED:
            return "undecided"
        if self.grade is Grade.ROUNDED:
            return "holds to 12 digits"
        but = f" but {' or '.join(self.conditions)}" if self.conditions else ""
        if self.domain is Domain.EVERYWHERE:
            return f"holds everywhere{but}"
        if self.domain is Domain.REALS and not (self.part and self.only and len(self.part) == 1 and self._bounded):
            return f"holds on the reals{but}"
        if self.domain is Domain.SOLVED:
            return "holds wherever there is a solution"
        if self.domain is Domain.PART and not self.part:
            return "holds for some values of the letters"
        if self.domain is Domain.POSITIVE and not self.part:
            return f"holds on positive reals{' where both sides are real' if self.both_real else ''}{but}"
        if self.domain is Domain.NONE:
            return f"holds for no real {self.variable}" if self.only else "does not hold"
        shown = [one for one in self.conditions if not one.startswith(f"{self.variable} = ")]  # no ends of the part
        return self._on_part(f" but {' or '.join(shown)}" if shown else "")

    @property
    def is_at_whole_numbers(self) -> bool:
        """Whether it holds at each whole number, and nothing is known between them."""
        return self.period in ("1", "1/2") and all(piece.is_point and piece.low == ZERO_END for piece in self.part)

    @property
    def _bounded(self) -> bool:
        return any(piece.low or piece.high for piece in self.part)

    def _on_part(self, but: str) -> str:
        if self.window is None:
            only = " only" if self.only and all(piece.is_point for piece in self.part) else ""
            return f"holds for {write_part(self.part, self.variable)}{only}{but}"
        if self.period and all(piece.low == piece.high == ZERO_END for piece in self.part):
            multiple = f"{self.variable} = {self.period}*k for each whole k"
            return f"holds for {f'each whole {self.variable}' if self.period == '1' else multiple}"
        low, high = (f"{end:g}" for end in self.window)
        pieces = " and ".join(
            f"at {piece.low}" if piece.is_point else f"from {piece.low or low} to {piece.high or high}"
            for piece in self.part
        )
        if self.period:
            return f"holds for {self.variable} {pieces}, and so in each period of {self.period}"
        return f"between {low} and {high} it holds for {self.variable} {pieces}"

    @property
    def short(self) -> str:
        """Where it holds, and by which grade."""
        known = self.grade in (Grade.PROVED, Grade.TESTED)
        return f"{self.place} ({self.grade.value})" if known else self.place

    def __str__(self) -> str:
        """One sentence, with the counterexample, the points and the readings."""
        first = self.short
        if self.reason:
            first += f": {self.reason}"
        if self.grade is Grade.TESTED and self.tested is not None:
            first += f": {self.tested}"
        if self.agrees:
            first += f"; for {write_part(self.agrees, self.variable)} the sides agree at every point tried (tested)"
        if self.counterexample is not None:
            first += f"{':' if self.domain is Domain.NONE and not self.only else ';'} {self.counterexample}"
        return "; ".join([first, *self.notes])

    @property
    def described(self) -> dict[str, Any]:
        """The verdict for JSON: codes, and the details that there are."""
        row: dict[str, Any] = {"verdict": self.place, "grade": self.grade.value, "domain": self.domain.value}
        if self.part:
            row["part"] = [piece.described for piece in self.part]
            row["only"] = self.only
        if self.agrees:
            row["agrees"] = [piece.described for piece in self.agrees]
        if self.period:
            row["period"] = self.period
        if self.conditions:
            row["conditions"] = list(self.conditions)
        if self.tested is not None:
            row["tested"] = self.tested._asdict()
        if self.counterexample is not None:
            row["counterexample"] = self.counterexample._asdict() | {"variables": dict(self.counterexample.variables)}
        if self.notes:
            row["notes"] = list(self.notes)
        if self.reason:
            row["reason"] = self.reason
        return row


_RANKS = {domain: rank for rank, domain in enumerate((*list(Domain)[:-1], None, Domain.NONE))}


def undecided(reason: str, doubt: Doubt) -> Verdict:
    return Verdict(Grade.UNDECIDED, doubt=doubt, reason=reason)


# Parts of the real line in words, and ends as they are written


def join_parts(pieces: Sequence[Interval]) -> Part:
    """Return the intervals, of which neighbours become one if one has the end that they share."""
    found: list[Interval] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and last.high is not None and last.high == piece.low and (last.high_in or piece.low_in):
            found[-1] = last._replace(high=piece.high, high_in=piece.high_in)
        else:
            found.append(piece)
    return tuple(found)


def write_part(part: Part, name: str) -> str:
    """Write a part, as ``x <= -1 or x >= 1``; of a line without some points these are named."""
    missing = list(_missing(part))
    if missing:
        return f"all real {name} but {_listed([end.text for end in missing])}"
    points = [piece for piece in part if piece.is_point]
    if len(points) == len(part):
        return _listed([piece.written(name) for piece in part])
    return " or ".join(piece.written(name) for piece in part)


def _missing(part: Part) -> Iterator[End]:
    """Yield the points that a part lacks, if it lacks nothing else."""
    if len(part) < 2 or part[0].low is not None or part[-1].high is not None:
        return
    if all(a.high == b.low for a, b in itertools.pairwise(part)):
        yield from (piece.high for piece in part[:-1] if piece.high is not None)


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def decimal_end(value: float) -> End:
    """Return the end of a number that was found numerically."""
    value = round(value, 10) + 0.0
    return End(f"{value:.6g}", value)


def quadratic(coefficients: Sequence[int], value: float) -> str:
    """Write the irrational root next to a number, of a quadratic with its constant term first: ``(1 + sqrt(5))/2``."""
    c, b, a = coefficients
    inside = b * b - 4 * a * c
    outside = 1
    for square in range(2, 1000):
        while inside % (square * square) == 0:
            inside = inside // (square * square)
            outside = outside * square
    middle = Fraction(-b, 2 * a)
    factor = Fraction(outside if value > middle else -outside, 2 * abs(a))
    below = lcm(middle.denominator, factor.denominator)
    first = int(middle * below)
    second = int(factor * below)
    radical = f"sqrt({inside})" if abs(second) == 1 else f"{abs(second)}*sqrt({inside})"
    top = f"{first} {'-' if second < 0 else '+'} {radical}" if first else f"{'-' if second < 0 else ''}{radical}"
    if below == 1:
        return top
    return f"({top})/{below}" if first else f"{top}/{below}"
