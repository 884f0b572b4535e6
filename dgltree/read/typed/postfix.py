"""Signs after a value: ``30°`` (also as LaTeX writes it, ``30^\\circ``), ``50%`` and ``n!``."""

from dgltree.read.text import error_at
from dgltree.read.typed.token import Token

TEMPERATURES = ("C", "F")
OPERANDS = ("number", "fraction", "name", "word", "constant", "blank")
SIGNS = {"degree": "°", "percent": "%", "!": "!"}
BEHIND = {
    "degree": (("*", "*"), ("constant", "pi"), ("/", "/"), ("number", "180"), ("close", ")")),
    "percent": (("/", "/"), ("number", "100"), ("close", ")")),
    "!": (("close", ")"),),
}
"""The replacement of a sign after its value: kinds and texts of tokens."""
NOTHING = {
    "degree": "the degree sign has no number before it; write 30° or 30*pi/180",
    "percent": "the percent sign has no number before it; write 50%",
    "!": "the '!' has no single value before it; write n! or (...)! for a factorial",
}


def with_postfixes(text: str, tokens: list[Token]) -> list[Token]:
    """``tokens`` with a product, a quotient or a function for each sign.

    Raises ``ValueError`` for a sign after nothing, after what can be more than its value, for degrees of a
    temperature, for a double factorial, and for a ``%`` that can mean a part of what precedes it or a remainder.
    """
    return _Postfixes(text, tokens).run()


class _Postfixes:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text, self.left = text, list(reversed(tokens))
        self.found: list[Token] = []
        self.percent = -1
        """Where the last percentage ends."""

    def run(self) -> list[Token]:
        while self.left:
            token = self.left.pop()
            if token.kind in SIGNS:
                self._sign(self._lowered(token) if token.kind == "degree" else token)
            else:
                self.found.append(token)
        return self.found

    def _following(self) -> Token | None:
        return self.left[-1] if self.left else None

    def _lowered(self, token: Token) -> Token:
        """The sign of ``30^{\\circ}`` and ``30^\\circ``."""
        found, following = self.found, self._following()
        if (
            len(found) > 1
            and found[-1].text == "{"
            and found[-2].kind == "^"
            and following
            and following.kind == "close"
        ):
            found.pop()
            token = token._replace(stop=self.left.pop().stop)
        if found and found[-1].kind == "^":
            found.pop()
        following = self._following()
        if following and following.text in TEMPERATURES and not following.gap:
            shown = self.text[token.start : following.stop]
            raise error_at(self.text, token.start, f"'{shown}' is a unit of temperature; units are not supported here")
        return token

    def _sign(self, token: Token) -> None:
        start = _operand(self.found)
        if start is None:
            raise error_at(self.text, token.start, NOTHING[token.kind])
        following = self._following()
        if token.kind == "!" and following and following.kind == "!":
            raise error_at(self.text, token.start, "'!!' is a double factorial, which is not supported")
        self._refuse_two_meanings(start, token)
        if token.kind == "percent":
            self._check_percent(start, token)
        first, at, end = self.found[start], token.start, token.stop
        opened = [Token("open", "(", first.start, first.start, first.gap and token.kind != "!")]
        if token.kind == "!":
            opened.insert(0, Token("function", "factorial", first.start, first.start, first.gap))
        self.found[start : start + 1] = [*opened, first._replace(gap=False)]
        self.found += [Token(kind, said, at, end, False) for kind, said in BEHIND[token.kind]]
        if token.kind == "percent":
            self.percent = len(self.found) - 1
            if following and following.text == "of":
                self.left[-1] = following._replace(kind="*", text="*")

    def _check_percent(self, start: int, token: Token) -> None:
        """For ``200 + 10%`` and ``7 % 3``."""
        following, said = self._following(), self.text[self.found[start].start : self.found[-1].stop]
        if following and following.kind in (*OPERANDS, "open", "function", "root", "frac") and following.text != "of":
            more = self.text[following.start : following.stop]
            readings = f"{said}/100*{more} or the remainder of {said}/{more}"
            raise _either(self.text, token, self.text[self.found[start].start : following.stop], readings)
        sign = self.found[start - 1] if start > 1 else None
        before = self.found[start - 2] if start > 1 else None
        if sign is None or before is None or sign.kind not in "+-" or self.percent == start - 2 or before.text == "1":
            return
        if before.kind in OPERANDS or before.kind in ("close", "bar"):
            first, one = self.text[before.start : before.stop], f"{said}/100"
            readings = f"{first} {sign.kind} {one} or {first} {sign.kind} {one}*{first}"
            raise _either(self.text, token, f"{first} {sign.kind} {said}%", readings)

    def _refuse_two_meanings(self, start: int, sign: Token) -> None:
        """For ``sin(30)°``, ``x^2°``, ``1/2°``, and ``sin x!``."""
        found, mark = self.found, SIGNS[sign.kind]
        before, inside = found[start - 1] if start else None, self.text[found[start].start : found[-1].stop]
        if before is None:
            return
        if before.kind == "^" or (before.kind == "/" and sign.kind != "!"):
            first = self.text[found[start - 2].start : before.start].strip() if start > 1 else ""
            readings = f"({first}{before.text}{inside}){mark} or {first}{before.text}({inside}{mark})"
            shown = self.text[found[start - 2].start : sign.start] if start > 1 else f"{before.text}{inside}"
        elif before.kind == "function" and (sign.kind == "!" or found[start].kind == "open"):
            said = self.text[before.start : before.stop]
            inner = inside[1:-1] if found[start].kind == "open" else inside
            readings = f"{said}({inner}{mark}) or ({said}({inner})){mark}"
            shown = self.text[before.start : sign.start]
        else:
            return
        raise _either(self.text, sign, shown.strip() + mark, readings)


def _either(text: str, token: Token, shown: str, readings: str) -> ValueError:
    return error_at(text, token.start, f"'{shown}' can mean {readings}; write the one you mean")


def _operand(found: list[Token]) -> int | None:
    """Where the operand that ends here begins, with the command of LaTeX whose argument it is."""
    if found and found[-1].kind in OPERANDS:
        return len(found) - 1
    start = _opening(found, len(found) - 1)
    while start is not None and found[start].text in "{[" and start:
        before = found[start - 1]
        if before.kind in ("frac", "root", "binom"):
            return start - 1
        if before.kind != "close" or before.text not in "}]":
            break
        start = _opening(found, start - 1)
    return start


def _opening(found: list[Token], last: int) -> int | None:
    """Where the bracket opens that closes at ``last``; None if there is none, or nothing in it."""
    depth = 0
    for place in range(last, -1, -1):
        depth += (found[place].kind == "close") - (found[place].kind == "open")
        if depth <= 0:
            return place if found[place].kind == "open" and place < last else None
    return None
