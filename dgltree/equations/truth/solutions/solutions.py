"""The solutions of an equation in one real unknown, and whether these are all, with the reason.

A real number at which a part of a side is not real is no solution; it is extraneous, and the part is named.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice
from math import ceil
from typing import Any

from flint import arb, ctx, fmpq

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.isolation import Doubt, Hints, Isolation, isolate
from dgltree.equations.truth.part import Part
from dgltree.equations.truth.periods import Period, period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, INFINITY, Range, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    NEGATIVE,
    NONZERO,
    POSITIVE,
    Condition,
    Expression,
    Unsupported,
    X,
    derivative,
    domain,
    from_tree,
    subexpressions,
    to_text,
)
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.line import Line, real_line
from dgltree.equations.truth.proofs.place import values_at
from dgltree.equations.truth.real_roots import narrowed, sign_changes
from dgltree.equations.truth.solutions.normal import normal
from dgltree.equations.truth.solutions.numbers import Number, Outcome, Put, RealEquation, same
from dgltree.equations.truth.solutions.zeros import BITS, Unsolved, Zero, Zeros, factors, polynomial, zeros
from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import MINUS_ONE, number
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

DIGITS = 12
SHOWN_TURNS = 6
"""Periods to either side of 0, of solutions of which only some are multiples of a period apart."""
BOUNDED = 40.0
"""Beyond it, a domain that is bounded is looked for."""
LONGEST_REASON = 100
"""Characters."""
HIGHEST_DERIVATIVE, FARTHEST, HALVINGS = 6, 100.0, 2
"""Derivatives that are looked at, from where on none are, and how often a tail is halved for their signs."""
FLAT, HALVED = 8, 7
"""Whole numbers up to which flat zeros are looked for, and how often the interval around one is halved."""
CACHED = 256
LARGEST_RATIONAL, NEAR = 1000, 1e-6
"""Denominator of a rational number that is tried, and how close it is to where an interval leaves a root open."""
ZERO = number("0")


@dataclass(frozen=True)
class Root:
    """A solution."""

    number: Number
    """A rational number, or a ball of more than 60 digits around it and around no other solution."""
    polynomial: tuple[int, ...] = ()
    """An irreducible polynomial of which it is a root, the constant first; empty if none is known."""

    def __float__(self) -> float:
        q = self.number
        return int(q.p) / int(q.q) if isinstance(q, fmpq) else float(q.mid())

    @property
    def source(self) -> str:
        """Of what it is a root: its polynomial, if that is short."""
        text = "" if len(self.polynomial) < 4 else polynomial_text(self.polynomial)
        return text if 0 < len(text) <= LONGEST_REASON // 2 else "the equation"

    @property
    def decimal(self) -> str:
        """12 digits."""
        with ctx.workprec(BITS):
            text = str(arb(self.number).str(DIGITS, radius=False))
        return text.rstrip("0").removesuffix(".") if "." in text and "e" not in text else text


@dataclass(frozen=True)
class Extraneous:
    """A number that solves the equation by its rules, but at which a part has no real value."""

    number: Number
    reason: str


@dataclass(frozen=True)
class Solutions:
    """What is known of the solutions of an equation in one unknown."""

    equation: Equation
    name: str
    """Of the unknown."""
    roots: tuple[Root, ...] = ()
    """Single numbers, in order; of a periodic equation those from -period/2, which is left out, to period/2."""
    intervals: Part = ()
    """Where every number is a solution."""
    reason: str = ""
    """Why there are no others; empty if there may be some."""
    period: Period | None = None
    extraneous: tuple[Extraneous, ...] = ()
    forms: tuple[Expression, ...] = ()
    """Exact expressions of numbers, some of which may be roots."""
    polynomials: tuple[tuple[int, ...], ...] = ()
    """If it is one of polynomials: those irreducible ones whose roots are the solutions, complex ones, too."""

    @property
    def are_all(self) -> bool:
        return bool(self.reason)

    @property
    def are_none(self) -> bool:
        """Whether it is shown that there is no real solution."""
        return self.are_all and not self.roots and not self.intervals

    def put(self, number: Number) -> Put:
        """Whether a real number is a solution."""
        return Put(Outcome.OPEN) if self._real is None else self._real.put(number)

    def root_at(self, number: Number) -> Root | None:
        """The root that a number is, to 60 digits; of a periodic equation also if it is some periods from one."""
        return next((root for root in self.roots if same(root.number, self.reduced(number))), None)

    def reduced(self, number: Number) -> Number:
        """The number within the period."""
        return number if self.period is None else _reduced(number, self.period)

    @cached_property
    def _real(self) -> RealEquation | None:
        try:
            return RealEquation(self.equation, self.name)
        except Unjudged:
            return None


def polynomial_text(coefficients: Sequence[int], name: str = "x") -> str:
    """``x^3 - 3*x + 1`` of the coefficients 1, -3, 0, 1."""
    text = ""
    for k, c in reversed(list(enumerate(coefficients))):
        if c:
            power = "" if not k else name if k == 1 else f"{name}^{k}"
            size = f"{abs(c)}{'*' * bool(power)}" if abs(c) != 1 or not power else ""
            text += f"{' - ' if c < 0 else ' + '}{size}{power}" if text else f"{'-' * (c < 0)}{size}{power}"
    return text


def solve(equation: Equation, name: str) -> Solutions:
    """The real solutions of an equation in one unknown, without other variables and the imaginary unit."""
    if has_imaginary_unit(*equation):
        return Solutions(equation, name)
    try:
        real = RealEquation(equation, name)
    except Unjudged:
        return Solutions(equation, name)
    return _Solving(equation, name, real).solutions()


class _Solving:
    """Collects numbers and reasons.

    Args:
        equation, name, real: the equation.
    """

    def __init__(self, equation: Equation, name: str, real: RealEquation) -> None:
        self.equation, self.name, self.real = equation, name, real
        self.period = period(equation)
        self.reasons: list[str] = []
        self.is_whole = True
        """Whether all solutions are among the numbers that were put into the equation."""
        self.roots: list[Root] = []
        self.extraneous: list[Extraneous] = []
        self.forms: list[Expression] = []
        self.conditions: list[Condition] = []
        self.polynomials: list[tuple[int, ...] | None] = []
        """Of each factor; None of one that is not a polynomial."""

    def solutions(self) -> Solutions:
        pieces = [(tree, self._expression(tree)) for tree in _factors(self.equation)]
        self.conditions = [condition for _, t in pieces if t is not None for condition in domain(t)]
        try:
            for tree, t in pieces:
                self._of_piece(tree, t)
        except Unsolved:
            self.is_whole = False
        return self._solutions(() if self.is_whole else self._intervals())

    def _expression(self, tree: Tree) -> Expression | None:
        """For elimination; None of a function without rules, and of a power that may be real for a negative base."""
        try:
            t = from_tree(tree, {self.name: X})
        except Unsupported:
            return None
        return None if any(u[0] == "power" and X in subexpressions(u[1]) for u in subexpressions(t)) else t

    def _of_piece(self, tree: Tree, t: Expression | None) -> None:
        """Put the zeros of a factor as it was written into the equation."""
        if t is None:
            self.polynomials.append(None)
            self._by_intervals(tree)
            return
        found = factors(t)
        poles = [u for u, signs in self.conditions if signs == NONZERO and 0 in signs_by_balls(u, EVERYTHING)]
        for factor in found:
            if len(found) > 1 or poles:
                self._of_factor(factor, factor, read_infix(to_text(factor, self.name)))
            else:
                self._of_factor(factor, normal(t), tree)

    def _solutions(self, intervals: Part = ()) -> Solutions:
        reason = "; ".join(dict.fromkeys(self.reasons)) or "no number is left"
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]} ..."
        return Solutions(
            self.equation,
            self.name,
            tuple(sorted(self.roots, key=float)),
            intervals,
            reason if self.is_whole else "",
            self.period,
            tuple(self.extraneous),
            tuple(dict.fromkeys(self.forms)),
            tuple(p for p in self.polynomials if p is not None) if None not in self.polynomials else (),
        )

    def _of_factor(self, factor: Expression, alike: Expression, tree: Tree) -> None:
        """Put the zeros of an irreducible factor into the equation; ``alike`` and ``tree`` have the same ones."""
        self.polynomials.append(polynomial(factor))
        try:
            found = zeros(factor, self.name)
        except Unsolved:
            if self._holds_on_intervals():
                raise
            self._by_intervals(tree, alike)
            return
        if any(zero.period is not None for zero in found.numbers) and self.period is None:
            found = self._turned(found)
        for zero in found.numbers:
            self._put(zero)
        self.reasons += found.reasons
        self.forms += found.forms

    def _put(self, zero: Zero) -> None:
        """Keep a number that solves the equation, and one at which a part is not real."""
        for ball in [zero.ball] if self.period is None else _within(zero, self.period):
            exact = self._rational(ball, zero.polynomial)
            if any(same(exact, x) for x in [*(r.number for r in self.roots), *(e.number for e in self.extraneous)]):
                continue
            found = self.real.put(exact)
            if found.outcome is Outcome.SOLVES:
                self.roots.append(Root(exact, zero.polynomial))
            elif found.outcome is Outcome.NOT_REAL:
                self.extraneous.append(Extraneous(exact, found.reason))
            elif found.outcome is Outcome.OPEN:
                self.is_whole = False

    def _rational(self, number: Number, polynomial: Sequence[int]) -> Number:
        """A rational number exactly."""
        if len(polynomial) == 2:
            return fmpq(-polynomial[0], polynomial[1])
        near = Fraction(float(number.mid())).limit_denominator(LARGEST_RATIONAL)
        exact = fmpq(near.numerator, near.denominator)
        return exact if not polynomial and same(number, exact) else number

    def _turned(self, found: Zeros) -> Zeros:
        """The zeros of a periodic factor of an equation that is not periodic: all in a bounded domain, or some."""
        bounded = all(
            any(not signs_by_balls(t, side) & signs for t, signs in self.conditions)
            for side in (Range(-INFINITY, arb(-BOUNDED), True), Range(arb(BOUNDED), INFINITY, True))
        )
        self.is_whole &= bounded
        numbers = []
        with ctx.workprec(BITS):
            for zero in found.numbers:
                if zero.period is None:
                    numbers.append(zero)
                    continue
                turns = ceil(BOUNDED / float(zero.period)) + 1 if bounded else SHOWN_TURNS
                numbers += [zero._replace(ball=zero.ball + k * zero.period) for k in range(-turns, turns + 1)]
        return found._replace(numbers=tuple(numbers))

    def _by_intervals(self, tree: Tree, factor: Expression | None = None) -> None:
        """The zeros of an expression by intervals in which its slope has one sign.

        Args:
            tree: the expression.
            factor: the same, if its derivatives may tell more.
        """
        try:
            program = Program(Equation(tree, ZERO), school=True)
        except Unjudged:
            self.is_whole = False
            return
        try:
            within = None if self.period is None else self.period.value
            flat = [] if factor is None else list(self._flat_zeros(factor))
            hints = KnownParts(factor, self.conditions, flat)
            found = isolate(tree, program, self.name, within, hints)
        except (Unjudged, RecursionError):
            found = Isolation([], [], False)
        brackets = list(found.brackets)
        if not found.whole or found.doubtful:
            brackets += sign_changes(program, self.name)
        for low, high in brackets:
            self._put(Zero(narrowed(program, self.name, low, high, BITS)))
        settled = [self._is_settled(doubt, factor) for doubt in found.doubtful]
        self.is_whole &= found.whole and all(settled)
        self.reasons.append(f"{_short(write_infix(tree))} rises, falls or is not 0 on every interval")

    def _flat_zeros(self, t: Expression) -> Iterator[tuple[float, float]]:
        """Intervals around whole numbers at which an expression and its derivative are 0, without another zero."""
        with suppress(Unsupported, Refused):
            slope = derivative(t)
            for r in range(-FLAT, FLAT + 1):
                if not all(_is_zero(u, fmpq(r)) for u in (t, slope)):
                    continue
                if self.real.put(fmpq(r)).outcome is Outcome.SOLVES:
                    self._put(Zero(arb(r), (-r, 1)))
                widths = (2.0**-k for k in range(HALVED))
                yield from islice(((r - h, r + h) for h in widths if is_only_zero(t, fmpq(r), r - h, r + h)), 1)

    def _is_settled(self, doubt: Doubt, factor: Expression | None) -> bool:
        """Whether a rational number is the only zero in an interval."""
        near = Fraction(doubt.least).limit_denominator(LARGEST_RATIONAL)
        number = fmpq(near.numerator, near.denominator)
        if abs(float(near) - doubt.least) > NEAR * max(1.0, abs(doubt.least)):
            return False
        if self.real.put(number).outcome is Outcome.SOLVES:
            self._put(Zero(arb(number), (-int(number.p), int(number.q))))
        return factor is not None and is_only_zero(factor, number, doubt.low, doubt.high)

    @cached_property
    def _line(self) -> Line | None:
        return real_line(self.equation, self.name)

    def _holds_on_intervals(self) -> bool:
        """Whether the equation holds on intervals, which are then all that is looked for."""
        return self._line is not None and self._line.holds_somewhere

    def _intervals(self) -> Part:
        """Where it holds on more than single numbers, and whether nowhere else."""
        if self._line is None:
            return ()
        if self._line.holds_somewhere:
            self.is_whole = self._line.only
            self.reasons.append("every part of the real line is shown")
            self.roots.clear()
            return self._line.part
        places = [piece.low.value for piece in self._line.part if piece.low is not None]
        if self._line.only and len(places) == len(self.roots):
            self.is_whole = True
            self.reasons.append("every part of the real line is shown")
        return ()


def _factors(equation: Equation) -> list[Tree]:
    """Trees of which one is 0 where the sides are equal: the factors of a product that is 0, or the difference."""
    sides = [side for side in equation if exact(side) != 0]
    if len(sides) != 1:
        return [Tree("Add", (equation.left, Tree("Mul", (MINUS_ONE, equation.right))))]
    found, waiting = [], sides
    while waiting:
        tree = waiting.pop()
        if tree.function == "Mul":
            waiting += tree.children
        else:
            found.append(tree)
    return list(dict.fromkeys(found))


def _within(zero: Zero, turn: Period) -> Iterator[Number]:
    """The numbers of a period around 0 that are a zero, or multiples of the zero's own period from it."""
    with ctx.workprec(BITS):
        length = _length(turn)
        yield _reduced(zero.ball, turn)
        if zero.period is not None:
            for k in range(1, round(float(length / zero.period))):
                yield _reduced(zero.ball + k * zero.period, turn)


