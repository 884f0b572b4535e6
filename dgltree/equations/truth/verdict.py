"""Verdict on an equation: how sure it is, where it holds, and a point where it does not."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dgltree.equations.truth.part import Part, write_part


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


class Domain(enum.Enum):
    """Where an equation holds, from the strongest to the weakest; the values are the codes in JSON."""

    EVERYWHERE = "everywhere"
    """At complex points, with principal values, wherever both sides have a value."""
    REALS = "reals"
    """Wherever a side is real, the other is and agrees."""
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
    """Between which they lie."""

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


@dataclass(frozen=True)
class Verdict:
    """A verdict on an equation."""

    grade: Grade
    domain: Domain = Domain.NONE
    variable: str = ""
    """The only one, of which ``part`` tells."""
    part: Part = ()
    """Where on the real line it holds, in one variable, as far as that is known."""
    only: bool = False
    """Whether it holds nowhere else on the real line."""
    agrees: Part = ()
    """Where, outside of a proved ``part``, the sides agree at every point that was tried, and nothing is proved."""
    window: tuple[float, float] | None = None
    """Between which numbers ``part`` was looked for; None: on the whole line."""
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
    """Why it is undecided, and"""
    reason: str = ""
    """the same in words."""

    @property
    def rank(self) -> int:
        """0 for the strongest, by where it holds; undecided is 4, and what does not hold 5."""
        if self.grade is Grade.UNDECIDED:
            return 4
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
        if self.domain is Domain.POSITIVE and not self.part:
            return f"holds on positive reals{' where both sides are real' if self.both_real else ''}{but}"
        if self.domain is Domain.NONE:
            return f"holds for no real {self.variable}" if self.only else "does not hold"
        shown = [one for one in self.conditions if not one.startswith(f"{self.variable} = ")]  # no ends of the part
        return self._on_part(f" but {' or '.join(shown)}" if shown else "")

    @property
    def _bounded(self) -> bool:
        return any(piece.low or piece.high for piece in self.part)

    def _on_part(self, but: str) -> str:
        if self.window is None:
            only = " only" if self.only and all(piece.is_point for piece in self.part) else ""
            return f"holds for {write_part(self.part, self.variable)}{only}{but}"
        low, high = (f"{end:g}" for end in self.window)
        pieces = " and ".join(f"from {piece.low or low} to {piece.high or high}" for piece in self.part)
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
        """For JSON: codes, and the details that there are."""
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


_RANKS = {domain: rank for rank, domain in enumerate((*list(Domain)[:4], None, Domain.NONE))}


def undecided(reason: str, doubt: Doubt) -> Verdict:
    return Verdict(Grade.UNDECIDED, doubt=doubt, reason=reason)
