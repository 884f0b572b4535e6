"""How the solutions of an equation in one real unknown are found: ``solve``."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from math import ceil

from flint import arb, ctx, fmpq

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.identities.proof import prove
from dgltree.equations.truth.identities.rational_functions import NoValue, Region
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.periods import Period, period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, INFINITY, Range, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    ENCLOSED,
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
from dgltree.equations.truth.proofs.fractions import Refused
from dgltree.equations.truth.proofs.line import Line, real_line
from dgltree.equations.truth.proofs.place import to_fmpq, values_at
from dgltree.equations.truth.proofs.work import TooMuchWork, working
from dgltree.equations.truth.solutions.elimination import (
    ZeroCandidate,
    ZeroCandidates,
    factors,
    polynomial,
    without_roots,
    zeros,
)
from dgltree.equations.truth.solutions.exact_roots import tidy
from dgltree.equations.truth.solutions.isolation import (
    Isolating,
    Isolation,
    OpenInterval,
    edge_within,
    is_only_zero,
    is_zero,
    loose_domain,
    narrow,
    sign_changes,
    zeros_beside,
)
from dgltree.equations.truth.solutions.normal_form import normal
from dgltree.equations.truth.solutions.solutions import (
    BITS,
    Extraneous,
    Number,
    NumberOutcome,
    RealEquation,
    Root,
    Solutions,
    Unsolved,
    length_of,
    reduce_to_period,
    same,
    value,
)
from dgltree.equations.truth.verdict import Part
from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import MINUS_ONE, number
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

WORK = 400_000
"""Units of work that solving an equation takes; solutions that are not known by then may be missing."""
SHOWN_TURNS = 6
"""Periods to either side of 0, of solutions of which only some are multiples of a period apart."""
BOUNDED = 40.0
"""Beyond it, a domain that is bounded is looked for."""
MAX_REASON_LENGTH = 60
"""Characters of an expression in a reason."""
LARGEST_EXPONENT = 12
"""Whole numbers that are tried where a power of a negative number may be real."""
FLAT, HALVED = 8, 7
"""Whole numbers up to which flat zeros are looked for, and how often the interval around one is halved."""
LARGEST_RATIONAL, OPEN_ROOT_DISTANCE = 1000, 1e-6
"""Denominator of a rational number that is tried, and how close it is to where an interval leaves a root open."""
FINE = 4096
"""Bits with which it is decided whether a factor is 0 at a rational number."""
LARGEST_FLOAT = 1e15
"""Size of a float from which on it has no digits behind the point."""
ZERO = number("0")


def solve(equation: Equation, name: str, line: Line | None = None) -> Solutions:
    """The real solutions of an equation in one unknown, without other variables and the imaginary unit.

    Args:
        line: of the equation, if there is one already.
    """
    if has_imaginary_unit(*equation):
        return Solutions(equation, name)
    try:
        real = RealEquation(equation, name)
    except Unjudged:
        return Solutions(equation, name)
    return _Solving(equation, name, real, line).solutions()


class _Solving:
    """Collects numbers and reasons.

    Args:
        equation, name, real: the equation.
        line: as of :func:`solve`.
    """

    def __init__(self, equation: Equation, name: str, real: RealEquation, line: Line | None) -> None:
        self.equation = equation
        self.name = name
        self.real = real
        self._given_line = line
        self.period = period(equation)
        self.reasons: list[str] = []
        self.is_whole = True
        """Whether all solutions are among the numbers that were put into the equation."""
        self.is_proved = True
        """Whether balls show of each number that is left out that a part is not real there."""
        self.roots: list[Root] = []
        self.placed: list[tuple[Number, Expression | None]] = []
        """The roots and the extraneous numbers, each with the factor of which it is a zero."""
        self.extraneous: list[Extraneous] = []
        self.forms: list[Expression] = []
        self.conditions: list[Condition] = []
        self.has_rules = True
        """Whether the certificates of verdicts read each part as it is read here."""
        self.conditional: tuple[str, ...] = ()
        """At isolated points of the intervals, where one of these is true, a part has no value."""
        self.polynomials: list[tuple[int, ...] | None] = []
        """The polynomial of each factor; None of one that is not a polynomial."""

    def solutions(self) -> Solutions:
        pieces = [(tree, self._expression(tree)) for tree in _factors(self.equation)]
        self.has_rules = all(t is not None and _is_plain(t) for _, t in pieces)
        self.conditions = [condition for _, t in pieces if t is not None for condition in loose_domain(t)]
        try:
            with working(WORK):
                for tree, t in pieces:
                    self._of_piece(tree, t)
        except (Unsolved, TooMuchWork):
            self.is_whole = False
        return self._solutions(() if self.is_whole else self._intervals())

    def _expression(self, tree: Tree) -> Expression | None:
        """Return the expression of a tree; None if a function has no rules."""
        try:
            return from_tree(tree, {self.name: X})
        except Unsupported:
            return None

    def _of_piece(self, tree: Tree, t: Expression | None) -> None:
        """Put the zeros of a factor as it was written into the equation."""
        if t is None or not _is_plain(t):
            self.polynomials.append(None)
            self._by_intervals(tree, t)
            return
        found = factors(t)
        poles = [u for u, signs in self.conditions if signs == NONZERO and 0 in signs_by_balls(u, EVERYTHING)]
        for factor in found:
            if len(found) > 1 or poles:
                self._of_factor(factor, factor, read_infix(to_text(factor, self.name)))
            else:
                self._of_factor(factor, normal(t), tree)

    def _solutions(self, intervals: Part = ()) -> Solutions:
        reason = "; ".join(dict.fromkeys(self.reasons)) or "no factor is 0 anywhere"
        return Solutions(
            self.equation,
            self.name,
            tuple(sorted(self.roots, key=lambda root: root.middle)),
            intervals,
            self.conditional,
            reason if self.is_whole else "",
            self.period,
            tuple(self.extraneous),
            tuple(dict.fromkeys(self.forms)),
            self.is_proved,
            tuple(p for p in self.polynomials if p is not None) if None not in self.polynomials else (),
        )

    def _of_factor(self, factor: Expression, alike: Expression, tree: Tree) -> None:
        """Put the zeros of an irreducible factor into the equation; ``alike`` and ``tree`` have the same ones."""
        self.polynomials.append(polynomial(factor))
        try:
            self._keep(zeros(factor, self.name), factor)
        except Unsolved:
            if self._holds_on_intervals():
                raise
            parts = without_roots(factor)
            for part in parts:
                try:
                    self._keep(zeros(part, self.name), part)
                except Unsolved:
                    self._by_intervals(read_infix(to_text(part, self.name)), part)
            if not parts:
                self._by_intervals(tree, alike)

    def _keep(self, found: ZeroCandidates, factor: Expression) -> None:
        """Put the zeros of a factor into the equation."""
        found = found._replace(numbers=tuple(_exact(zero, factor, found.numbers) for zero in found.numbers))
        if any(zero.period is not None for zero in found.numbers) and self.period is None:
            found = self._turned(found)
        self.forms += found.forms
        for zero in found.numbers:
            self._put(zero, factor)
        self.reasons += found.reasons

    def _put(self, zero: ZeroCandidate, factor: Expression | None = None) -> None:
        """Keep a number that solves the equation, and one at which a part is not real.

        Args:
            zero: with the number.
            factor: of which it is a zero, if it has an expression.
        """
        for ball in [zero.ball] if self.period is None else _within(zero, self.period):
            number = self._rational(ball, zero.polynomial, factor)
            if any(self._are_one(number, factor, x, other) for x, other in self.placed):
                continue
            found = self.real.put(number)
            if found.outcome in (NumberOutcome.SOLVES, NumberOutcome.NOT_REAL):
                self.placed.append((number, factor))
            if found.outcome is NumberOutcome.SOLVES:
                self.roots.append(Root(number, zero.polynomial))
            elif found.outcome is NumberOutcome.NOT_REAL:
                self.is_proved &= found.is_proved
                self.extraneous.append(Extraneous(number, found.reason))
            elif found.outcome is NumberOutcome.OPEN:
                self.is_whole = False

    def _rational(self, ball: Number, polynomial: Sequence[int], factor: Expression | None) -> Number:
        """A rational number in a ball, if it is a root of the polynomial, or solves the equation exactly.

        One that is no zero of the factor is a different root: 1 next to 1 + e^-2000.
        """
        if len(polynomial) == 2:
            return fmpq(-polynomial[0], polynomial[1])
        near = None if polynomial else _rational_within(ball)
        if near is None or not self.real.solves_exactly(near):
            return ball
        is_zero_there = factor is None or self._is_zero(factor, near)
        self.is_whole &= is_zero_there is not None
        return ball if is_zero_there is False else near

    def _are_one(self, x: Number, factor: Expression | None, y: Number, other: Expression | None) -> bool:
        """Whether two numbers are one root. If that is not shown of numbers that are alike, not all roots are known.

        Two balls are one root if their factors rise or fall all over them and are 0 at one number there; a rational
        number is that in a ball if it is a zero of the same factor: 1 and 1 + e^-2000 are zeros of different ones, of
        which the second is not 0 at 1.
        """
        if not same(x, y) or (isinstance(x, fmpq) and isinstance(y, fmpq)):
            return same(x, y)
        if isinstance(x, fmpq) or isinstance(y, fmpq):
            q, t = (x, other) if isinstance(x, fmpq) else (y, factor)
            shown = True if t is None else self._is_zero(t, q)
        else:
            shown = None if factor is None or other is None else self._meet(x, factor, y, other) or None
        self.is_whole &= shown is not None
        return shown is not False

    def _meet(self, x: Number, factor: Expression, y: Number, other: Expression) -> bool:
        """Whether a zero of a factor is shown to be that of another one, by an expression at which both are 0."""
        if factor == other:
            return _is_monotone(factor, x.union(y))
        for form in dict.fromkeys(self.forms):
            with suppress(Unsupported, Unjudged, NoValue, ValueError, ZeroDivisionError):
                tree = read_infix(to_text(tidy(form)))
                at = value(tree)
                if at is None or not same(at, x):
                    continue
                hull = x.union(y).union(arb(at))
                if all(_is_monotone(t, hull) and self._vanishes(t, tree) for t in (factor, other)):
                    return True
        return False

    def _vanishes(self, factor: Expression, at: Tree) -> bool:
        """Whether a factor is shown to be 0 at an expression."""
        leaf = {Tree("Symbol", token=self.name): at}
        written = substitute(read_infix(to_text(factor, self.name)), leaf)
        return prove(Equation(written, ZERO), [], Region("real"))

    def _is_zero(self, factor: Expression, q: fmpq) -> bool | None:
        """Whether a factor is 0 at a rational number, which rules or balls of many bits show; None if it is open."""
        with ctx.workprec(FINE), suppress(Unsupported, Refused):
            signs = values_at(factor, q).signs
            if len(signs) == 1 or 0 not in signs:
                return 0 in signs
        with suppress(Unsupported, Unjudged, ValueError):
            tree = read_infix(to_text(factor, self.name))
            if RealEquation(Equation(tree, ZERO), self.name).solves_exactly(q):
                return True
        return None

    def _turned(self, found: ZeroCandidates) -> ZeroCandidates:
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

    def _by_intervals(self, tree: Tree, t: Expression | None) -> None:
        """The zeros of a tree, which are those of an expression, by intervals in which its slope has one sign."""
        try:
            program = Program(Equation(tree, ZERO), school=True)
        except Unjudged:
            self.is_whole = False
            return
        found = Isolation([], [], False)
        if t is not None and not _is_plain(t):
            for q in range(-LARGEST_EXPONENT, LARGEST_EXPONENT + 1):  # of a negative number, whole exponents count
                self._put_rational(Fraction(q))
        if t is not None:
            within = None if self.period is None else self.period.value
            with suppress(Unjudged, Unsupported, RecursionError):
                flat = list(self._flat_zeros(t)) if _is_plain(t) else []
                enclosed = from_tree(tree, {self.name: X}, functions=ENCLOSED)
                found = Isolating(enclosed, t, program, self.name, within, self.conditions, flat).run()
        brackets = list(found.brackets)
        if not found.whole or found.doubtful:
            brackets += sign_changes(program, self.name)
        for low, high in brackets:
            self._put(ZeroCandidate(narrow(program, self.name, low, high, BITS)), t)
        settled = [t is not None and self._is_settled(doubt, t, program) for doubt in found.doubtful]
        self.is_whole &= found.whole and all(settled)
        self.reasons.append(f"{_short(write_infix(tree))} rises, falls or is not 0 on every interval")

    def _flat_zeros(self, t: Expression) -> Iterator[tuple[float, float]]:
        """Intervals around whole numbers at which an expression and its derivative are 0, without another zero."""
        with suppress(Unsupported, Refused):
            slope = derivative(t)
            for r in range(-FLAT, FLAT + 1):
                if not all(is_zero(u, fmpq(r)) for u in (t, slope)):
                    continue
                self._put_rational(Fraction(r))
                widths = (2.0**-k for k in range(HALVED))
                yield from islice(((r - h, r + h) for h in widths if is_only_zero(t, fmpq(r), r - h, r + h)), 1)

    def _is_settled(self, doubt: OpenInterval, t: Expression, program: Program) -> bool:
        """Whether a rational number is the only zero in an interval, or the domain ends there and all are known."""
        edge = edge_within(doubt.low, doubt.high, self.conditions)
        if edge is not None and _is_plain(t):
            sides = [zeros_beside(t, program, self.name, edge, end) for end in (doubt.low, doubt.high)]
            for bracket in [bracket for side in sides if side is not None for bracket in side.brackets]:
                self._put(ZeroCandidate(narrow(program, self.name, *bracket, BITS)), t)
            self._put_rational(edge)
            if None not in sides:
                return True
        near = Fraction(doubt.least).limit_denominator(LARGEST_RATIONAL)
        if abs(float(near) - doubt.least) > OPEN_ROOT_DISTANCE * max(1.0, abs(doubt.least)):
            return False
        self._put_rational(near)
        return is_only_zero(t, to_fmpq(near), doubt.low, doubt.high)

    def _put_rational(self, q: Fraction) -> None:
        """Keep a rational number if it solves the equation."""
        if self.real.put(to_fmpq(q)).outcome is NumberOutcome.SOLVES:
            self._put(ZeroCandidate(arb(to_fmpq(q)), (-q.numerator, q.denominator)))

    @cached_property
    def _line(self) -> Line | None:
        return self._given_line or real_line(self.equation, self.name)

    def _holds_on_intervals(self) -> bool:
        """Whether the equation holds on intervals, which are then all that is looked for."""
        return self._line is not None and self._line.holds_somewhere

    def _intervals(self) -> Part:
        """Where it holds on more than single numbers, and whether nowhere else."""
        if self._line is None:
            return ()
        if self._line.holds_somewhere:
            found = self._line.real_part
            self.is_whole = found.is_whole
            self.conditional = found.conditions
            self.reasons.append("every part of the real line is shown")
            self.roots.clear()
            self.placed.clear()
            return found.part
        places = [piece.low.value for piece in self._line.part if piece.low is not None]
        if self.has_rules and self._line.only and len(places) == len(self.roots):
            self.is_whole = True
            self.reasons.append("every part of the real line is shown")
        return ()


def _is_plain(t: Expression) -> bool:
    """Whether it can be eliminated from: no power may be real for a negative base."""
    bases = [u[1] for u in subexpressions(t) if u[0] == "power"]
    return all(X not in subexpressions(base) and signs_by_balls(base, EVERYTHING) == POSITIVE for base in bases)


def _factors(equation: Equation) -> list[Tree]:
    """Trees of which one is 0 where the sides are equal: the factors of a product that is 0, or the difference."""
    sides = [side for side in equation if exact(side) != 0]
    if len(sides) != 1:
        return [Tree("Add", (equation.left, Tree("Mul", (MINUS_ONE, equation.right))))]
    found = []
    waiting = sides
    while waiting:
        tree = waiting.pop()
        if tree.function == "Mul":
            waiting += tree.children
        else:
            found.append(tree)
    return list(dict.fromkeys(found))


def _rational_within(ball: Number) -> fmpq | None:
    """The rational number of a small denominator in a ball; None if there is none. e^-200 has none: 0 is outside."""
    middle = float(ball.mid())
    if not abs(middle) < LARGEST_FLOAT:
        return None
    near = to_fmpq(Fraction(middle).limit_denominator(LARGEST_RATIONAL))
    return near if ball.contains(near) else None


def _exact(zero: ZeroCandidate, factor: Expression, among: Sequence[ZeroCandidate]) -> ZeroCandidate:
    """The zero as a rational number, if its ball has one at which the factor is 0 exactly, and is no other's."""
    near = None if zero.polynomial else _rational_within(zero.ball)
    if near is None or not is_zero(factor, near):
        return zero
    if any(other is not zero and other.ball.contains(near) for other in among):
        return zero
    return zero._replace(ball=arb(near), polynomial=(-int(near.p), int(near.q)))


def _is_monotone(t: Expression, hull: Number) -> bool:
    """Whether an expression rises or falls all over a ball."""
    with ctx.workprec(BITS), suppress(Unsupported, Refused):
        over = Range(hull.lower(), hull.upper(), False)
        slope = derivative(t)
        if all(signs_by_balls(u, over, 0) <= signs for u, signs in (*domain(t), *domain(slope))):
            return signs_by_balls(slope, over, 0) in (POSITIVE, NEGATIVE)
    return False


def _within(zero: ZeroCandidate, turn: Period) -> Iterator[Number]:
    """The numbers of a period around 0 that are a zero, or multiples of the zero's own period from it."""
    with ctx.workprec(BITS):
        length = length_of(turn)
        yield reduce_to_period(zero.ball, turn)
        if zero.period is not None:
            for k in range(1, round(float(length / zero.period))):
                yield reduce_to_period(zero.ball + k * zero.period, turn)


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else "the difference of the sides"