def _reduced(number: Number, turn: Period) -> Number:
    """The number, multiples of the period being subtracted, from -period/2, which is left out, to period/2."""
    with ctx.workprec(BITS):
        length, x = _length(turn), arb(number)
        k = round(float((x / length).mid()))
        reduced = x - k * length if k else number
        beyond = arb(reduced) + length / 2
        return arb(reduced) + length if beyond < arb(2) ** -200 else reduced


def _length(turn: Period) -> Any:
    with ctx.workprec(BITS):
        return arb(fmpq(turn.factor.numerator, turn.factor.denominator)) * arb.pi() ** turn.power


class KnownParts(Hints):
    """Where a part of an equation is not real, and what derivatives say.

    Args:
        t: the expression whose zeros are looked for; None if nothing is known of it.
        conditions: of real values.
        flat: intervals whose zeros are known.
    """

    def __init__(self, t: Expression | None, conditions: Sequence[Condition], flat: Sequence[tuple[float, float]]):
        self._t, self._conditions, self._flat = t, conditions, flat

    def is_free_from(self, end: float, way: int) -> bool:
        return self._t is not None and goes_away_from_0(self._t, end, way)

    def is_settled(self, low: float, high: float) -> bool:
        if any(a <= low and high <= b for a, b in self._flat):
            return True
        place = Range(arb(low), arb(high), low > 0 or high < 0)
        return any(not signs_by_balls(t, place, 0) & signs for t, signs in self._conditions)


