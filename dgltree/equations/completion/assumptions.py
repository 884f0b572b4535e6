"""Assumptions about the variables of an equation: ``T > 0``, ``x in [0, 2π)``, ``n integer``."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from flint import acb, arb, fmpq

from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.assumed import Assumed, AssumedSpan, in_order
from dgltree.equations.truth.balls import Ball, Unjudged, ball, is_real, sign
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.precision import one_thread_at_a_time
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.verdict import Domain, End, Grade, Interval, Part, Verdict
from dgltree.equations.typed import read_typed_expression
from dgltree.equations.typed.names import letter_key
from dgltree.read.infix_writer import write_infix
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

SAME = arb(2) ** -100
"""Difference below which a number is the end of an interval."""
BITS, SAMPLES = 128, 40
"""Bits of an end, and points at which an expression is compared with ends."""
_LESS = {"≤": "<=", "≥": ">=", "\\leq": "<=", "\\geq": ">=", "\\le": "<=", "\\ge": ">=", "⩽": "<=", "⩾": ">="}
_CHAIN = re.compile(
    r"^(?:(?P<before>[^<>=]+?)\s*(?P<first>[<>]=?)\s*)??(?P<name>[^\W\d]\w*)"
    r"(?:\s*(?P<second>[<>]=?)\s*(?P<behind>[^<>=]+))?$"
)
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_INTERVAL = re.compile(
    r"^(?P<name>[^\W\d]\w*)\s*(?:∈|\\in\b|in\b)\s*(?P<left>[\[\](])(?P<low>[^,;]+)[,;](?P<high>[^,;]+)(?P<right>[\[\])])$"
)
_WHOLE = re.compile(
    r"^(?P<name>[^\W\d]\w*)\s*"
    r"(?:(?:∈|\\in\b|in\b)\s*(?:ℤ|Z|\\mathbb\{?Z\}?)|(?:is )?(?:an )?(?:integer|whole))$"
)
_RELATION = re.compile(r"[<>≤≥⩽⩾∈]|\\[gl]eq?|\\in\b|\bin\b|\b(?:integer|whole)\b")
_INFINITE = re.compile(r"∞|oo|\\infty|\binf")
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
    """The text that is shown."""

    def allows(self, value: Ball) -> bool | None:
        """Whether it is true of a value; None if balls leave it open."""
        if is_real(value) is not True:
            return False if is_real(value) is False else None
        if self.whole:
            is_open = not isinstance(value, fmpq) and ball(value).real.contains_integer()
            return None if is_open else isinstance(value, fmpq) and value.q == 1
        above = self.low is None or exceeds(value, end_number(self.low), self.low_in)
        below = self.high is None or exceeds(end_number(self.high), value, self.high_in)
        if above is False or below is False:
            return False
        return True if above and below else None


def read_assumption(text: str) -> Assumption:
    """An assumption as a person writes it. Raises ``ValueError`` for a text that is none."""
    plain = text.strip()
    for written, ascii_ in _LESS.items():
        plain = plain.replace(written, ascii_)
    if found := _WHOLE.match(plain):
        return Assumption(found["name"], whole=True, text=f"{found['name']} is whole")
    if found := _INTERVAL.match(plain):
        low, high = _ends(found["low"], found["high"])
        return _named(Assumption(found["name"], low, high, found["left"] == "[", found["right"] == "]"))
    if found := _CHAIN.match(plain):
        before, behind = _ends(found["before"], found["behind"])
        pairs = [(_TURNED.get(found["first"], ""), before), (found["second"] or "", behind)]
        above = [(sign, end) for sign, end in pairs if end is not None and sign.startswith(">")]
        below = [(sign, end) for sign, end in pairs if end is not None and sign.startswith("<")]
        if len(above) < 2 and len(below) < 2 and (above or below):
            low_sign, low = above[0] if above else ("", None)
            high_sign, high = below[0] if below else ("", None)
            return _named(Assumption(found["name"], low, high, low_sign == ">=", high_sign == "<="))
    raise Refusal(f"the assumption {text!r:.60} cannot be read; {_EXPECTED}")


def read_assumptions(texts: Iterable[str]) -> tuple[Assumption, ...]:
    """Read the assumptions of several texts, each of which may have some between ``and`` or commas."""
    parts = (part for text in texts for part in re.split(r"\s+and\s+", text))
    return tuple(read_assumption(one) for part in parts for one in _between_commas(part))


def _between_commas(text: str) -> list[str]:
    """``x > 2`` and ``y > 1`` of ``x > 2, y > 1``; the comma of an interval has no relation after it."""
    parts = text.split(",")
    return parts if all(map(_RELATION.search, parts)) else [text]


def check_assumptions(assumed: Sequence[Assumption], names: Collection[str]) -> tuple[Assumption, ...]:
    """The assumptions in the spelling of an equation.

    Raises ``Refusal`` for a variable that it has not, for assumptions that contradict each other, and for a circle.
    """
    spelled = {letter_key(name): name for name in names}
    for one in assumed:
        for name in (one.name, *variables(*(end for end in (one.low, one.high) if end is not None))):
            if name not in names and letter_key(name) not in spelled:
                raise Refusal(f"{one.text} is assumed, but the equation does not contain {name}")
    found = tuple(one if one.name in names else one._replace(name=spelled[letter_key(one.name)]) for one in assumed)
    spans = spans_of(found)
    try:
        in_order(spans)
    except KeyError as error:
        raise Refusal(f"the assumption about {error.args[0]} depends on itself; write the ends as numbers") from None
    for name, span in spans.items():
        if is_empty(span):
            texts = [one.text for one in found if one.name == name]
            if len(texts) == 1:
                raise Refusal(f"{texts[0]}: no number satisfies this; write the smaller end first")
            raise Refusal(f"{' and '.join(texts)} contradict each other: no number satisfies both")
    return found


def spans_of(assumed: Sequence[Assumption]) -> dict[str, AssumedSpan]:
    """The values that variables may have, of which all that is assumed is true."""
    spans: dict[str, AssumedSpan] = {}
    for one in assumed:
        span = spans.get(one.name, AssumedSpan())
        low, low_in = _narrower(span.low, span.low_in, one.low, one.low_in, 1)
        high, high_in = _narrower(span.high, span.high_in, one.high, one.high_in, -1)
        spans[one.name] = AssumedSpan(low, high, low_in, high_in, span.whole or one.whole)
    return spans


def _narrower(a: Tree | None, a_in: bool, b: Tree | None, b_in: bool, way: int) -> tuple[Tree | None, bool]:
    """The end that leaves less, and whether it is part of it: of two below the larger one."""
    if a is None or b is None:
        return (b, b_in) if a is None else (a, a_in)
    if variables(a, b):
        return b, b_in
    first = end_number(a)
    second = end_number(b)
    if first is None or second is None:
        raise Refusal(f"{write_infix(a if first is None else b)} is not a real number")
    larger = exceeds(first, second, False)
    if larger is None or (not exceeds(second, first, False) and not larger):
        return a, a_in and b_in
    return (a, a_in) if larger is (way > 0) else (b, b_in)


def is_empty(span: AssumedSpan) -> bool:
    """Whether there is surely no value between two ends."""
    if span.low is None or span.high is None or variables(span.low, span.high):
        return False
    if span.whole:
        return span.whole_number(fmpq(0), {}) is None
    low = end_number(span.low)
    high = end_number(span.high)
    if low is None or high is None or exceeds(low, high, False):
        return True
    return not exceeds(high, low, False) and not (span.low_in and span.high_in)


def whole_letters(assumed: Sequence[Assumption]) -> frozenset[str]:
    """The variables that are assumed to be whole numbers: next to them, i is the imaginary unit."""
    return frozenset(one.name for one in assumed if one.whole)


def verdict_under(judge: Judge, equation: Equation, assumed: Sequence[Assumption]) -> tuple[Verdict, bool]:
    """The verdict on an equation where its variables are as assumed, and whether it holds there."""
    verdict = judge.verdict(equation)
    names = variables(*equation)
    spans = {name: span for name, span in spans_of(assumed).items() if name in names}
    if not spans or verdict.domain in (Domain.EVERYWHERE, Domain.REALS):
        return verdict, bool(spans) and verdict.domain in (Domain.EVERYWHERE, Domain.REALS)
    are_positive = all(name in spans and _is_positive(spans[name]) for name in names)
    on_positive = verdict.domain is Domain.POSITIVE and not verdict.part and are_positive
    if on_positive or (len(names) == 1 and not spans[names[0]].whole and _covers(verdict, spans[names[0]])):
        return replace(verdict, domain=Domain.REALS, part=(), only=False, agrees=(), counterexample=None), True
    found = judge.verdict_within(equation, spans)
    if found.grade is Grade.REFUTED and len(names) == 1 and not spans[names[0]].whole:
        part = tuple(_clipped(verdict.part, spans[names[0]]))
        if any(not piece.is_point for piece in part):
            found = replace(verdict, domain=Domain.PART, part=part, counterexample=found.counterexample)
    return found, found.domain in (Domain.EVERYWHERE, Domain.REALS)


def excludes(assumed: Sequence[Assumption], name: str, value: Tree) -> Assumption | None:
    """The assumption on a variable that a value breaks, at every point at which it is real; None if there is none."""
    about = [one for one in assumed if one.name == name]
    return next((one for one in about if _breaks(one, value, assumed)), None)


def _breaks(one: Assumption, value: Tree, assumed: Sequence[Assumption]) -> bool:
    if variables(*(end for end in (one.low, one.high) if end is not None)):
        return False
    try:
        points = Assumed(Equation(value, value), spans_of(assumed)).points()
        program = Program(Equation(value, value), school=True)
    except Unjudged:
        return False
    seen = 0
    for point in points:
        found = program.at(point, BITS)[0]
        allowed = None if found is None else one.allows(found)
        if allowed:
            return False
        seen += allowed is False
        if seen == SAMPLES:
            break
    return seen > 0


def _is_positive(span: AssumedSpan) -> bool:
    low = None if span.low is None or variables(span.low) else end_number(span.low)
    return low is not None and sign(low) in (0, 1)


def _covers(verdict: Verdict, span: AssumedSpan) -> bool:
    """Whether the part on which an equation holds, in one variable, has all values of a span in it."""
    return verdict.window is None and not verdict.conditions and any(_is_within(span, piece) for piece in verdict.part)


def _is_within(span: AssumedSpan, piece: Interval) -> bool:
    starts = piece.low is None or (
        span.low is not None and bool(_is_beyond(span.low, piece.low, piece.low_in or not span.low_in))
    )
    ends = piece.high is None or (
        span.high is not None and bool(_is_beyond(piece.high, span.high, piece.high_in or not span.high_in))
    )
    return starts and ends


def _is_beyond(larger: Tree | End, smaller: Tree | End, included: bool) -> bool | None:
    """Whether an end is larger than another one, or surely the same if that is included; None if that is open."""
    first, second = (exact_end(end) if isinstance(end, End) else end_number(end) for end in (larger, smaller))
    return None if first is None or second is None else exceeds(first, second, included)


def exact_end(end: End) -> Ball | None:
    """The number of an end; of one that is written with six digits a ball around it."""
    tree = read_typed_expression(end.text)
    if any(node.function == "Float" for node in tree.distinct()):
        return acb(arb(end.value, max(1e-9, abs(end.value) * 1e-9)))
    return end_number(tree)


def _clipped(part: Part, span: AssumedSpan) -> Iterator[Interval]:
    """The intervals of a part that are in a span, as far as their ends can be compared."""
    ends = [None if end is None else End(write_infix(end), float(_ball(end).mid())) for end in (span.low, span.high)]
    low, high = ends
    for piece in part:
        first = piece.low
        first_in = piece.low_in
        if low is not None and (first is None or low.value >= first.value):
            first_in = span.low_in and (first is None or low.value > first.value or piece.low_in)
            first = low
        last = piece.high
        last_in = piece.high_in
        if high is not None and (last is None or high.value <= last.value):
            last_in = span.high_in and (last is None or high.value < last.value or piece.high_in)
            last = high
        if first is None or last is None or first.value < last.value:
            yield Interval(first, last, first_in, last_in)
        elif first.value == last.value and first_in and last_in:
            yield Interval(first, first, True, True)


def _ends(*ends: str | None) -> list[Tree | None]:
    """The ends of an interval: numbers, or letters. Raises ``Refusal`` for one that cannot be read."""
    return [None if end is None or _INFINITE.search(end) else read_typed_expression(end) for end in ends]


def _named(one: Assumption) -> Assumption:
    low = "" if one.low is None else f"{write_infix(one.low)} {'≤' if one.low_in else '<'} "
    high = "" if one.high is None else f" {'≤' if one.high_in else '<'} {write_infix(one.high)}"
    if one.high is None and one.low is not None:
        return one._replace(text=f"{one.name} {'≥' if one.low_in else '>'} {write_infix(one.low)}")
    return one._replace(text=f"{low}{one.name}{high}")


def end_number(tree: Tree) -> Ball | None:
    """The number that an expression without letters is; None if it has no value."""
    return Program(Equation(tree, tree), school=True).at({}, BITS)[0]


def _ball(tree: Tree | None) -> Any:
    value = None if tree is None else end_number(tree)
    return arb("nan") if value is None else ball(value).real


def exceeds(larger: Ball, smaller: Ball, included: bool) -> bool | None:
    """Whether a number is larger than another one, or the same if that is included: to ``SAME`` if balls meet."""
    if isinstance(larger, fmpq) and isinstance(smaller, fmpq):
        return larger > smaller or (included and larger == smaller)
    difference = ball(larger).real - ball(smaller).real
    if difference > 0 or difference < 0:
        return bool(difference > 0)
    return included if abs(difference) < SAME else None


@one_thread_at_a_time
def as_assumed(found: Completion, assumed: Sequence[Assumption]) -> Completion:
    """A completion without the solutions that are not as assumed."""
    names = [*variables(*found.equation), *((found.unknown,) if found.unknown else ())]
    assumed = check_assumptions(assumed, names)
    if found.unknown is None or not assumed:
        return found
    kept = tuple(filler for filler in found.fillers if excludes(assumed, found.unknown, filler.trees[0]) is None)
    lost = "no solution satisfies the assumptions" if found.fillers and not kept else ""
    return replace(found, fillers=kept, reason=found.reason or lost)
