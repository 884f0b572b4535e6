"""Marks are values: codes, counts, numbers, and the points for them; sentences.py makes sentences of them."""

import enum
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite, pi
from typing import Any, Final, NamedTuple

from dgltree.equations.marking.sentences import SENTENCES, Cause, with_decimal_commas, write_note, write_sentence
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Verdict, undecided
from dgltree.equations.typed.notes import Note
from dgltree.support.arguments import nearest
from dgltree.support.refusal import Refusal

VERSION = 1
"""The version of the record of a mark; docs/check.schema.json is its schema."""


class Mark(enum.Enum):
    """How good an answer is; the values are the codes in JSON."""

    RIGHT = "right"
    FORM = "form"
    """Right, but not in the form that was asked for."""
    PART = "part"
    """Right on a part of the numbers for which the rest of the equation has a value."""
    WRONG = "wrong"
    UNDECIDED = "undecided"
    INCOMPLETE = "incomplete"
    """Right, but there are more solutions."""
    POSITIVE = "positive"
    """Right if the letters are positive, as lengths and times are: a solution with another sign is missing."""
    UNREADABLE = "unreadable"
    """It has no meaning, or two; the error says why."""
    EMPTY = "empty"
    """There is no answer."""
    NOT_ASKED = "not-asked"
    """There is no question, or it cannot be read."""
    OUT_OF_TIME = "out-of-time"
    """There was no verdict within the time that it may take."""


SEVERITY = (Mark.RIGHT, Mark.POSITIVE, Mark.INCOMPLETE, Mark.FORM, Mark.PART, Mark.UNDECIDED, Mark.WRONG)
"""Marks in the order in which they count: of several solutions the last one does."""
UNJUDGED = (Mark.UNREADABLE, Mark.EMPTY, Mark.NOT_ASKED, Mark.OUT_OF_TIME)
"""The marks of what no verdict is given on."""


def mark_of(verdict: Verdict, right: bool) -> Mark:
    """The mark of one answer by its verdict, and by whether that holds wherever the rest has a value."""
    if verdict.grade is Grade.UNDECIDED:
        return Mark.UNDECIDED
    if right:
        return Mark.RIGHT
    are_points = bool(verdict.part) and all(piece.is_point for piece in verdict.part)
    if verdict.domain is Domain.NONE or (are_points and not verdict.is_at_whole_numbers):
        return Mark.WRONG
    return Mark.PART


class Lack(NamedTuple):
    """The part of a required form that an answer lacks."""

    code: str
    """A key of ``SENTENCES`` without its ``lack.``."""
    values: Mapping[str, str] = {}
    form: str = ""
    """A key of ``FORMS``."""
    path: tuple[int, ...] | None = None
    """The place of ``values["part"]`` in the tree of the answer as it is written: child by child from the root; None if
    the whole is meant."""
    span: tuple[int, int] | None = None
    """Span in the text of the answer, ``text[span[0]:span[1]]``; None if it is not written there word for word."""

    @property
    def explanation(self) -> Cause:
        return Cause(f"lack.{self.code}", self.values)

    def map(self, change: Callable[[str], str]) -> "Lack":
        """Return the lack with changed values."""
        return self._replace(values={name: change(value) for name, value in self.values.items()})

    @property
    def record(self) -> dict[str, Any]:
        """For JSON."""
        path = None if self.path is None else list(self.path)
        span = None if self.span is None else list(self.span)
        return {"form": self.form, "code": self.code, "values": dict(self.values), "path": path, "span": span}


class SolutionCounts(NamedTuple):
    """Solutions of an answer, or 0 and 1 for the filler of a blank."""

    right: int
    given: int
    required: int | None
    """How many there are; None if that is not known, or if there are infinitely many."""


