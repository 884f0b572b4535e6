"""Text between a function's name and its argument, and the strict text around the argument."""

from collections.abc import Sequence
from typing import NamedTuple

from dgltree.read.text import error_at
from dgltree.read.typed.items import OPERANDS, Item, Pieces, TextPiece, short, write_operand
from dgltree.read.typed.spelling import INVERSES, LOGARITHMS

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
    found, at = Head(function.text, function.start), at + 1
    if function.text in LOGARITHMS:
        found = found._replace(name="log", base=[TextPiece(LOGARITHMS[function.text], function.start)])
    while at < len(items) and items[at].kind in ("sub", "^"):
        mark, below = items[at], items[at].kind == "sub"
        at += 1
        sign: list[TextPiece] = []
        if not below and at < len(items) and items[at].kind == "-":
            sign, at = [TextPiece("-", items[at].start)], at + 1
        if at == len(items) or items[at].kind not in OPERANDS or (found.base if below else found.exponent) is not None:
            shown = text[function.start : mark.stop]
            raise error_at(text, mark.start, f"'{shown}' needs a {'base' if below else 'number'} there, once")
        value, at = items[at], at + 1
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
