"""Items are what one level of brackets has: tokens, and inner levels that are finished.

``head`` reads what is between a function's name and its argument, and ``compose`` makes one value of each of LaTeX's
fractions, binomials and roots.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from dgltree.equations.typed.spelling import INVERSES, LOGARITHMS
from dgltree.read.text import error_at


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
    """Text of the item in the strict notation, without a group's brackets."""
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


# Heads of functions

ROOTS = ("sqrt", "cbrt")


class Head(NamedTuple):
    """A function as it is typed: ``sin``, ``sin^2``, ``log_2``."""

    name: str
    start: int
    base: Pieces | None = None
    exponent: Pieces | None = None

    def around(self, stop: int) -> tuple[Pieces, Pieces]:
        """The strict text before the argument, and after it, if it ends in the typed text."""
        before, behind = ("((", ")^(1/3))") if self.name == "cbrt" else (f"{self.name}(", ")")
        end: list[TextPiece | Pieces] = [TextPiece(behind, stop)]
        if self.base is not None:
            end = [TextPiece(", ", stop), self.base, *end]
        if self.exponent is not None:
            before = f"({before}"
            end += [TextPiece("^(", stop), self.exponent, TextPiece("))", stop)]
        return [TextPiece(before, self.start)], end


def head(text: str, items: Sequence[Item], at: int) -> tuple[Head, int]:
    """The head that begins with the function ``items[at]``, and the place after it.

    Raises ``ValueError`` for ``ln^-1``, which can be the inverse function or a power, and for what is not an exponent.
    """
    function = items[at]
    found = Head(function.text, function.start)
    at += 1
    if function.text in LOGARITHMS:
        found = found._replace(name="log", base=[TextPiece(LOGARITHMS[function.text], function.start)])
    while at < len(items) and items[at].kind in ("sub", "^"):
        mark = items[at]
        below = items[at].kind == "sub"
        at += 1
        sign: list[TextPiece] = []
        if not below and at < len(items) and items[at].kind == "-":
            sign = [TextPiece("-", items[at].start)]
            at += 1
        if at == len(items) or items[at].kind not in OPERANDS or (found.base if below else found.exponent) is not None:
            shown = text[function.start : mark.stop]
            raise error_at(text, mark.start, f"'{shown}' needs a {'base' if below else 'number'} there, once")
        value = items[at]
        at += 1
        if below:
            found = found._replace(base=value.pieces)
        elif "".join(part.text for part in sign) + short(value) == "-1":
            found = _inverse(text, found, value.stop)
        else:
            found = found._replace(exponent=[*sign, write_operand(value)])
    return found, at


def _inverse(text: str, found: Head, stop: int) -> Head:
    if found.name in INVERSES:
        return found._replace(name=INVERSES[found.name])
    name = text[found.start : stop]
    plain = name.split("^")[0].strip().lstrip("\\")
    raise error_at(
        text, found.start, f"'{name}' can mean 1/{plain}(...) or the inverse function; write the one you mean"
    )


# LaTeX's fractions and roots: a command and its arguments become one value

INTEGER, POSITIVE = re.compile("-?[0-9]+"), re.compile("0*[1-9][0-9]*")


def compose(text: str, items: Sequence[Item]) -> list[Item]:
    """``items`` without ``\\frac`` and ``\\sqrt``. Raises ``ValueError`` if one of them has too few arguments."""
    if not any(item.kind in ("frac", "binom", "root") for item in items):
        return list(items)
    found: list[Item] = []
    rest = list(reversed(items))
    while rest:
        item = rest.pop()
        if item.kind == "frac":
            numerator = _argument(text, item, rest, "numerator")
            found.append(_fraction(item, numerator, _argument(text, item, rest, "denominator")))
        elif item.kind == "binom":
            above = _argument(text, item, rest, "number above")
            below = _argument(text, item, rest, "number below")
            pieces = binomial(item.start, above.pieces, below.pieces)
            found.append(Item("closed", "", item.start, below.stop, item.gap, pieces))
        elif item.kind == "root":
            degree = rest.pop() if rest and rest[-1].kind == "group" and rest[-1].text == "[" else None
            found.append(_root(item, degree, _argument(text, item, rest, "value in braces")))
        else:
            found.append(item)
    return found


def _argument(text: str, command: Item, rest: list[Item], what: str) -> Item:
    """The next argument: braces and what is in them, or as in TeX one character."""
    if not rest or rest[-1].kind not in OPERANDS:
        shown = text[command.start : command.stop]
        raise error_at(text, command.start, f"'{shown}' needs a {what}")
    item = rest.pop()
    if item.kind in ("number", "name") and item.text.isalnum() and 1 < len(item.text) == item.stop - item.start:
        first = item.text[0]
        more = item.text[1:]
        behind = item._replace(text=more, start=item.start + 1, gap=False, pieces=[TextPiece(more, item.start + 1)])
        rest.append(behind._replace(kind="number" if more.isdigit() else "name"))
        item = item._replace(text=first, stop=item.start + 1, pieces=[TextPiece(first, item.start)])
    return item


def _fraction(command: Item, numerator: Item, denominator: Item) -> Item:
    over = short(numerator)
    under = short(denominator)
    place = command.start, denominator.stop, command.gap
    if INTEGER.fullmatch(over) and POSITIVE.fullmatch(under):
        literal: Pieces = [TextPiece(f"{over}/{under}", command.start)]
        if over[0] != "-":
            return Item("fraction", f"{over}/{under}", *place, literal)
        return Item("closed", "", *place, [TextPiece("(", command.start), literal, TextPiece(")", denominator.stop)])
    return Item("closed", "", *place, quotient(command.start, numerator.pieces, denominator.pieces))


def _root(command: Item, degree: Item | None, value: Item) -> Item:
    place = command.start
    if degree is None or short(degree) == "2":
        pieces: Pieces = [TextPiece("sqrt(", place), value.pieces, TextPiece(")", place)]
    elif short(degree).isdigit():
        pieces = [TextPiece("((", place), value.pieces, TextPiece(f")^(1/{short(degree)}))", place)]
    else:
        pieces = [
            TextPiece("((", place),
            value.pieces,
            TextPiece(")^(1/(", place),
            degree.pieces,
            TextPiece(")))", place),
        ]
    return Item("closed", "", place, value.stop, command.gap, pieces)


def quotient(place: int, numerator: Pieces, denominator: Pieces) -> Pieces:
    """The strict text of a fraction."""
    return [TextPiece("((", place), numerator, TextPiece(")/(", place), denominator, TextPiece("))", place)]


def binomial(place: int, above: Pieces, below: Pieces) -> Pieces:
    """The strict text of a binomial coefficient."""
    return [TextPiece("binomial(", place), above, TextPiece(", ", place), below, TextPiece(")", place)]