class Checked(NamedTuple):
    """An answer with its mark and its verdict."""

    answer: str
    """The answer as it was understood."""
    mark: Mark
    verdict: Verdict
    """The verdict on the equation with the answer in its blank."""
    lacking: Lack | None = None
    """The part of the required form that is missing."""
    notes: tuple[Note, ...] = ()
    """Notes on how the answer was read."""
    cause: Cause | None = None
    """Why it has its mark, if that is more than the verdict says."""
    solutions: "tuple[Checked, ...]" = ()
    """The solutions that it lists, each with its own mark."""
    missing: tuple[str, ...] = ()
    """Solutions that it lacks, as far as they are known."""
    required: int | None = None
    """How many solutions there are; None if that is not known, or if there are infinitely many."""
    decimal: str = "point"
    """The decimal mark of the question: ``comma`` or ``point``."""

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, table: Mapping[str, str] = SENTENCES) -> str:
        """The mark in words, by the templates of a table."""
        text = write_sentence(self.explanation, table)
        return with_decimal_commas(text) if self.decimal == "comma" else text

    def noted(self, table: Mapping[str, str] = SENTENCES) -> list[str]:
        """The notes by the templates of a table."""
        return [write_note(note, table) for note in self.notes]

    @property
    def said(self) -> str:
        """The sentence, if it is more than the verdict says."""
        return "" if self.cause is None or self.mark in UNJUDGED else self.sentence()

    @property
    def lack(self) -> str:
        """The lack of the required form in words."""
        if self.lacking is None:
            return ""
        return f"not {SENTENCES[f'form.{self.lacking.form}']}: {write_sentence(self.lacking.explanation)}"

    @property
    def error(self) -> str:
        """Why it could not be read."""
        value = self.explanation.values.get("error", "") if self.mark in UNJUDGED else ""
        return value if isinstance(value, str) else ""

    @property
    def is_judged(self) -> bool:
        """Whether it was read and judged within its time, and without a fault of this program."""
        unread = (Mark.UNREADABLE, Mark.NOT_ASKED, Mark.OUT_OF_TIME)
        return self.mark not in unread and self.verdict.doubt is not Doubt.FAULT

    @property
    def counts(self) -> SolutionCounts:
        """How many solutions are right, given, and required."""
        if self.mark in UNJUDGED:
            return SolutionCounts(0, 0, self.required)
        parts = self.solutions or (self,)
        return SolutionCounts(sum(part.mark in _RIGHT for part in parts), len(parts), self.required)

    @property
    def explanation(self) -> Cause:
        """Why it has its mark, as a code with values."""
        if self.cause is not None:
            return self.cause
        verdict = self.verdict
        codes = {"domain": verdict.domain.value, "grade": verdict.grade.value}
        if self.mark is Mark.FORM and self.lacking is not None:
            return Cause("form", {"form": self.lacking.form, "lack": self.lacking.explanation})
        if self.mark is Mark.WRONG and (shown := verdict.counterexample) is not None:
            point = ", ".join(f"{name} = {value}" for name, value in shown.variables.items())
            sides = {"left": _side(shown.left), "right": _side(shown.right)}
            return Cause("wrong-at", {"point": point, **sides}) if point else Cause("wrong-number", sides)
        text = verdict.short if self.mark is Mark.RIGHT else str(verdict)
        if self.mark is Mark.PART and verdict.domain is Domain.POSITIVE:
            return Cause("part-positive", {"verdict": text, **codes})
        return Cause(self.mark.value, {"verdict": text, **codes})

    @property
    def record(self) -> dict[str, Any]:
        """All of it as plain values, for JSON: docs/check.schema.json is the schema."""
        row: dict[str, Any] = {"version": VERSION, "answer": self.answer, "mark": self.mark.value}
        row |= {"lack": self.lack} if self.lacking is not None else {}
        row |= {"said": self.said} if self.said else {}
        row |= {"sentence": self.sentence(), "explanation": self.explanation.record, "counts": self.counts._asdict()}
        if self.solutions:
            row["solutions"] = [part.short_record for part in self.solutions]
        row |= {"missing": list(self.missing)} if self.missing else {}
        row |= {"lacking": self.lacking.record} if self.lacking is not None else {}
        row |= {"error": self.error} if self.error else {}
        if self.mark not in UNJUDGED:
            row |= self.verdict.described
            row |= self._difference()
        row["notes"] = self.noted()
        row["note_codes"] = [{"code": note.code, "values": dict(note.values)} for note in self.notes]
        return row

    @property
    def short_record(self) -> dict[str, Any]:
        """The answer, its mark and the reason: of one solution of several."""
        return {"answer": self.answer, "mark": self.mark.value, "explanation": self.explanation.record}

    def with_decimal(self, decimal: str) -> "Checked":
        """The mark with the decimal mark of its question, in which its numbers are written then."""
        found = self._replace(decimal=decimal)
        if decimal == "point":
            return found
        return found._replace(
            answer=with_decimal_commas(self.answer),
            cause=self.cause and self.cause.map(with_decimal_commas),
            lacking=self.lacking and self.lacking.map(with_decimal_commas),
            solutions=tuple(part.with_decimal(decimal) for part in self.solutions),
            missing=tuple(map(with_decimal_commas, self.missing)),
        )

    def _difference(self) -> dict[str, Any]:
        """The point at which the sides differ, as numbers."""
        shown = self.verdict.counterexample
        if shown is None:
            return {}
        point = {name: _number(value) for name, value in shown.variables.items()}
        return {"differs_at": {"variables": point, "left": _number(shown.left), "right": _number(shown.right)}}


