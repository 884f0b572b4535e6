"""LaTeX's fractions and roots on one level: a command and its arguments become one value."""

import re
from collections.abc import Sequence

from dgltree.read.text import error_at
from dgltree.read.typed.items import OPERANDS, Item, Pieces, TextPiece, short

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
        first, more = item.text[0], item.text[1:]
        behind = item._replace(text=more, start=item.start + 1, gap=False, pieces=[TextPiece(more, item.start + 1)])
        rest.append(behind._replace(kind="number" if more.isdigit() else "name"))
        item = item._replace(text=first, stop=item.start + 1, pieces=[TextPiece(first, item.start)])
    return item


def _fraction(command: Item, numerator: Item, denominator: Item) -> Item:
    over, under = short(numerator), short(denominator)
    place = command.start, denominator.stop, command.gap
    if INTEGER.fullmatch(over) and POSITIVE.fullmatch(under):
        literal: Pieces = [TextPiece(f"{over}/{under}", command.start)]
        if over[0] != "-":
            return Item("fraction", f"{over}/{under}", *place, literal)
        return Item("closed", "", *place, [TextPiece("(", command.start), literal, TextPiece(")", denominator.stop)])
    return Item("closed", "", *place, quotient(command.start, numerator.pieces, denominator.pieces))


def quotient(place: int, numerator: Pieces, denominator: Pieces) -> Pieces:
    """The strict text of a fraction."""
    return [TextPiece("((", place), numerator, TextPiece(")/(", place), denominator, TextPiece("))", place)]


def binomial(place: int, above: Pieces, below: Pieces) -> Pieces:
    """The strict text of a binomial coefficient."""
    return [TextPiece("binomial(", place), above, TextPiece(", ", place), below, TextPiece(")", place)]


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
