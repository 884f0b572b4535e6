"""One token of a typed text, and what is read of its characters."""

from typing import NamedTuple

from dgltree.read.typed.spelling import SUBSCRIPTS


class Token(NamedTuple):
    """A piece of the text."""

    kind: str
    """number, fraction, name, word (a name that is never split), constant, blank, function, an operator's own
    character, open, close, bar, frac, root (LaTeX's, with braces), over, sub (the base of a logarithm follows)"""
    text: str
    """As the strict notation has it."""
    start: int
    stop: int
    gap: bool
    """Whether there is white space before it."""


def arguments(text: str, start: int) -> int:
    """How many arguments are in the bracket that opens at ``start``; 0 if none opens there."""
    if text[start : start + 1] not in ("(", "["):
        return 0
    depth, count = 0, 1
    for character in text[start:]:
        depth += (character in "([{") - (character in ")]}")
        count += depth == 1 and character in ",;"
        if not depth:
            return count
    return 0


def lift_subscripts(digits: str) -> str:
    """Subscript digits as plain ones."""
    return "".join(SUBSCRIPTS[digit] for digit in digits)
