"""Texts of answers and questions are rid of what the reader of equations does not read.

These are decimal commas, marks of thousands, percent, mixed numbers (``2 1/2`` becomes ``(2 + 1/2)``) and units.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import normalize

from dgltree.equations.marking.numerals import DECIMALS, with_decimal_points, with_plain_numbers
from dgltree.equations.marking.units import WithUnits, with_sums_of_quantities, with_units
from dgltree.equations.typed.notes import Note, make_note
from dgltree.equations.typed.spelling import FRACTIONS, SUBSCRIPTS, SUPERSCRIPTS
from dgltree.read.text import one_line
from dgltree.support.refusal import Refusal

MAX_ANSWER_LENGTH = 10_000
"""Characters of an answer: a longer one is a mistake, and takes minutes to read."""


_FRAMES = [
    re.compile(frame, re.DOTALL)
    for frame in (
        r"\$\$?([^$]*)\$\$?",
        r"\\\(((?:(?!\\\)).)*)\\\)",
        r"\\\[((?:(?!\\\]).)*)\\\]",
        r"\*\*([^*]*)\*\*",
        r"\*([^*]*)\*",
        r"`([^`]*)`",
        r"\\(?:boxed|fbox)\s*\{(.*)\}",
        r"\\text\s*\{([^{}]*)\}",
    )
]
"""Marks that LaTeX and Markdown put around a whole answer."""
_INDICES = re.compile(r"^\s*([^\W\d_])(?:_?\{\s*1\s*[,;/|]\s*2\s*\}|_?1\s*[,/]\s*2|₁\s*[,/]\s*₂|₁₂)\s*(?==)")
_THIN, _SPACED = (
    re.compile(rf"(?<![\w.,])[1-9][0-9]{{0,2}}(?:(?:\\[, ]|[{spaces}])[0-9]{{3}})+(?![0-9])")
    for spaces in ("~\u00a0\u2009\u202f", " ~\u00a0\u2009\u202f")
)
"""Groups of thousands by LaTeX's and other thin spaces; next to units by any space."""
_RAISED = "".join(digit for digit, plain in SUPERSCRIPTS.items() if plain.isdigit())
_SLANTED = re.compile(rf"([{_RAISED}]+)[⁄/]([{''.join(SUBSCRIPTS)}]+)")


def undressed(text: str) -> str:
    """``x = 4`` of ``$x = 4$``, ``\\boxed{x=4}``, ``**x = 4**`` and ``x_{1,2} = 4``: an answer as it was pasted."""
    inner: str | None = text if len(text) <= MAX_ANSWER_LENGTH else None
    while inner is not None:
        text = inner.strip()
        frames = [pattern.fullmatch(text) for pattern in _FRAMES]
        inner = next((frame[1] for frame in frames if frame and _is_balanced(frame[1])), None)
    return _INDICES.sub(r"\1 ", text)


def _is_balanced(text: str) -> bool:
    """Whether each brace is closed within: ``\\boxed{2} + \\frac{1}{2}`` is in no box."""
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return not depth


class PlainText(NamedTuple):
    """A text without mixed numbers, units and marks of thousands."""

    text: str
    bases: frozenset[str] = frozenset()
    """The base units in it."""
    notes: tuple[Note, ...] = ()
    numeral: str = ""
    """The number of a text that is one quantity."""
    unit: str = ""
    """Unit of the answer, in base units."""


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
        text = (_SPACED if self.units else _THIN).sub(lambda group: re.sub(r"[^0-9]", "", group[0]), text)
        notes: tuple[Note, ...] = ()
        if self.decimal is not None:
            text, notes = with_decimal_points(text, self.decimal, self.lists)
        text, more = with_mixed_numbers(text, (_PLAIN, _LATEX, _SIGN) if self.mixed else (_SIGN,))
        text = _SLANTED.sub(_fraction, text)
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
_SIGN = re.compile(
    rf"(?<![\w.,/^)}}])([0-9]+)\s*([{''.join(FRACTIONS)}]|[{_RAISED}]+⁄[{''.join(SUBSCRIPTS)}]+)(?![\w^])"
)


def _fraction(found: re.Match[str]) -> str:
    """``(5/4)`` of ``⁵⁄₄``"""
    top, bottom = found.groups()
    return f"({''.join(SUPERSCRIPTS[one] for one in top)}/{''.join(SUBSCRIPTS[one] for one in bottom)})"


def with_mixed_numbers(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, tuple[Note, ...]]:
    """The text with ``(2 + 1/2)`` for ``2 1/2`` and ``2½``, in these spellings, and a note for each."""
    notes: list[Note] = []

    def replaced(found: re.Match[str]) -> str:
        whole, *parts = (part for part in found.groups() if part)
        sum_ = f"{whole} + {'/'.join(parts)}"
        notes.append(make_note("mixed", text=found[0].strip(), sum=sum_))
        return f"({sum_})"

    for pattern in patterns:
        text = pattern.sub(replaced, text)
    return text, tuple(dict.fromkeys(notes))
