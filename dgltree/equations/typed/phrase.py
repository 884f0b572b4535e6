"""Tokens become levels of brackets, innermost first, and each level strict text.

The products and arguments that people leave unwritten are written. What could be meant in two ways is refused with
both, by refusals.py. ``levels`` is iterative: any depth is legal.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dgltree.equations.typed.items import (
    OPERANDS,
    ROOTS,
    Head,
    Item,
    Pieces,
    TextPiece,
    binomial,
    compose,
    head,
    quotient,
    write_operand,
)
from dgltree.equations.typed.refusals import Refusals
from dgltree.equations.typed.tokens import COEFFICIENT, Token
from dgltree.read.notation import FUNCTIONS, OPERATORS
from dgltree.read.text import error_at

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
    closer = text[token.start : token.stop]
    opener = level.opener
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
    inner = text[loose.start + 1 : loose.stop - 1]
    middle = text[loose.stop : bar.start].strip()
    end = text[bar.stop : last.start].strip()
    both = f"|{inner}|*{middle}*|{end}| or |{inner}*|{middle}|*{end}|"
    shown = text[loose.start : last.stop]
    raise error_at(text, loose.start, f"'{shown}' can mean {both}; write the one you mean")


# One level of brackets

BETWEEN = {"over": quotient, "choose": binomial}
"""LaTeX's commands that come between their arguments."""
SIMPLE = OPERANDS - {"group", "closed", "fraction"}
"""The kinds of values that are one sign or word: where they end is not marked."""


def phrase(text: str, items: Sequence[Item], standing: set[str], commas: bool = False) -> Pieces:
    """The strict text of one level, whose brackets are not among ``items``; ``commas`` may part it into arguments.

    ``standing`` are the names that may come before a bracket as a factor. Raises ``ValueError`` for what has no
    meaning or two.
    """
    for place, item in enumerate(items):
        if item.kind in BETWEEN:
            if any(other.kind in BETWEEN for other in items[place + 1 :]):
                raise error_at(text, item.start, f"two '\\{item.kind}' in one pair of braces; write \\frac or \\binom")
            over, under = (phrase(text, side, standing) for side in (items[:place], items[place + 1 :]))
            return BETWEEN[item.kind](item.start, over, under)
    if len(items) == 1 and items[0].kind == "group" and items[0].comma is None:
        return items[0].pieces  # brackets in brackets, which may be very many
    return _Phrase(text, compose(text, items), standing, commas).run()


class _Open(NamedTuple):
    """A function whose argument has no brackets and may continue."""

    head: Head
    start: int
    """Where the argument begins."""


class _Power(NamedTuple):
    """A power whose exponent may continue."""

    base: Item
    start: int
    """Where the exponent begins."""


