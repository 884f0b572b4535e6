"""Assumptions about the variables of an equation: ``T > 0``, ``x in [0, 2π)``, ``n integer``."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from flint import arb, fmpq

from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.balls import Ball, Unjudged, ball, is_real
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.sample_points import points
from dgltree.equations.truth.verdict import Counterexample, Domain, Grade, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.equations.typed import read_typed_expression
from dgltree.equations.typed.names import letter_key
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

SAME = arb(2) ** -100
"""Difference below which a number is the end of an interval."""
BITS, SAMPLES = 128, 40
"""Bits of an end, and points at which an expression is compared with ends."""
_LESS = {"≤": "<=", "≥": ">=", "\\leq": "<=", "\\geq": ">=", "\\le": "<=", "\\ge": ">=", "⩽": "<=", "⩾": ">="}
_CHAIN = re.compile(
    r"^(?:(?P<low>[^<>=]+?)\s*(?P<first><=?)\s*)?(?P<name>[^\W\d]\w*)\s*(?P<second><=?|>=?)\s*(?P<end>[^<>=]+)$"
)
_INTERVAL = re.compile(
    r"^(?P<name>[^\W\d]\w*)\s*(?:∈|\\in\b|in\b)\s*(?P<left>[\[\](])(?P<low>[^,;]+)[,;](?P<high>[^,;]+)(?P<right>[\[\])])$"
)
_WHOLE = re.compile(
    r"^(?P<name>[^\W\d]\w*)\s*"
    r"(?:(?:∈|\\in\b|in\b)\s*(?:ℤ|Z|\\mathbb\{?Z\}?)|(?:is )?(?:an )?(?:integer|whole))$"
)
_EXPECTED = "expected T > 0, 0 <= x < 2, x in [0, 2π) or n integer"


class Assumption(NamedTuple):
    """An interval in which a variable is, or that it is whole."""

    name: str
    low: Tree | None = None
    high: Tree | None = None
    low_in: bool = False
    high_in: bool = False
    whole: bool = False
    text: str = ""
    """As it is shown."""

    @property
    def is_positive(self) -> bool:
        """Whether it says that the variable is above 0, or not below."""
        return not self.whole and self.high is None and self.low is not None and _number(self.low) == 0

    def allows(self, value: Ball) -> bool | None:
        """Whether it is true of a value; None if balls leave it open."""
        if is_real(value) is not True:
            return False if is_real(value) is False else None
        if self.whole:
            is_open = not isinstance(value, fmpq) and ball(value).real.contains_integer()
            return None if is_open else isinstance(value, fmpq) and value.q == 1
        above = self.low is None or _beyond(value, _number(self.low), self.low_in)
        below = self.high is None or _beyond(_number(self.high), value, self.high_in)
        if above is False or below is False:
            return False
        return True if above and below else None


def read_assumption(text: str) -> Assumption:
    """An assumption as a person writes it. Raises ``ValueError`` for a text that is none."""
    plain = text.strip()
    for sign, ascii_ in _LESS.items():
        plain = plain.replace(sign, ascii_)
    if found := _WHOLE.match(plain):
        return Assumption(found["name"], whole=True, text=f"{found['name']} is whole")
    if found := _INTERVAL.match(plain):
        low, high = _ends(text, found["low"], found["high"])
        return _named(Assumption(found["name"], low, high, found["left"] == "[", found["right"] == "]"))
    if found := _CHAIN.match(plain):
        low, end = _ends(text, found["low"], found["end"])
        is_in = found["second"].endswith("=")
        if found["second"].startswith("<"):
            return _named(Assumption(found["name"], low, end, found["first"] == "<=", is_in))
        if low is None:
            return _named(Assumption(found["name"], end, None, is_in))
    raise ValueError(f"the assumption {text!r:.60} cannot be read; {_EXPECTED}")


def read_assumptions(texts: Iterable[str]) -> tuple[Assumption, ...]:
    """Those of several texts, each of which may have some between ``and``."""
    return tuple(read_assumption(part) for text in texts for part in re.split(r"\s+and\s+", text))


def check_assumptions(assumed: Sequence[Assumption], names: Collection[str]) -> tuple[Assumption, ...]:
    """The assumptions in the spelling of an equation. Raises ``ValueError`` for a variable that it has not."""
    spelled = {letter_key(name): name for name in names}
    for one in assumed:
        if one.name not in names and letter_key(one.name) not in spelled:
            raise ValueError(f"{one.text} is assumed, but there is no {one.name} in the equation")
    return tuple(one if one.name in names else one._replace(name=spelled[letter_key(one.name)]) for one in assumed)


def verdict_under(judge: Judge, equation: Equation, assumed: Sequence[Assumption]) -> tuple[Verdict, bool]:
    """The verdict on an equation, and whether it holds wherever its variables are as assumed.

    A variable that is positive is put as a square: what holds for every real s at s^2 holds for every positive number.
    """
    verdict, names = judge.verdict(equation), variables(*equation)
    about = [one for one in assumed if one.name in names]
    if not about or verdict.domain in (Domain.EVERYWHERE, Domain.REALS):
        return verdict, bool(about) and verdict.domain in (Domain.EVERYWHERE, Domain.REALS)
    positive = {one.name for one in about if one.is_positive}
    if verdict.domain is Domain.POSITIVE and positive.issuperset(names):
        return verdict, True
    if len(names) == 1 and any(_covers(verdict, one) for one in about):
        return verdict, True
    if not positive:
        return verdict, False
    squares = {_symbol(name): Tree("Pow", (_symbol(name), Tree("Integer", token="2"))) for name in positive}
    squared = judge.verdict(Equation(*(substitute(side, squares) for side in equation)))
    if squared.domain in (Domain.EVERYWHERE, Domain.REALS):
        return verdict, True
    if squared.grade is Grade.UNDECIDED or not (squared.domain is Domain.NONE or _is_at_points(squared)):
        return verdict, False
    shown = verdict.counterexample
    if shown is None or any(shown.variables.get(name, "-").startswith("-") for name in positive):
        shown = squared.counterexample and _unsquared(squared.counterexample, positive)
    return Verdict(Grade.REFUTED, counterexample=shown), False


def excludes(assumed: Sequence[Assumption], name: str, value: Tree) -> Assumption | None:
    """The assumption on a variable that a value breaks, at every point at which it is real; None if there is none."""
    about = [one for one in assumed if one.name == name]
    return next((one for one in about if _breaks(one, value, assumed)), None)


def is_right_if_positive(
    unknown: str, letters: Collection[str], given: Sequence[Tree], missing: Sequence[Tree]
) -> bool:
    """Whether only the sign of letters decides: where all are positive, what is given is, and what is missing is not.

    False for an equation without other letters than the unknown.
    """
    if not letters:
        return False
    assumed = [read_assumption(f"{name} > 0") for name in (unknown, *letters)]
    excluded = [excludes(assumed, unknown, tree) is not None for tree in (*given, *missing)]
    return excluded == [False] * len(given) + [True] * len(missing)


def _is_at_points(verdict: Verdict) -> bool:
    """Whether it holds at single points alone."""
    return bool(verdict.part) and all(piece.is_point for piece in verdict.part)


def _breaks(one: Assumption, value: Tree, assumed: Sequence[Assumption]) -> bool:
    try:
        program = Program(Equation(value, value), school=True)
    except Unjudged:
        return False
    positive = {other.name for other in assumed if other.is_positive}
    seen = 0
    for point in points(list(program.variables), "real"):
        inside = {name: abs(number) if name in positive else number for name, number in _values(point).items()}
        found = program.at(inside, BITS)[0]
        allowed = None if found is None else one.allows(found)
        if allowed:
            return False
        seen += allowed is False
        if seen == SAMPLES:
            break
    return seen > 0


def _values(point: Any) -> dict[str, Any]:
    return {name: value for name, value in point.items() if isinstance(value, fmpq)} if point else {}


def _covers(verdict: Verdict, one: Assumption) -> bool:
    """Whether the part on which an equation holds, in one variable, has all of an interval in it."""
    if one.whole:
        return False
    low, high = (None if end is None else float(_ball(end).mid()) for end in (one.low, one.high))
    for piece in verdict.part:
        starts = piece.low is None or (
            low is not None and (piece.low.value < low or (piece.low.value == low and (piece.low_in or not one.low_in)))
        )
        ends = piece.high is None or (
            high is not None
            and (piece.high.value > high or (piece.high.value == high and (piece.high_in or not one.high_in)))
        )
        if starts and ends:
            return True
    return False


def _unsquared(shown: Counterexample, squared: Collection[str]) -> Counterexample | None:
    """A point at which squares are written as what they are; None if one is no fraction."""
    try:
        values = {
            name: str(Fraction(value) ** 2) if name in squared else value for name, value in shown.variables.items()
        }
    except ValueError:
        return None
    return Counterexample(values, shown.left, shown.right)


def _ends(text: str, *ends: str | None) -> list[Tree | None]:
    """Numbers. Raises ``ValueError`` for ends with letters."""
    trees = [None if end is None or "∞" in end or "oo" in end else read_typed_expression(end) for end in ends]
    if any(variables(tree) for tree in trees if tree is not None):
        raise ValueError(f"the assumption {text!r:.60} has a letter as an end; {_EXPECTED}")
    return trees


def _named(one: Assumption) -> Assumption:
    low = "" if one.low is None else f"{write_infix(one.low)} {'≤' if one.low_in else '<'} "
    high = "" if one.high is None else f" {'≤' if one.high_in else '<'} {write_infix(one.high)}"
    if one.high is None and one.low is not None:
        return one._replace(text=f"{one.name} {'≥' if one.low_in else '>'} {write_infix(one.low)}")
    return one._replace(text=f"{low}{one.name}{high}")


def _number(tree: Tree) -> Ball | None:
    return Program(Equation(tree, tree), school=True).at({}, BITS)[0]


def _ball(tree: Tree | None) -> Any:
    value = None if tree is None else _number(tree)
    return arb("nan") if value is None else ball(value).real


def _beyond(larger: Ball, smaller: Ball, included: bool) -> bool | None:
    """Whether a number is larger than another one, or the same if that is included: to ``SAME`` if balls meet."""
    if isinstance(larger, fmpq) and isinstance(smaller, fmpq):
        return larger > smaller or (included and larger == smaller)
    difference = ball(larger).real - ball(smaller).real
    if difference > 0 or difference < 0:
        return bool(difference > 0)
    return included if abs(difference) < SAME else None


def _symbol(name: str) -> Tree:
    return Tree("Symbol", token=name)


def as_assumed(found: Completion, assumed: Sequence[Assumption]) -> Completion:
    """A completion without the solutions that are not as assumed."""
    names = [*variables(*found.equation), *((found.unknown,) if found.unknown else ())]
    assumed = check_assumptions(assumed, names)
    if found.unknown is None or not assumed:
        return found
    kept = [filler for filler in found.fillers if excludes(assumed, found.unknown, filler.trees[0]) is None]
    return replace(found, fillers=tuple(kept))
