"""``read_typed`` reads an equation, and ``read_typed_expression`` one side, as a person types it.

What a sheet of LaTeX has around an equation becomes blank; the text is cut into tokens; decimal commas, quotients
with a colon, glued names and signs after a value are written out; each level of brackets becomes strict text
(phrase.py); the strict reader makes the tree of it. The columns of the typed text are kept, so that errors name them.
"""

import re
from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple

from dgltree.equations.typed.items import Pieces, TextPiece, flat
from dgltree.equations.typed.names import Runs, factors_of_sums, other_spellings, split_names, standing, with_one_name
from dgltree.equations.typed.notes import Note, make_note
from dgltree.equations.typed.phrase import levels
from dgltree.equations.typed.refusals import check_subject
from dgltree.equations.typed.tokens import Token, tokens
from dgltree.read.functions import names
from dgltree.read.infix import Builder, MakeBuilder, Value, build
from dgltree.read.notation import EXP1, FUNCTIONS, OPERATORS
from dgltree.read.text import error_at, one_line
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


class Typed(NamedTuple):
    """The reading of a typed equation; :func:`dgltree.read.infix_writer.write_equation` prints it."""

    equation: Equation
    blanks: tuple[str, ...]
    """The names of its blanks as they first appear, each once. ``dgltree.trees.equation.blank`` gives the leaf of one.
    Where there is only one it is called ``_``, whatever it was called in the text."""
    notes: tuple[Note, ...] = ()
    """Notes on other possible readings: which logarithm ``log`` is, what letters side by side are."""


def read_typed(text: str, names: Collection[str] = ()) -> Typed:
    """The equation that a person means by ``text``: ``2x``, ``sin^2 x``, ``√x``, ``\\frac{1}{x}``; see docs/reading.md.

    Trees are those of the strict reader (:func:`dgltree.read.infix.read_equation`), except ``e^x``, which is exp(x).
    ``names`` are runs of letters that are one name: ``("KE",)``.

    Raises ``ValueError`` with line, column and what would be right: for what has no meaning, and with both readings
    for what has two.
    """
    text = without_layout(text)
    found, runs = _tokens(text, (), names)
    signs = [token for token in found if token.kind == "="]
    if len(signs) > 1:
        raise error_at(
            text,
            signs[1].start,
            "found a second '='; write one equation left = right, because a system is not supported",
        )
    sides = levels(text, found, standing(found).union(runs.before_brackets, *runs.split.values()))
    if not signs:
        value = f"; for the value of an expression, write {one_line(text.strip(), 40)} = _" if text.strip() else ""
        raise error_at(text, len(text.rstrip()), f"there is no '='; an equation is left = right{value}")
    blanks = dict.fromkeys(token.text for token in found if token.kind == "blank")
    equal = TextPiece(" = ", signs[0].start)
    equation = _build_tree(text, [sides[0], equal, sides[1]], "equation")
    notes = (LOGARITHM,) if _has_bare_log(text, found, equation) else ()
    return Typed(equation, tuple(blanks), (*notes, *in_radians(*equation), *runs.notes))


class TypedExpression(NamedTuple):
    """The reading of a typed expression."""

    tree: Tree
    notes: tuple[Note, ...]
    """Notes on other possible readings, as those of :class:`Typed` are."""


def read_typed_expression(
    text: str, known: Collection[str] = (), as_written: bool = False, names: Collection[str] = ()
) -> Tree:
    """The tree of one side of an equation, read and refused as in :func:`read_typed`.

    Args:
        known: variables of an equation that the text belongs to: ``x(y + 1)`` is a product then.
        as_written: whether 2/4 is a quotient of two numbers; else it is 1/2.
        names: runs of letters that are one name.
    """
    return read_noted_expression(text, known, as_written, names).tree


def read_noted_expression(
    text: str, known: Collection[str] = (), as_written: bool = False, names: Collection[str] = ()
) -> TypedExpression:
    """The tree as :func:`read_typed_expression` has it, with notes."""
    text = without_layout(text)
    found, runs = _tokens(text, known, names)
    for token in found:
        if token.kind == "=":
            raise error_at(text, token.start, "unexpected '='; write an expression without '='")
    builder = _WrittenBuilder if as_written else _TypedBuilder
    factors = standing(found).union(known, runs.before_brackets, *runs.split.values())
    tree = _build_tree(text, levels(text, found, factors), "expression", builder)
    return TypedExpression(tree, (*in_radians(tree), *runs.notes))