_RIGHT = (Mark.RIGHT, Mark.FORM, Mark.INCOMPLETE)
"""The marks of a solution that is one."""


def unjudged(mark: Mark, answer: str, **values: str) -> Checked:
    """The mark of an answer on which there is no verdict."""
    doubt = Doubt.NO_TIME if mark is Mark.OUT_OF_TIME else Doubt.NOT_READ
    return Checked(answer, mark, undecided(values.get("error", ""), doubt), cause=Cause(mark.value, values))


_LESS = re.compile(r"is that (less|plus) (.*)")
_ANGLE = re.compile(r"(-?[0-9]*)pi(?:/([0-9]+))?")


def _side(text: str) -> Cause:
    """``is 4`` of a counterexample, ``has no value`` and ``is that less 1e-20``."""
    if found := _LESS.fullmatch(text):
        return Cause(f"side.{found[1]}", {"value": found[2]})
    if text.startswith("is "):
        return Cause("side.is", {"value": text.removeprefix("is ")})
    return Cause("side.none")


def _number(text: str) -> float | None:
    """The number of ``is 1/3``, ``-pi/6`` and ``2.5``; None of one that is not real, or not written out."""
    text = text.removeprefix("is ")
    if found := _ANGLE.fullmatch(text):
        top = {"": 1, "-": -1}.get(found[1]) or int(found[1])
        return top * pi / int(found[2] or 1)
    try:  # as a fraction, 1e1000000 would be worked out
        number = float(text) if "e" in text else float(Fraction(text))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return number if isfinite(number) else None


SHARE: Final = "share"
"""Points of an answer in proportion to its right solutions: 1/2 of ``2`` for ``x^2 = 4``, 0 of ``2, 5``."""
POINTS: Mapping[str, float | str] = {"right": 1.0}
"""Points by the code of the mark; a mark that is not there has 0."""
_CODES = [mark.value for mark in Mark]


def points(checked: Checked, table: Mapping[str, float | str] = POINTS) -> float:
    """The points of a marked answer.

    Args:
        checked: of :func:`dgltree.check`.
        table: points by the codes of marks, numbers or ``share``: the points of ``right`` times the right solutions,
            less the wrong ones, among those that there are.
    """
    value = table.get(checked.mark.value, 0.0)
    if value != SHARE:
        return float(value)
    right, given, required = checked.counts
    whole = float(table.get("right", 1.0))
    return whole * max(0, 2 * right - given) / max(required, right) if required else 0.0


def read_points(text: str) -> dict[str, float | str]:
    """The table of ``right=2,incomplete=share,form=1``. Raises ``ValueError`` for what is none."""
    table: dict[str, float | str] = dict(POINTS)
    for entry in text.split(","):
        code, sign, value = (part.strip() for part in entry.partition("="))
        if code not in _CODES:
            raise Refusal(f"there is no mark {code!r} ({nearest(code, _CODES)}); write right=2,incomplete=1")
        if sign and value == SHARE and code != "right":
            table[code] = SHARE
            continue
        try:
            table[code] = float(value)
        except ValueError:
            table[code] = math.nan
        if not math.isfinite(float(table[code])):
            expected = "a number" if code == "right" else "a number, or share"
            raise Refusal(f"the points of {code} are {value!r}; expected {expected}")
    return table