def is_only_zero(t: Expression, r: fmpq, low: float, high: float) -> bool:
    """Whether r is the only zero in an interval: t(x) = t^(n)(y)*(x - r)^n/n! for a y in between (Taylor)."""
    place = Range(arb(low), arb(high), low > 0 or high < 0)
    try:
        for _ in range(HIGHEST_DERIVATIVE):
            if not _is_zero(t, r):
                return False
            t = _derivative(t)
            if any(not signs_by_balls(u, place) <= signs for u, signs in domain(t)):
                return False
            if signs_by_balls(t, place) in (POSITIVE, NEGATIVE):
                return True
    except (Unsupported, Refused):
        return False
    return False


def _is_zero(t: Expression, r: fmpq) -> bool:
    values = values_at(t, r)
    return bool(values.low == values.high == 0)


def goes_away_from_0(t: Expression, end: float, way: int) -> bool:
    """Whether an expression and its first derivatives have one sign at a number, and the next one from there on.

    By Taylor's theorem the expression has that sign from there on, too; to the left signs alternate.
    """
    if abs(end) > FARTHEST:
        return False
    number = fmpq(*end.as_integer_ratio())
    beyond = Range(arb(end), INFINITY, end >= 0) if way > 0 else Range(-INFINITY, arb(end), end <= 0)
    outwards = None
    try:
        for n in range(HIGHEST_DERIVATIVE + 1):
            if any(not signs_by_balls(u, beyond, HALVINGS) <= signs for u, signs in domain(t)):
                return False
            if outwards is not None and _turned(signs_by_balls(t, beyond, HALVINGS), way, n) <= {0, outwards}:
                return True
            [sign, *others] = _turned(values_at(t, number).signs, way, n)
            if others or not sign or outwards not in (None, sign):
                return False
            outwards, t = sign, _derivative(t)
    except (Unsupported, Refused):
        return False
    return False


@lru_cache(maxsize=CACHED)
def _derivative(t: Expression) -> Expression:
    """Multiplied out, if it is a polynomial in x and functions."""
    slope, ring = derivative(t), ValueRing()
    with suppress(Refused):
        top, bottom = ring.quotient(slope)
        if bottom.is_constant():
            return ring.expression(top / bottom.leading_coefficient())
    return slope


def _turned(signs: Iterable[int], way: int, n: int) -> set[int]:
    """Those of the n-th derivative, in a direction."""
    return {sign * way**n for sign in signs}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_REASON // 2 else f"{text[: LONGEST_REASON // 2]} ..."
