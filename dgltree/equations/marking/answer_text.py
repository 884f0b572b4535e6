"""Texts of answers and questions are rid of what the reader of equations does not read.

These are decimal commas, marks of thousands, percent, mixed numbers (``2 1/2`` becomes ``(2 + 1/2)``) and units.
"""

import re
from typing import NamedTuple
from unicodedata import normalize

from dgltree.equations.marking.numerals import DECIMALS, with_decimal_points, with_plain_numbers
from dgltree.equations.marking.units import WithUnits, with_sums_of_quantities, with_units
from dgltree.equations.typed.notes import Note, make_note
from dgltree.equations.typed.spelling import FRACTIONS
from dgltree.read.text import one_line
from dgltree.support.refusal import Refusal

MAX_ANSWER_LENGTH = 10_000
"""Characters of an answer: a longer one is a mistake, and takes minutes to read."""


class PlainText(NamedTuple):
    """A text without mixed numbers, units and marks of thousands."""

    text: str
    bases: frozenset[str] = frozenset()
    """The base units in it."""
    notes: tuple[Note, ...] = ()
    numeral: str = ""
    """The number of a text that is one quantity."""
    unit: str = ""
    """Its unit, in base units."""


class TextRules(NamedTuple):
    """How texts are read.

    Args:
        mixed, units: as of :func:`dgltree.check`.
        decimal: ``comma`` or ``point``, if that is known.
        lists: whether answers list solutions.
    """

    mixed: bool = False
    units: bool = False
    decimal: str | None = None
    lists: bool = False

    def plain(self, text: str) -> PlainText:
        """A text as the reader of equations reads it. Raises ``ValueError`` for one that is too long."""
        if len(text) > MAX_ANSWER_LENGTH:
            raise Refusal(
                f"'{one_line(text, 40)}' has {len(text):,} characters; at most {MAX_ANSWER_LENGTH:,} are read"
            )
        text = with_plain_numbers(normalize("NFC", text))
        notes: tuple[Note, ...] = ()
        if self.decimal is not None:
            text, notes = with_decimal_points(text, self.decimal, self.lists)
        more: tuple[Note, ...] = ()
        if self.mixed:
            text, more = with_mixed_numbers(text)
        if self.mixed and self.units:
            text, sums = with_sums_of_quantities(text)
            more = (*more, *sums)
        found = with_units(text) if self.units else WithUnits(text, frozenset())
        return PlainText(found.text, found.bases, (*notes, *more), found.numeral, found.unit)


def check_decimal(decimal: str | None) -> None:
    """Raises ``ValueError`` for another mark than these."""
    if decimal is not None and decimal not in DECIMALS:
        raise Refusal(f"unknown decimal mark {decimal!r:.60}; it must be comma or point")


_DIGITS = r"(?:\{\s*([0-9]+)\s*\}|([0-9]))"
_PLAIN = re.compile(r"(?<![\w.,/^)}])([0-9]+)\s+([0-9]+)\s*/\s*([0-9]+)(?![\w.,/^])")
_LATEX = re.compile(rf"(?<![\w.,/^)}}])([0-9]+)\s*(?:\\[,;! ])?\s*\\[dtc]?frac\s*{_DIGITS}\s*{_DIGITS}(?!\s*\^)")
_SIGN = re.compile(rf"(?<![\w.,/^)}}])([0-9]+)\s*([{''.join(FRACTIONS)}])(?![\w^])")


def with_mixed_numbers(text: str) -> tuple[str, tuple[Note, ...]]:
    """The text with ``(2 + 1/2)`` for ``2 1/2``, and a note for each; what is not a mixed number stays as it is."""
    notes: list[Note] = []

    def replaced(found: re.Match[str]) -> str:
        whole, *parts = (part for part in found.groups() if part)
        sum_ = f"{whole} + {'/'.join(parts)}"
        notes.append(make_note("mixed", text=found[0].strip(), sum=sum_))
        return f"({sum_})"

    for pattern in (_PLAIN, _LATEX, _SIGN):
        text = pattern.sub(replaced, text)
    return text, tuple(dict.fromkeys(notes))
