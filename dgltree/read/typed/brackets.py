"""Tokens to levels of brackets, innermost first, and each level to strict text. Iterative: any depth is legal."""

from collections.abc import Sequence

from dgltree.read.text import error_at
from dgltree.read.typed.items import OPERANDS, Item, Pieces, TextPiece
from dgltree.read.typed.phrase import phrase
from dgltree.read.typed.token import Token

CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|"}
BARS = "|"
"""The text of a ``closed`` item that was written ``|x|``: where such a one begins and ends is not always clear."""


class _Level:
    """An opened bracket and what has been read after it."""

    def __init__(self, opener: Token | None) -> None:
        self.opener = opener
        self.items: list[Item] = []
        self.loose: Item | None = None
        """A ``|x|`` with a factor directly after it: its second bar could also open."""

    def add(self, item: Item) -> None:
        bars = self.items and self.items[-1].text == BARS and self.items[-1].kind == "closed"
        if bars and item.text != BARS and (item.kind in OPERANDS or item.kind in ("function", "root", "frac")):
            self.loose = self.loose or self.items[-1]
        self.items.append(item)

    @property
    def complete(self) -> bool:
        """Whether a value ends here."""
        return bool(self.items) and self.items[-1].kind in OPERANDS


def levels(text: str, tokens: Sequence[Token], standing: set[str]) -> list[Pieces]:
    """The strict text of each side of ``=``. ``standing`` are the names that may come before a bracket as a factor.

    Raises ``ValueError`` for brackets that do not match, and for what a level refuses.
    """
    sides: list[Pieces] = []
    stack = [_Level(None)]
    for index, token in enumerate(tokens):
        level = stack[-1]
        if token.kind == "open":
            stack.append(_Level(token))
        elif token.kind == "close":
            _check_closing(text, level, token)
            _finish(text, stack, token, standing)
        elif token.kind == "bar" and level.complete and level.opener and level.opener.kind == "bar":
            _finish(text, stack, token, standing)
        elif token.kind == "bar":
            if level.complete and level.loose:
                _refuse_bars(text, level.loose, token, tokens[index + 1 :])
            stack.append(_Level(token))
        elif token.kind == "=":
            _check_closed(text, level, " before '='")
            sides.append(phrase(text, level.items, standing))
            stack = [_Level(None)]
        else:
            level.add(Item(*token, [TextPiece(token.text, token.start)]))
    _check_closed(text, stack[-1], "")
    return [*sides, phrase(text, stack[-1].items, standing)]


def _finish(text: str, stack: list[_Level], token: Token, standing: set[str]) -> None:
    level = stack.pop()
    opener = level.opener
    assert opener is not None  # the callers look
    if not level.items:
        raise error_at(text, opener.start, "empty brackets; write _ for a blank")
    inner = phrase(text, level.items, standing, commas=opener.text in "([")
    place = opener.start, token.stop, opener.gap
    if opener.text == "|":
        pieces: Pieces = [TextPiece("abs(", opener.start), inner, TextPiece(")", token.start)]
        stack[-1].add(Item("closed", BARS if opener.kind == "bar" else "", *place, pieces))
    else:
        comma = next((item.start for item in level.items if item.kind == ","), None)
        stack[-1].add(Item("group", opener.text, *place, inner, comma))


def _check_closing(text: str, level: _Level, token: Token) -> None:
    closer, opener = text[token.start : token.stop], level.opener
    if opener is None:
        raise error_at(text, token.start, f"the '{closer}' closes nothing")
    if CLOSING[opener.text] != token.text or opener.kind == "bar":
        shown = text[opener.start : opener.stop]
        raise error_at(text, token.start, f"the '{shown}' is closed by '{closer}'; write '{CLOSING[opener.text]}'")


def _check_closed(text: str, level: _Level, where: str) -> None:
    opener = level.opener
    if opener is None:
        return
    shown = text[opener.start : opener.stop]
    message = f"the '{shown}' has no matching bracket" if opener.kind == "bar" else f"the '{shown}' is never closed"
    raise error_at(text, opener.start, message + where)


def _refuse_bars(text: str, loose: Item, bar: Token, rest: Sequence[Token]) -> None:
    last = next((token for token in rest if token.kind == "bar"), None)
    if last is None:
        raise error_at(text, bar.start, "the '|' has no matching bracket")
    inner, middle = text[loose.start + 1 : loose.stop - 1], text[loose.stop : bar.start].strip()
    end = text[bar.stop : last.start].strip()
    both = f"|{inner}|*{middle}*|{end}| or |{inner}*|{middle}|*{end}|"
    shown = text[loose.start : last.stop]
    raise error_at(text, loose.start, f"'{shown}' can mean {both}; write the one you mean")
