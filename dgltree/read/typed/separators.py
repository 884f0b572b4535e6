"""Commas, semicolons and colons: decimals, arguments, quotients."""

from dgltree.read.notation import FUNCTIONS, OPERATORS
from dgltree.read.text import error_at
from dgltree.read.typed.token import Token

OF_SEVERAL = {name for name, arities in FUNCTIONS.items() if max(arities) > 1}.union(OPERATORS)
"""Functions with a comma between their arguments."""
COMMANDS = ("frac", "binom", "root", "^", "close", "sub")
"""Kinds of tokens before the braces of an argument of LaTeX."""
ENDS = ("+", "-", "*", "=", ",", ":", "close", "bar")
"""Kinds of tokens that end what a colon divides by."""


def with_separators(text: str, tokens: list[Token]) -> list[Token]:
    """``tokens`` with decimals for ``1,5``, commas for ``;`` between arguments, and quotients for ``:`` and ``÷``.

    Raises ``ValueError`` for a comma or a colon that can mean something else, and for a ``;`` between equations.
    """
    return _with_quotients(text, _with_decimals(text, tokens))


def _with_decimals(text: str, tokens: list[Token]) -> list[Token]:
    found: list[Token] = []
    callers: list[tuple[str, int]] = []
    """Of each open bracket the function, or a name, before it, and its place."""
    points = any(token.kind == "number" and "." in token.text for token in tokens)
    places = [place for place in range(1, len(tokens) - 1) if _is_decimal(tokens, place)]
    several = [place for place in places if text[tokens[place].start] == ","]
    skipped = False
    for place, token in enumerate(tokens):
        if skipped:
            skipped = False
            continue
        if token.kind == "open":
            before = tokens[place - 1] if place else None
            named = before is not None and before.kind in ("function", "name", "word") and not token.gap
            callers.append((before.text if named and before else "", place))
        elif token.kind == "close" and callers:
            callers.pop()
        elif token.kind == ";":
            if not callers:
                raise error_at(text, token.start, "';' separates a system of equations, which is not supported")
            token = token._replace(kind=",", text=",")
        elif place in places:
            name, opened = callers[-1] if callers else ("", -1)
            if name in OF_SEVERAL:
                if len(several) > 1:
                    raise _two_numbers(text, tokens, place)
            elif not name or name in FUNCTIONS:
                if points or (not name and _is_alone(tokens, opened, place)):
                    raise _two_numbers(text, tokens, place)
                left, right = found.pop(), tokens[place + 1]
                token, skipped = left._replace(text=f"{left.text}.{right.text}", stop=right.stop), True
        found.append(token)
    return found


def _is_decimal(tokens: list[Token], place: int) -> bool:
    """Whether a comma is in the middle of one number: not of ``1,000``, nor of ``1,2,3``."""
    if tokens[place].kind != "," or tokens[place].gap or tokens[place + 1].gap:
        return False
    sides = [tokens[place - 1], tokens[place + 1]]
    if not all(side.kind == "number" and side.text.isdigit() for side in sides):
        return False
    if len(sides[1].text) == 3 and sides[0].text != "0":
        return False
    outside = (tokens[place - 2].kind if place > 1 else "", tokens[place + 2].kind if place + 2 < len(tokens) else "")
    return "," not in outside


def _is_alone(tokens: list[Token], opened: int, place: int) -> bool:
    """Whether two numbers, with signs or none, are all that is in a bracket: a point, or an interval."""
    if opened < 0 or (tokens[opened].text == "{" and opened and tokens[opened - 1].kind in COMMANDS):
        return False
    first = opened + 1 + (tokens[opened + 1].kind in "+-")
    last = place + 2 + (tokens[place + 2].kind in "+-") if place + 2 < len(tokens) else place
    return first == place - 1 and last < len(tokens) and tokens[last].kind == "close"


def _two_numbers(text: str, tokens: list[Token], place: int) -> ValueError:
    left, right = tokens[place - 1], tokens[place + 1]
    point = f"{left.text}.{right.text}"
    shown = text[left.start : right.stop]
    return error_at(text, left.start, f"'{shown}' can mean {point} or two numbers; write {point}")


def _with_quotients(text: str, tokens: list[Token]) -> list[Token]:
    """``1/2 : 3/4`` is (1/2)/(3/4): what follows a colon is bracketed."""
    found: list[Token] = []
    closing: dict[int, Token] = {}
    for place, token in enumerate(tokens):
        if token.kind != ":":
            found.append(token)
        else:
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            typed = text[token.start] == ":"
            if typed and (following is None or not found or following.gap != token.gap):
                raise error_at(text, token.start, "':' can mean a quotient or the end of words; write / for a quotient")
            found.append(token._replace(kind="/", text="/"))
            end = _end(tokens, place + 1)
            inside = tokens[place + 1 : end]
            if any(other.kind == "/" for other in inside):
                assert following is not None  # it is inside
                if not token.gap or any(other.gap for other in inside[1:]):
                    raise _refused(text, tokens, place, end)
                found.append(Token("open", "(", following.start, following.start, following.gap))
                closing[end - 1] = Token("close", ")", inside[-1].stop, inside[-1].stop, False)
        if place in closing:
            found.append(closing[place])
    return found


def _end(tokens: list[Token], start: int) -> int:
    depth = 0
    for place in range(start, len(tokens)):
        if not depth and tokens[place].kind in ENDS and (place > start or tokens[place].kind != "-"):
            return place
        depth += (tokens[place].kind == "open") - (tokens[place].kind == "close")
    return len(tokens)


def _refused(text: str, tokens: list[Token], place: int, end: int) -> ValueError:
    sign, behind = text[tokens[place].start], text[tokens[place + 1].start : tokens[end - 1].stop]
    first = behind.split("/")[0].strip()
    rest = behind[len(first) :].strip()
    before = tokens[place - 1]
    said = text[before.start : before.stop]
    readings = f"{said}/({behind}) or ({said}/{first}){rest}"
    return error_at(text, before.start, f"'{said}{sign}{behind}' can mean {readings}; write the one you mean")
