"""Items on one level of brackets: tokens, and inner levels that are finished."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TextPiece(NamedTuple):
    """A piece of strict text."""

    text: str
    start: int
    """The place in the typed text that it comes from."""


Pieces: TypeAlias = Sequence["TextPiece | Pieces"]
"""Strict text. Nested, because to join the texts of 10^5 levels one by one would copy each as often."""


class Item(NamedTuple):
    """A token, or a level of brackets."""

    kind: str
    """A token's kind, or ``group`` (brackets) or ``closed`` (a value that needs no brackets)."""
    text: str
    """A token's text, or the bracket of a group."""
    start: int
    stop: int
    gap: bool
    """Whether white space comes before it."""
    pieces: Pieces
    """Its text in the strict notation, without a group's brackets."""
    comma: int | None = None
    """The place of a group's first comma."""


OPERANDS = frozenset(("number", "fraction", "name", "word", "constant", "blank", "group", "closed"))
"""The kinds that have a value."""


def write_operand(item: Item) -> Pieces:
    """The strict text of an operand, brackets included."""
    if item.kind in ("group", "fraction"):
        return [TextPiece("(", item.start), item.pieces, TextPiece(")", item.stop - 1)]
    return item.pieces


def flat(pieces: Pieces) -> list[TextPiece]:
    """The pieces in order."""
    found: list[TextPiece] = []
    stack: list[TextPiece | Pieces] = [pieces]
    while stack:
        piece = stack.pop()
        if isinstance(piece, TextPiece):
            found.append(piece)
        else:
            stack.extend(reversed(piece))
    return found


MAX_QUOTED_LENGTH = 40


def short(item: Item) -> str:
    """The strict text of a short item without outer brackets, to be looked at; empty for a long one."""
    if item.stop - item.start > MAX_QUOTED_LENGTH:
        return ""
    return "".join(piece.text for piece in flat(item.pieces)).strip("()")