def _tokens(text: str, known: Collection[str], names: Collection[str]) -> tuple[list[Token], Runs]:
    check_subject(text)
    spellings = other_spellings(known)
    split, runs = split_names(text, with_quotients(text, with_decimals(text, tokens(text))), spellings, names)
    found = with_postfixes(text, with_one_name(split, known))
    alone = standing(found).union(known, *runs.split.values())
    runs = runs._replace(before_brackets=tuple(sorted(factors_of_sums(found) - alone)))
    if len({token.text for token in found if token.kind == "blank"}) > 1:
        return found, runs
    return [token._replace(text="_") if token.kind == "blank" else token for token in found], runs


# Layout of LaTeX sheets around an equation: ``\item``, ``\tag{1}``, and rules to write on, which are blanks

_RULE = re.compile(
    r"\\underline\s*\{(?:\s|~|\\hspace\*?\s*\{[^{}]*\}|\\q?quad(?![A-Za-z])|\\[ ,;:])+\}"
    r"|\\rule\s*(?:\[[^][]*\])?\s*\{[^{}]*\}\s*\{[^{}]*\}|\\hrulefill(?![A-Za-z])"
)
_ITEM = re.compile(r"\A\s*\\item(?![A-Za-z])\s*(?:\[[^][]*\])?")
_TAG = re.compile(r"\\(?:tag\*?|label)\s*\{[^{}]*\}(?=\s*(?:\\\\|\$|\\\]|\\end|\Z))")


MAX_LENGTH = 50_000
"""Characters of a text: one of twenty times as many takes minutes and a gigabyte."""


def check_length(text: str) -> None:
    """Raises ``ValueError`` for a text that is too long."""
    if len(text) > MAX_LENGTH:
        raise Refusal(f"'{one_line(text, 40)}' has {len(text):,} characters; at most {MAX_LENGTH:,} are read")


def without_layout(text: str) -> str:
    """The text with ``_`` for a rule and spaces for an item or a tag, so that columns stay what they are."""
    check_length(text)
    text = _RULE.sub(lambda found: "_".ljust(len(found[0])), text)
    text = _TAG.sub(lambda found: " " * len(found[0]), text)
    return _ITEM.sub(lambda found: " " * len(found[0]), text)


# Commas, semicolons and colons: decimals, arguments, quotients

OF_SEVERAL = {name for name, arities in FUNCTIONS.items() if max(arities) > 1}.union(OPERATORS)
"""Functions with a comma between their arguments."""
COMMANDS = ("frac", "binom", "root", "^", "close", "sub")
"""Kinds of tokens before the braces of an argument of LaTeX."""
ENDS = ("+", "-", "*", "=", ",", ":", "close", "bar")
"""Kinds of tokens that end what a colon divides by."""


def with_decimals(text: str, tokens: list[Token]) -> list[Token]:
    """Return ``tokens`` with decimals for ``1,5``, and commas for ``;`` between arguments.

    Raises ``ValueError`` for a comma that can mean something else, and for a ``;`` between equations.
    """
    found: list[Token] = []
    callers: list[tuple[str, int]] = []
    """The function, or a name, before each open bracket, and the place of the bracket."""
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
                left = found.pop()
                right = tokens[place + 1]
                token = left._replace(text=f"{left.text}.{right.text}", stop=right.stop)
                skipped = True
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
    left = tokens[place - 1]
    right = tokens[place + 1]
    point = f"{left.text}.{right.text}"
    shown = text[left.start : right.stop]
    return error_at(text, left.start, f"'{shown}' can mean {point} or two numbers; write {point}")


def with_quotients(text: str, tokens: list[Token]) -> list[Token]:
    """Return ``tokens`` with quotients for ``:`` and ``÷``: ``1/2 : 3/4`` is (1/2)/(3/4), brackets included.

    Raises ``ValueError`` for a colon that can mean something else.
    """
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
            end = _end_of_divisor(tokens, place + 1)
            inside = tokens[place + 1 : end]
            if any(other.kind == "/" for other in inside):
                assert following is not None  # it is inside
                if not token.gap or any(other.gap for other in inside[1:]):
                    raise _two_quotients(text, tokens, place, end)
                found.append(Token("open", "(", following.start, following.start, following.gap))
                closing[end - 1] = Token("close", ")", inside[-1].stop, inside[-1].stop, False)
        if place in closing:
            found.append(closing[place])
    return found


def _end_of_divisor(tokens: list[Token], start: int) -> int:
    depth = 0
    for place in range(start, len(tokens)):
        if not depth and tokens[place].kind in ENDS and (place > start or tokens[place].kind != "-"):
            return place
        depth += (tokens[place].kind == "open") - (tokens[place].kind == "close")
    return len(tokens)


def _two_quotients(text: str, tokens: list[Token], place: int, end: int) -> ValueError:
    sign = text[tokens[place].start]
    behind = text[tokens[place + 1].start : tokens[end - 1].stop]
    first = behind.split("/")[0].strip()
    rest = behind[len(first) :].strip()
    before = tokens[place - 1]
    said = text[before.start : before.stop]
    readings = f"{said}/({behind}) or ({said}/{first}){rest}"
    return error_at(text, before.start, f"'{said}{sign}{behind}' can mean {readings}; write the one you mean")


