"""The text of an answer, or of a question, without what the reader of equations does not read: marks, units, words."""

from typing import NamedTuple
from unicodedata import normalize

from dgltree.equations.checking.numerals import (
    DECIMALS,
    RoundedNumber,
    rounded_number,
    with_decimal_points,
    with_plain_numbers,
)
from dgltree.equations.checking.units import WithUnits, with_units
from dgltree.read.text import one_line
from dgltree.read.typed.mixed_numbers import with_mixed_numbers
from dgltree.read.typed.notes import Note

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
            raise ValueError(
                f"'{one_line(text, 40)}' has {len(text):,} characters, and at most {MAX_ANSWER_LENGTH:,} are read"
            )
        text, notes = with_plain_numbers(normalize("NFC", text)), tuple[Note, ...]()
        if self.decimal is not None:
            text, notes = with_decimal_points(text, self.decimal, self.lists)
        text, more = with_mixed_numbers(text) if self.mixed else (text, ())
        found = with_units(text) if self.units else WithUnits(text, frozenset())
        return PlainText(found.text, found.bases, (*notes, *more), found.numeral, found.unit)


class Rounding(NamedTuple):
    """The decimals that are right for a value, next to the exact one.

    Args:
        places: behind the point; None for any number of them.
        digits: significant ones; None for any number of them.
    """

    places: int | None = None
    digits: int | None = None

    @property
    def is_required(self) -> bool:
        """Whether only a decimal of so many places or digits is what was asked for."""
        return self.places is not None or self.digits is not None

    def number(self, text: str) -> RoundedNumber | None:
        """The decimal that a text is, if people round to it."""
        found = rounded_number(text.replace(",", ".") if text.count(",") == 1 else text)
        if found is None or (found.is_digit and not self.is_required):
            return None
        return found if self.digits is None else found.with_digits(self.digits)


def check_decimal(decimal: str | None) -> None:
    """Raises ``ValueError`` for another mark than these."""
    if decimal is not None and decimal not in DECIMALS:
        raise ValueError(f"unknown decimal mark {decimal!r:.60}; it is comma or point")


def rounding_of(rounded: bool | int, significant: int | None) -> Rounding | None:
    """The rule of the options ``rounded`` and ``significant``; None for exact answers only.

    Raises ``ValueError`` for both, and for numbers that are none of digits.
    """
    if significant is not None:
        if rounded is not False:
            raise ValueError("rounded and significant exclude each other; give one of them")
        if not 1 <= significant <= MAX_DIGITS:
            raise ValueError(f"significant is {significant}; expected a number of digits from 1 to {MAX_DIGITS}")
        return Rounding(digits=significant)
    if isinstance(rounded, bool):
        return Rounding() if rounded else None
    if not 0 <= rounded <= MAX_DIGITS:
        raise ValueError(f"rounded is {rounded}; expected a number of places from 0 to {MAX_DIGITS}, or True")
    return Rounding(places=rounded)


MAX_DIGITS = 30
"""To which an answer may have to be rounded."""