class _Phrase:
    """Writes the strict text of one level, item by item."""

    def __init__(self, text: str, items: list[Item], standing: set[str], commas: bool) -> None:
        self.items = items
        self.standing = standing
        self.commas = commas
        self.refusals = Refusals(text)
        self.text = text
        self.out: list[TextPiece | Pieces] = []
        self.at = 0
        self.last: Item | None = None
        """The value that ends here; ``None`` if one is expected."""
        self.open: list[_Open] = []
        self.coefficient = False
        """Whether the open argument is made of numbers and constants so far."""
        self.power: _Power | None = None
        self.exponent = False
        """Whether the value that is expected is an exponent."""
        self.minus = False
        """Whether a sign comes before the product that begins here."""
        self.term: int | None = None
        """Where the product begins."""
        self.slash: int | None = None
        """The place of the last operator, if it is a slash."""
        self.under = 0
        """Where the denominator after it begins."""

    def run(self) -> Pieces:
        # A machine of operator precedence (Floyd 1963) with two states, a value or none, and what is still open; it
        # writes as it reads. Of `2 sin 3x + 1`: 2 is a value; sin is a factor after it, so `*`, and `sin(` stays open;
        # 3 is a coefficient so far; x continues the argument, so `*x`; + closes what is open, `)`; then 1. The result
        # is 2*sin(3*x)+1.
        steps = {"function": self._function, "+": self._sign, "-": self._sign, "*": self._operator, "/": self._operator}
        steps |= {"^": self._raise, ",": self._comma, **dict.fromkeys(OPERANDS, self._operand)}
        while self.at < len(self.items):
            item = self.items[self.at]
            self.at += 1
            if item.kind not in steps:
                raise error_at(self.text, item.start, f"'{self.text[item.start : item.stop]}' has no place here")
            steps[item.kind](item)
        self._close()
        return self.out

    def _following(self) -> Item | None:
        return self.items[self.at] if self.at < len(self.items) else None

    def _put(self, text: str, item: Item) -> None:
        self.out.append(TextPiece(text, item.start))

    def _operand(self, item: Item) -> None:
        if item.kind == "group" and item.comma is not None:
            raise self.refusals.comma(item.comma, self.last)
        self._begin(item)
        if item.kind == "fraction" and self.minus and not self._is_raised():
            self.out.append(item.pieces)  # one literal with its sign
        else:
            self.out.append(write_operand(item))
        self.last = item
        self.exponent = False
        self.minus = False

    def _is_raised(self) -> bool:
        following = self._following()
        return following is not None and following.kind == "^"

    def _begin(self, item: Item) -> None:
        """A value begins, after another one as a factor."""
        if self.last is not None:
            self._juxtapose(self.last, item)
            self._put("*", item)
            self.power = None
            self.last = None
        elif self.open and not self.exponent:
            self.coefficient = item.kind in ("number", "constant")
        if self.term is None:
            self.term = item.start

    def _juxtapose(self, last: Item, item: Item) -> None:
        """Check that a factor may come after another one with no sign between them."""
        following = self._following()
        raised = self.power is not None and (item.gap or last.kind not in SIMPLE)
        if (item.kind == "number" and not raised) or (item.kind == "fraction" and last.kind == "number"):
            raise self.refusals.number(last, item, self.items[self.at : self.at + 2])
        if item.kind == last.kind == "blank":
            raise self.refusals.blanks(last)
        end = following.stop if item.kind == "function" and following else item.stop
        if self.open:
            if item.kind == "function" and not self._goes_on():
                self._close()
            elif item.kind != "function" and item.kind != "group" and self._goes_on():
                self.coefficient = item.kind == "constant"
                return
            else:
                function = self.open[-1]
                raise self.refusals.argument(function.head, function.start, last.stop, "*", item.start, end)
        if self.slash is not None:
            assert self.term is not None  # a slash comes after a value
            if item.gap and COEFFICIENT.fullmatch(self.text[self.term : last.stop]):
                self.slash = None  # 1/2 x is a half of x
                return
            raise self.refusals.quotient(self.term, self.slash, self.under, last.stop, item.start, end)
        self._check_power(last, item)
        applied = last.kind in ("name", "word") and item.kind == "group" and item.text in "(["
        if applied and last.text not in self.standing:
            raise self.refusals.application(last, item)

    def _goes_on(self) -> bool:
        """Whether another factor could be part of the open argument."""
        return self.coefficient and self.open[-1].head.name not in ROOTS

    def _check_power(self, last: Item, item: Item) -> None:
        if self.power is None or last.kind not in SIMPLE or item.kind not in SIMPLE or item.gap:
            return
        if self.power.base.kind in ("number", "constant") or last.kind != "number":
            raise self.refusals.power(self.power.base, self.power.start, last, item)

    def _function(self, item: Item) -> None:
        self._begin(item)
        function, self.at = head(self.text, self.items, self.at - 1)
        following = self._following()
        before, behind = function.around(following.stop - 1 if following else item.stop)
        if following and following.kind == "group":
            if following.comma is not None and function.name not in FUNCTIONS and function.name not in OPERATORS:
                raise self.refusals.comma(following.comma, None)
            self.at += 1
            self.out += [before, following.pieces, behind]
            self.last = Item("closed", "", item.start, following.stop, item.gap, [])
        elif following and (following.kind in OPERANDS or following.kind in ("function", "-")):
            self.out.append(before)
            self.open.append(_Open(function, following.start))
        else:
            shown = self.text[item.start : item.stop]
            raise error_at(self.text, item.start, f"'{shown}' is a function; write {shown}(...)")
        self.exponent = self.minus = self.coefficient = False

    def _close(self) -> None:
        """The open arguments end here."""
        for function in reversed(self.open):
            self.out.append(function.head.around(self.last.stop if self.last else function.start)[1])
        self.open.clear()

    def _sign(self, item: Item) -> None:
        if self.last is None:
            if item.kind == "-":
                self.minus = self.term is None
                self._put("-", item)
            elif self.out and self.out[-1] != TextPiece(", ", item.start):
                self._put("+", item)  # the strict reader says what is wrong
            return
        self._close()
        self._put(f" {item.kind} ", item)
        self._end_product()

    def _end_product(self) -> None:
        self.last = self.power = self.term = self.slash = None
        self.minus = False

    def _operator(self, item: Item) -> None:
        following = self._following()
        if self.last is not None and following:
            self._check_operator(self.last, item, following)
        self._close()
        self._put(item.kind, item)
        self.last = self.power = self.slash = None
        if item.kind == "/" and following:
            self.slash = item.start
            self.under = following.start

    def _check_operator(self, last: Item, item: Item, following: Item) -> None:
        bare = self.open and self.open[-1].head.name not in ROOTS and not item.gap and following.kind in OPERANDS
        if bare and not self._is_sum(following):
            function = self.open[-1]
            start = following.start
            stop = following.stop
            raise self.refusals.argument(function.head, function.start, last.stop, item.kind, start, stop)
        if last.kind == "closed" and not item.gap and following.kind in OPERANDS and not self._is_sum(following):
            shown = self.text[last.start : last.stop].rstrip()
            if shown[-1:].isalpha() and " " in shown and not shown.lstrip("\\").startswith(ROOTS):  # ln xy
                raise self.refusals.run(last, item.kind, following)
        if item.kind == "/" and self.power and last.text == "1" and following.kind == "number":
            raise self.refusals.root(self.power.base, self.power.start, last, following)

    def _is_sum(self, item: Item) -> bool:
        """Whether an item is a sum in brackets: nobody divides the argument by it in ``tan x/(1 - x)``."""
        return item.kind == "group" and any(sign in self.text[item.start : item.stop] for sign in "+-−")

    def _raise(self, item: Item) -> None:
        if self.last is not None:
            if self.open and self.open[-1].head.name in ROOTS:
                raise self.refusals.root_of_power(self.open[-1].head, self.open[-1].start, item, self.items[self.at :])
            following = self._following()
            if self.power is None and following:
                self.power = _Power(self.last, following.start)
        self.coefficient = False
        self.exponent = True
        self.last = None
        self._put("^", item)

    def _comma(self, item: Item) -> None:
        if not self.commas:
            raise self.refusals.comma(item.start, None)
        self._close()
        self._put(", ", item)
        self._end_product()
