"""Mixed numbers, ``2 1/2``, as sums; what is not a mixed number stays as it is."""

import re

from dgltree.read.typed.notes import Note, make_note
from dgltree.read.typed.spelling import FRACTIONS

_DIGITS = r"(?:\{\s*([0-9]+)\s*\}|([0-9]))"
_PLAIN = re.compile(r"(?<![\w.,/^)}])([0-9]+)\s+([0-9]+)\s*/\s*([0-9]+)(?![\w.,/^])")
_LATEX = re.compile(rf"(?<![\w.,/^)}}])([0-9]+)\s*(?:\\[,;! ])?\s*\\[dtc]?frac\s*{_DIGITS}\s*{_DIGITS}(?!\s*\^)")
_SIGN = re.compile(rf"(?<![\w.,/^)}}])([0-9]+)\s*([{''.join(FRACTIONS)}])(?![\w^])")


def with_mixed_numbers(text: str) -> tuple[str, tuple[Note, ...]]:
    """The text with ``(2 + 1/2)`` for ``2 1/2``, and a note for each."""
    notes: list[Note] = []

    def replaced(found: re.Match[str]) -> str:
        whole, *parts = (part for part in found.groups() if part)
        sum_ = f"{whole} + {'/'.join(parts)}"
        notes.append(make_note("mixed", text=found[0].strip(), sum=sum_))
        return f"({sum_})"

    for pattern in (_PLAIN, _LATEX, _SIGN):
        text = pattern.sub(replaced, text)
    return text, tuple(dict.fromkeys(notes))
