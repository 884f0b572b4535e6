"""Degrees: ``30°`` is (30*pi/180), also as LaTeX writes it, ``30^\\circ``."""

from dgltree.read.text import error_at
from dgltree.read.typed.tokens import Token

TEMPERATURES = ("C", "F")
OPERANDS = ("number", "fraction", "name", "word", "constant", "blank")


def with_degrees(text: str, tokens: list[Token]) -> list[Token]:
    """``tokens`` with a product for each number of degrees.

    Raises ``ValueError`` for a sign of degrees behind nothing, behind what can be more than the number of
    degrees, and for degrees of a temperature.
    """
    found: list[Token] = []
    left = list(reversed(tokens))
    while left:
        token = left.pop()
        if token.kind != "degree":
            found.append(token)
            continue
        if _is_exponent(found, "{") and left and left[-1].kind == "close":
            found.pop()
            token = token._replace(stop=left.pop().stop)
        if found and found[-1].kind == "^":
            found.pop()
        if left and left[-1].text in TEMPERATURES and not left[-1].gap:
            shown = text[token.start : left[-1].stop]
            raise error_at(text, token.start, f"'{shown}' is a unit of temperature; units are not read")
        start = _operand(found)
        if start is None:
            raise error_at(text, token.start, "a sign of degrees stands behind nothing; write 30° or 30*pi/180")
        _refuse_two_meanings(text, found, start, token)
        first, at, end = found[start], token.start, token.stop
        found.insert(start, Token("open", "(", first.start, first.start, first.gap))
        found[start + 1] = first._replace(gap=False)
        for kind, said in (("*", "*"), ("constant", "pi"), ("/", "/"), ("number", "180"), ("close", ")")):
            found.append(Token(kind, said, at, end, False))
    return found


def _is_exponent(found: list[Token], bracket: str) -> bool:
    return len(found) > 1 and found[-1].text == bracket and found[-2].kind == "^"


def _operand(found: list[Token]) -> int | None:
    """Where the operand that ends here begins."""
    if found and found[-1].kind in OPERANDS:
        return len(found) - 1
    depth = 0
    for place in range(len(found) - 1, -1, -1):
        depth += (found[place].kind == "close") - (found[place].kind == "open")
        if depth <= 0:
            return place if found[place].kind == "open" and place < len(found) - 1 else None
    return None


def _refuse_two_meanings(text: str, found: list[Token], start: int, sign: Token) -> None:
    """For ``sin(30)°``, ``x^2°`` and ``1/2°``."""
    before, inside = found[start - 1] if start else None, text[found[start].start : found[-1].stop]
    if before is not None and before.kind in ("^", "/"):
        first = text[found[start - 2].start : before.start].strip() if start > 1 else ""
        readings = f"({first}{before.text}{inside})° or {first}{before.text}({inside}°)"
    elif before is not None and before.kind == "function" and found[start].kind == "open":
        said = text[before.start : before.stop]
        readings = f"{said}({inside[1:-1]}°) or ({said}{inside})°"
    else:
        return
    shown = text[(found[start - 2] if before.kind != "function" and start > 1 else before).start : sign.start].strip()
    raise error_at(text, sign.start, f"'{shown}°' can mean {readings}; write the one you mean")