# Signs after a value: ``30°`` (in LaTeX also ``30^\circ``), ``50%`` and ``n!``

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
        self.text = text
        self.left = list(reversed(tokens))
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
        """Return the sign of ``30^{\\circ}`` and ``30^\\circ``, without the power before it."""
        found = self.found
        following = self._following()
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
        first = self.found[start]
        at = token.start
        end = token.stop
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
        """Refuse ``200 + 10%`` and ``7 % 3``, which can mean two things each."""
        following = self._following()
        said = self.text[self.found[start].start : self.found[-1].stop]
        if following and following.kind in (*OPERANDS, "open", "function", "root", "frac") and following.text != "of":
            more = self.text[following.start : following.stop]
            readings = f"{said}/100*{more} or the remainder of {said}/{more}"
            raise _either(self.text, token, self.text[self.found[start].start : following.stop], readings)
        sign = self.found[start - 1] if start > 1 else None
        before = self.found[start - 2] if start > 1 else None
        if sign is None or before is None or sign.kind not in "+-" or self.percent == start - 2 or before.text == "1":
            return
        if before.kind in OPERANDS or before.kind in ("close", "bar"):
            first = self.text[before.start : before.stop]
            one = f"{said}/100"
            readings = f"{first} {sign.kind} {one} or {first} {sign.kind} {one}*{first}"
            raise _either(self.text, token, f"{first} {sign.kind} {said}%", readings)

    def _refuse_two_meanings(self, start: int, sign: Token) -> None:
        """Refuse ``sin(30)°``, ``x^2°``, ``1/2°``, and ``sin x!``."""
        found = self.found
        mark = SIGNS[sign.kind]
        before = found[start - 1] if start else None
        inside = self.text[found[start].start : found[-1].stop]
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


# Strict text to trees


class _TypedBuilder(Builder):
    """The strict trees, except for ``e^x``: a person means the function."""

    def power(self, values: list[Value]) -> Tree:
        node = super().power(values)
        return Tree("exp", node.children[1:]) if node.children[0] == EXP1 else node


class _WrittenBuilder(_TypedBuilder):
    """The trees in which no fraction is reduced."""

    def divide(self, values: list[Value]) -> Tree:
        return super().divide([self.expression([value]) for value in values])


def _build_tree(
    text: str, pieces: Pieces, start: Literal["expression", "equation"], builder: MakeBuilder = _TypedBuilder
) -> Any:
    parts = flat(pieces)
    ends = list(accumulate(len(part.text) for part in parts))

    def refusal(offset: int, message: str) -> ValueError:
        part = bisect_right(ends, offset)
        return error_at(text, parts[part].start if part < len(parts) else len(text.rstrip()), message)

    return build("".join(part.text for part in parts), start, FUNCTIONS, builder, refusal)


# Notes: a log without a base, and angles that may be meant in degrees

LOGARITHM = make_note("logarithm")


def _has_bare_log(text: str, found: list[Token], equation: Equation) -> bool:
    """Whether ``log`` is written without a base."""
    logs = [a for a, b in pairwise(found) if a.kind == "function" and a.text == "log" and b.kind != "sub"]
    if not any(text[log.start : log.stop].lower().lstrip("\\").startswith("log") for log in logs):
        return False
    return any(node.function == "log" and node.children[1:] == (EXP1,) for side in equation for node in side.distinct())


CIRCULAR = frozenset(names("circular", inverse=False))
MIN_DEGREES, DEGREE_STEP, MAX_DEGREE_DIGITS = 10, 5, 3
"""The least whole number that may be degrees, what divides it, and how many digits it has at most."""


def in_radians(*trees: Tree) -> tuple[Note, ...]:
    """A note on the first angle with a multiple of five, ten or more, as a term and without pi: it is in radians."""
    for node in (node for tree in trees for node in tree.distinct()):
        if node.function not in CIRCULAR or len(node.children) != 1:
            continue
        angle = node.children[0]
        for term in angle.children if angle.function == "Add" else (angle,):
            if text := _degrees(term):
                return (make_note("radians", angle=text, function=node.function),)
    return ()


def _degrees(term: Tree) -> str:
    """The number of a term that may be degrees, ``30`` of 30 and of -30."""
    if term.function == "Mul" and len(term.children) == 2 and term.children[0].function == "NegativeOne":
        term = term.children[1]
    text = (term.token or "").lstrip("-")
    if (
        term.function != "Integer"
        or len(text) > MAX_DEGREE_DIGITS
        or int(text) < MIN_DEGREES
        or int(text) % DEGREE_STEP
    ):
        return ""
    return text
