"""Intervals as answers, ``x ≥ 0``, ``[1, 2]`` and ``x < 1 or x > 2``, are compared with where an equation holds."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from flint import acb, arb, ctx, fmpq

from dgltree.equations.completion.assumptions import (
    Assumption,
    check_assumptions,
    end_number,
    exact_end,
    exceeds,
    read_assumptions,
    spans_of,
)
from dgltree.equations.expressions.variables import variables
from dgltree.equations.marking.marks import Checked, Mark
from dgltree.equations.marking.sentences import Cause
from dgltree.equations.marking.solution_lists import bare, listings
from dgltree.equations.truth.drawn_letters import number_text
from dgltree.equations.truth.solutions.solutions import BITS, Number, NumberOutcome, Solutions
from dgltree.equations.truth.verdict import Doubt, End, undecided
from dgltree.equations.typed import read_typed_expression
from dgltree.equations.typed.names import letter_key
from dgltree.support.refusal import Refusal
from dgltree.trees.tree import Tree

_SIZES = re.compile(r"\\(?:left|right)(?![A-Za-z])\s*")
_SET_NAME = re.compile(r"^\s*(?:I?L|S|M|𝕃|\\mathbb\{?L\}?)\s*=\s*(?=[\[\](])")
_UNION = re.compile(r"∪|\\cup(?![A-Za-z])|\s(?:or|oder)\s|∨|\\(?:lor|vee)(?![A-Za-z])|\\text\{\s*or\s*\}")
_RELATION = re.compile(r"[<>≤≥⩽⩾]|\\[gl](?:eq?|t)(?![A-Za-z])|(?:∈|\\in(?![A-Za-z])|\bin\b)\s*[\[\](]")
_BARE = re.compile(r"[\[\](][^,;|]+[,;|][^,;|]+[\[\])]")
_ENDLESS = re.compile(r"∞|oo|\\infty")
DIGITS = 15
"""Digits of the denominator of a number that is shown, if the interval has one."""


class RealInterval(NamedTuple):
    """The numbers between two ends; None stands for no end."""

    low: Number | None
    high: Number | None
    low_in: bool
    high_in: bool


def read_intervals(text: str, unknown: str, may_be_bare: bool) -> list[RealInterval] | None:
    """The intervals, and the numbers next to them, of an answer that has an interval in it; None of another answer.

    Args:
        text: as it is typed.
        unknown: what is asked for.
        may_be_bare: whether ``(1, 2)`` is an interval; with an infinite end it always is.

    Raises ``ValueError`` for another letter, for an interval without a number and for one that cannot be read.
    """
    plain = _SET_NAME.sub("", _SIZES.sub("", text)).replace("\\lt", "<").replace("\\gt", ">")
    parts = [part.strip() for part in _UNION.split(plain)]
    bare_parts = [part for part in parts if _BARE.fullmatch(part)]
    if not _RELATION.search(plain) and not (bare_parts and (may_be_bare or _ENDLESS.search(plain))):
        return None
    pieces: list[RealInterval] = []
    for part in parts:
        if part in bare_parts:
            pieces.append(_interval(f"{unknown} in {part.replace('|', ';')}", part, unknown))
        elif _RELATION.search(part):
            pieces.append(_interval(part, part, unknown))
        else:
            pieces += _points(part, unknown)
    return pieces


def _interval(said: str, text: str, unknown: str) -> RealInterval:
    """Return the numbers for which a statement about the unknown is true; ``text`` is the statement as it was typed."""
    try:
        assumed = read_assumptions([said])
    except ValueError:
        raise Refusal(f"'{text}' cannot be read; write {unknown} >= 0, 1 <= {unknown} < 2 or [1, 2)") from None
    for one in assumed:
        if letter_key(one.name) != letter_key(unknown) or one.whole:
            raise Refusal(f"'{text}' does not give the limits of {unknown}; write {unknown} >= 0 or [1, 2)")
        for end in (one.low, one.high):
            if end is not None and variables(end):
                raise Refusal(f"'{text}' contains {variables(end)[0]}; the ends of an interval must be numbers")
    return _numbers(check_assumptions([one._replace(name=unknown) for one in assumed], [unknown]))


def _numbers(assumed: Sequence[Assumption]) -> RealInterval:
    """Return the numbers for which all statements about one variable are true."""
    [span] = spans_of(assumed).values()
    return RealInterval(_real(span.low), _real(span.high), span.low_in, span.high_in)


def _points(text: str, unknown: str) -> list[RealInterval]:
    """``x = 2`` and ``{1, 2}`` next to intervals."""
    points = []
    for one in listings(bare(text, unknown, ()), unknown)[-1]:
        tree = read_typed_expression(one)
        if variables(tree):
            raise Refusal(f"'{text}' contains {variables(tree)[0]}; write only numbers next to intervals")
        points.append(RealInterval(_real(tree), _real(tree), True, True))
    return points


def _real(tree: Tree | None) -> Number | None:
    """The number of an end. Raises ``ValueError`` for an expression that is no real number."""
    if tree is None:
        return None
    with ctx.workprec(BITS):
        number = end_number(tree)
    if number is None or (isinstance(number, acb) and not number.imag.contains(0)):
        raise Refusal("an end of an interval is not a real number")
    return number if isinstance(number, fmpq) else number.real


def mark_intervals(
    given: Sequence[RealInterval], text: str, solutions: Solutions, assumed: Sequence[Assumption]
) -> Checked:
    """The mark of an answer that has intervals, by all solutions in one real unknown, of which something is assumed.

    The ends of the answer and of the solutions cut the line into points and open intervals: each is in the answer or
    not, and solves the equation or not. It is wrong only if a number of the answer is shown to be no solution.
    """
    allowed = [_numbers(assumed)] if assumed else [RealInterval(None, None, False, False)]
    held = [RealInterval(_end(one.low), _end(one.high), one.low_in, one.high_in) for one in solutions.intervals]
    held += [RealInterval(root.number, root.number, True, True) for root in solutions.roots]
    with ctx.workprec(BITS):
        ends = _in_order(
            end for piece in (*given, *held, *allowed) for end in (piece.low, piece.high) if end is not None
        )
        answered = _cells(given, ends)
        inside = _cells(allowed, ends)
        known = _cells(held, ends) & inside
        strange = [_sample(cell, ends) for cell in sorted(answered - known)]
    unsure = undecided("not all solutions are known", Doubt.NOT_COMPARED)
    verdict = solutions.every or unsure
    if not answered <= inside:
        texts = " and ".join(one.text for one in assumed)
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-assumed", {"assumption": texts}))
    low_ends = [piece.low for piece in given if piece.low_in and piece.low is not None]
    high_ends = [piece.high for piece in given if piece.high_in and piece.high is not None]
    for number in (*strange, *low_ends, *high_ends):  # an end of solutions is known to nine digits only
        put = solutions.put(number)
        if put.outcome in (NumberOutcome.DIFFERS, NumberOutcome.NOT_REAL):
            reason = f": {put.reason}" if put.outcome is NumberOutcome.NOT_REAL else ""
            place = f"{solutions.name} = {number_text(number)} is no solution{reason}"
            return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-not-real", {"place": place}))
    if known - answered:
        values = {"unknown": solutions.name, "place": verdict.place}
        return Checked(text, Mark.INCOMPLETE, verdict, cause=Cause("incomplete-interval", values))
    if strange or not solutions.are_all:
        return Checked(text, Mark.UNDECIDED, unsure)
    if verdict.conditions:
        return Checked(text, Mark.PART, verdict, cause=Cause("part-claim", {"place": verdict.place}))
    return Checked(text, Mark.RIGHT, verdict)


def _end(end: End | None) -> Number | None:
    number = None if end is None else exact_end(end)
    return number if number is None or isinstance(number, fmpq) else number.real


def _are_same(a: Number, b: Number) -> bool:
    """Whether two ends are one; one that is written with six digits is known to nine."""
    return not exceeds(a, b, False) and not exceeds(b, a, False)


def _in_order(numbers: Iterable[Number]) -> list[Number]:
    """The different ones of some numbers, from left to right."""
    ends: list[Number] = []
    for number in sorted(numbers, key=lambda x: float(arb(x).mid())):
        if not ends or not _are_same(ends[-1], number):
            ends.append(number)
    return ends


def _cells(pieces: Iterable[RealInterval], ends: Sequence[Number]) -> set[int]:
    """The cells of the line in some intervals: cell 2k + 1 is end k, cell 2k lies before it."""
    cells: set[int] = set()
    for low, high, low_in, high_in in pieces:
        first = 0
        last = 2 * len(ends)
        for k, end in enumerate(ends):
            if low is not None and _are_same(low, end):
                first = 2 * k + (1 if low_in else 2)
            if high is not None and _are_same(high, end):
                last = 2 * k + (1 if high_in else 0)
        cells.update(range(first, last + 1))
    return cells


def _sample(cell: int, ends: Sequence[Number]) -> Number:
    """A number of a cell: an end, or a plain one between two."""
    k = cell // 2
    if cell % 2:
        return ends[k]
    middles = [Fraction(float(arb(end).mid())) for end in ends]
    if not ends:
        return fmpq(0)
    if k == 0 or k == len(ends):
        return fmpq(floor(middles[0]) - 1) if k == 0 else fmpq(ceil(middles[-1]) + 1)
    low = middles[k - 1]
    high = middles[k]
    middle = (low + high) / 2
    plain = (middle.limit_denominator(10**digits) for digits in range(1, DIGITS))
    found = next((x for x in plain if low < x < high), middle)
    return fmpq(found.numerator, found.denominator)
