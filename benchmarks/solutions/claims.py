"""The solutions that ``dgltree.complete`` names, as numbers of many digits by a reader of their own."""

import re
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath

import dgltree
from benchmarks.verdicts.shapes import Expression, minus, number

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:e-?\d+)?)|([A-Za-z_]\w*)|(.))")


class Claims(NamedTuple):
    """The answer to an equation, as claims about its solutions."""

    numbers: tuple[tuple[str, bool], ...]
    """Each as text, and whether it has 12 digits alone."""
    period: str
    none: bool
    """Whether there is no real solution, it says."""
    more: bool
    """Whether there may be more, it says; or nothing is known."""
    not_single: bool
    """Whether it says that they are not single numbers."""
    text: str


def claims(equation: str) -> Claims:
    """Of an equation in x."""
    found = dgltree.complete(f"{equation}, x = _", top=200)
    numbers = tuple((str(one), one.verdict.grade.value == "rounded") for one in found.fillers)
    none, not_single = "no real solution" in found.reason, "not single" in found.reason or "every x" in found.reason
    guesses = bool(numbers) and not found.found
    more = found.more or found.stopped or guesses or not (numbers or none or not_single)
    period = "" if found.period is None else dgltree.write_infix(found.period)
    return Claims(() if guesses else numbers, period, none, more, not_single, str(found))


def read(text: str) -> Expression:
    """An expression of numbers, as tuples. Raises ``ValueError`` for anything else."""
    tokens = [match.groups() for match in _TOKEN.finditer(text) if match.group().strip()]
    found = _Reader(tokens)
    tree = found.sum()
    if found.place < len(tokens):
        raise ValueError(text)
    return tree


class _Reader:
    """Reads infix from left to right."""

    def __init__(self, tokens: list[tuple[str | None, ...]]) -> None:
        self.tokens, self.place = tokens, 0

    def peek(self) -> str:
        return "" if self.place == len(self.tokens) else next(part for part in self.tokens[self.place] if part)

    def take(self) -> str:
        self.place += 1
        return next(part for part in self.tokens[self.place - 1] if part)

    def sum(self) -> Expression:
        found = self.product()
        while self.peek() in ("+", "-"):
            sign, term = self.take(), self.product()
            found = ("+", found, term) if sign == "+" else minus(found, term)
        return found

    def product(self) -> Expression:
        found = self.signed()
        while self.peek() in ("*", "/"):
            found = (self.take(), found, self.signed())
        return found

    def signed(self) -> Expression:
        if self.peek() == "-":
            self.take()
            return ("*", number(-1), self.signed())
        return self.power()

    def power(self) -> Expression:
        base = self.atom()
        if self.peek() == "^":
            self.take()
            exponent = self.signed()
            constant = _rational(exponent)
            return ("^", base, exponent if constant is None else number(constant))
        return base

    def atom(self) -> Expression:
        token = self.take() if self.place < len(self.tokens) else ""
        if token == "(":
            found = self.sum()
            if self.take() != ")":
                raise ValueError(token)
            return found
        if token[:1].isdigit():
            return number(Fraction(token))
        if token == "pi":
            return ("pi",)
        if token == "e":
            return ("exp", number(1))
        if token.isidentifier() and self.peek() == "(":
            self.take()
            found = self.sum()
            below = None
            if self.peek() == ",":
                self.take()
                below = self.sum()
            if self.take() != ")":
                raise ValueError(token)
            token = {"log2": "log", "ln": "log"}.get(token, token)
            return (token, found) if below is None else ("/", (token, found), (token, below))
        raise ValueError(token)


def _rational(e: Expression) -> Fraction | None:
    match e:
        case ("number", q):
            return Fraction(q)
        case ("*", a, b) | ("/", a, b):
            first, second = _rational(a), _rational(b)
            if first is None or second is None:
                return None
            return first * second if e[0] == "*" else first / second
    return None


def shifted(x: Any, period: Any, low: float, high: float) -> list[Any]:
    """All numbers between two that are whole periods from a number."""
    first = int(mpmath.ceil((low - x) / period))
    last = int(mpmath.floor((high - x) / period))
    return [x + k * period for k in range(first, last + 1)]
