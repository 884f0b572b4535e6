"""``Solutions`` says which real numbers solve an equation in one unknown, and whether these are all, with the reason.

A real number at which a part of a side is not real is no solution; it is extraneous, and the part is named.
"""

import enum
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import lcm
from typing import Any, NamedTuple

from flint import acb, acb_poly, arb, ctx, fmpq, fmpz_poly

from dgltree.equations.truth.balls import Ball, Unjudged, ball, is_real, snap
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.identities.proof import prove
from dgltree.equations.truth.identities.rational_functions import NoValue, Region
from dgltree.equations.truth.periods import Period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.expression import Expression
from dgltree.equations.truth.proofs.line import RealPart, real_verdict
from dgltree.equations.truth.verdict import End, Part, Verdict, decimal_end
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import number
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

BITS = 768
"""Bits of all numbers here."""
NARROW = arb(2) ** -300
"""Largest radius of a number, as a share."""
LARGEST_DEGREE = 400
"""Arb isolates all complex roots at once and cannot be stopped; beyond this degree an equation is unsolved."""

SAME = arb(2) ** -200
"""Difference, as a share, below which numbers are the same: they agree to 60 digits."""

SMALLEST_END, LARGEST_END = 1e-9, 1e15
"""Sizes between which six digits of a float tell an end; others are written with an exponent."""
DIGITS = 12
"""Digits of a root that has no form, as ``complete`` prints it."""
LONGEST_SOURCE = 50
"""Characters of a polynomial that is named."""
Real = Any
"""An ``arb``."""
Number = Any
"""An ``arb`` around a number, or an ``fmpq``."""


class Unsolved(Exception):  # noqa: N818 - an answer: this is not solved by elimination
    """An expression whose zeros elimination does not give."""


@dataclass(frozen=True)
class Root:
    """A solution."""

    number: Number
    """A rational number, or a ball of more than 60 digits around it and around no other solution."""
    polynomial: tuple[int, ...] = ()
    """An irreducible polynomial of which it is a root, the constant first; empty if none is known."""

    def __float__(self) -> float:
        """The nearest float; infinite beyond the largest one."""
        q = self.number
        small = isinstance(q, fmpq) and max(q.p.bit_length(), q.q.bit_length()) < 1000
        return int(q.p) / int(q.q) if small else float(arb(q).mid())

    @property
    def middle(self) -> Real:
        """The number without a radius, by which roots are ordered: floats end at 1e308."""
        return arb(self.number).mid()

    @property
    def end(self) -> End:
        """The number as the end of a part."""
        if isinstance(self.number, fmpq):
            return End(str(self.number), float(self))
        size = abs(float(self))
        return decimal_end(float(self)) if SMALLEST_END < size < LARGEST_END else End(self.decimal, float(self))

    @property
    def source(self) -> str:
        """Name the equation of which it is a root: its polynomial, if that is short."""
        text = "" if len(self.polynomial) < 4 else polynomial_text(self.polynomial)
        return text if 0 < len(text) <= LONGEST_SOURCE else "the equation"

    @property
    def decimal(self) -> str:
        """The number with 12 digits."""
        with ctx.workprec(BITS):
            text = str(arb(self.number).str(DIGITS, radius=False))
        return text.rstrip("0").removesuffix(".") if "." in text and "e" not in text else text


@dataclass(frozen=True)
class Extraneous:
    """A number that solves the equation by its rules, but at which a part has no real value."""

    number: Number
    reason: str


class NumberOutcome(enum.Enum):
    """Outcome of putting a number into an equation."""

    SOLVES = "solves"
    """Both sides are real, and agree to 60 digits; of a rational number they may be equal exactly."""
    NOT_REAL = "not real"
    """A part has no real value."""
    DIFFERS = "differs"
    OPEN = "open"


class Put(NamedTuple):
    """Whether a number solves an equation, and why not."""

    outcome: NumberOutcome
    part: Tree | None = None
    """The first part without a real value."""
    is_proved: bool = True
    """Whether it is exact, or balls show it; else it is so to 60 digits."""

    @property
    def reason(self) -> str:
        """Why the number is no solution, if a part is not real."""
        if self.part is None:
            return "a side has no real value there"
        exponent = exact(self.part.children[1]) if self.part.function == "Pow" else None
        if exponent is not None and exponent < 0 and exponent.denominator == 1:
            return f"the denominator {write_infix(self.part.children[0])} is 0 there"
        return f"{write_infix(self.part)} has no real value there"


@dataclass(frozen=True)
class Solutions:
    """The solutions of an equation in one unknown, as far as they are known."""

    equation: Equation
    name: str
    """The unknown."""
    roots: tuple[Root, ...] = ()
    """Single numbers, in order; of a periodic equation those from -period/2, which is left out, to period/2."""
    intervals: Part = ()
    """Where every number is a solution, and every part is real."""
    conditions: tuple[str, ...] = ()
    """At isolated points of the intervals, where one of these is true, a part has no value."""
    reason: str = ""
    """Why there are no others; empty if there may be some."""
    period: Period | None = None
    extraneous: tuple[Extraneous, ...] = ()
    forms: tuple[Expression, ...] = ()
    """Exact expressions of numbers, some of which may be roots."""
    is_proved: bool = True
    """Whether of each number that is extraneous it is shown that a part has no value; else it has none to 60 digits."""
    polynomials: tuple[tuple[int, ...], ...] = ()
    """If it is one of polynomials: those irreducible ones whose roots are the solutions, complex ones, too."""

    @property
    def are_all(self) -> bool:
        return bool(self.reason)

    @property
    def are_none(self) -> bool:
        """Whether it is shown that there is no real solution."""
        return self.are_all and not self.roots and not self.intervals

    @property
    def none(self) -> str:
        """The sentence that there is no real solution, if that is shown."""
        return f"there is no real solution ({'proved' if self.is_proved else 'to 60 digits'})" if self.are_none else ""

    @property
    def every(self) -> Verdict | None:
        """The verdict that infinitely many numbers are solutions; None if none of some interval is known to be."""
        found = RealPart(self.intervals, self.conditions, self.are_all)
        return real_verdict(self.name, found) if self.intervals else None

    def put(self, number: Number) -> Put:
        """Whether a real number is a solution."""
        return Put(NumberOutcome.OPEN) if self._real is None else self._real.put(number)

    def root_at(self, number: Number) -> Root | None:
        """The root that a number is, to 60 digits; of a periodic equation also if it is some periods from one."""
        return next((root for root in self.roots if same(root.number, self.reduced(number))), None)

    def reduced(self, number: Number) -> Number:
        """The number within the period."""
        return number if self.period is None else reduce_to_period(number, self.period)

    @cached_property
    def _real(self) -> "RealEquation | None":
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


def reduce_to_period(number: Number, turn: Period) -> Number:
    """The number, multiples of the period being subtracted, from -period/2, which is left out, to period/2."""
    with ctx.workprec(BITS):
        length = length_of(turn)
        x = arb(number)
        k = round(float((x / length).mid()))
        reduced = x - k * length if k else number
        beyond = arb(reduced) + length / 2
        return arb(reduced) + length if beyond < arb(2) ** -200 else reduced


def length_of(turn: Period) -> Real:
    """Return the length of a period, as a ball."""
    with ctx.workprec(BITS):
        return arb(fmpq(turn.factor.numerator, turn.factor.denominator)) * arb.pi() ** turn.power


# Real numbers in an equation


class RealEquation:
    """An equation in one real variable, into which numbers are put.

    Args:
        name: the variable.

    Raises ``Unjudged`` for an equation that is too large or has a function without values.
    """

    def __init__(self, equation: Equation, name: str) -> None:
        self.equation = equation
        self.name = name
        self._program = Program(equation, school=True)
        self._parts: list[tuple[Tree, Program]] | None = None

    def put(self, number: Number) -> Put:
        """Put a number into both sides.

        If balls leave it open, parts that are an integer to 2^-250 count as that: a pole, the end of a domain.
        """
        point = {self.name: number if isinstance(number, fmpq) else acb(number)}
        found = self._compared(point, *self._program.at(point, BITS))
        if found.outcome is NumberOutcome.OPEN:
            found = self._compared(point, *self._program.at(point, BITS, snap))._replace(is_proved=False)
        return found

    def solves_exactly(self, q: fmpq) -> bool:
        """Whether both sides are the same at a rational number, which its rational values or rules show."""
        found = self.put(q)
        if found.outcome is not NumberOutcome.SOLVES:
            return False
        replaced = {Tree("Symbol", token=self.name): number(str(q))}
        at = Equation(*(substitute(side, replaced) for side in self.equation))
        with suppress(NoValue, Unjudged):
            return found.is_proved or prove(at, [], Region("real"))
        return False

    def _compared(self, point: dict[str, Ball], left: Ball, right: Ball) -> Put:
        if left is None or right is None:
            return Put(NumberOutcome.NOT_REAL, self._first_without_value(point))
        if isinstance(left, fmpq) and isinstance(right, fmpq):
            return Put(NumberOutcome.SOLVES if left == right else NumberOutcome.DIFFERS)
        with ctx.workprec(BITS):
            if not (ball(left).is_finite() and ball(right).is_finite()):
                part = self._first_without_value(point)
                return Put(NumberOutcome.OPEN if part is None else NumberOutcome.NOT_REAL, part, False)
            difference = ball(left) - ball(right)
            if not difference.contains(0):
                return Put(NumberOutcome.DIFFERS)
            if not (difference.imag.is_zero() and ball(left).imag.is_zero()):
                return Put(NumberOutcome.OPEN)
            size = abs(ball(left)).abs_upper() + abs(ball(right)).abs_upper() + 1
            is_small = abs(difference).abs_upper() < SAME * size
            return Put(NumberOutcome.SOLVES if is_small else NumberOutcome.OPEN, None, False)

    def _first_without_value(self, point: dict[str, Ball]) -> Tree | None:
        if self._parts is None:
            parts = dict.fromkeys(node for side in self.equation for node in side.distinct() if node.children)
            self._parts = [(part, Program(Equation(part, part), school=True)) for part in parts]
        for part, program in self._parts:
            found = program.at(point, BITS, snap)[0] if self.name in program.variables else fmpq(0)
            if found is None or _is_pole(part, found):
                return part
        return None


def _is_pole(part: Tree, value: Ball) -> bool:
    """Whether a circular function is too large for all digits: the number is a pole to 60 digits."""
    return part.function in ("tan", "cot", "sec", "csc") and not isinstance(value, fmpq) and not value.is_finite()


def value(tree: Tree) -> Number | None:
    """The real value of an expression of numbers; None if it has none. Raises ``Unjudged``."""
    program = Program(Equation(tree, tree), school=True)
    if program.variables:
        raise Unjudged("it has a variable")
    found = program.at({}, BITS, snap)[0]
    if found is None or isinstance(found, fmpq):
        return found
    return found.real if is_real(found) else None


def same(a: Number, b: Number) -> bool:
    """Whether two numbers cannot be told apart, and agree to 60 digits: e^-200 is not 0, which is outside its ball."""
    if isinstance(a, fmpq) and isinstance(b, fmpq):
        return bool(a == b)
    with ctx.workprec(BITS):
        first = arb(a)
        second = arb(b)
        is_near = abs(first - second).abs_upper() < SAME * (1 + abs(first).abs_upper())
        return bool(is_near and first.overlaps(second))


# Real roots of polynomials


def whole_polynomial(coefficients: Sequence[Any]) -> fmpz_poly:
    """Return a multiple that has whole coefficients."""
    scale = lcm(*(int(fmpq(c).q) for c in coefficients))
    return fmpz_poly([int(fmpq(c).p) * (scale // int(fmpq(c).q)) for c in coefficients])


def real_roots(p: fmpz_poly) -> list[Real]:
    """All real roots of a polynomial, in order: Arb isolates each complex one, and tells which are real."""
    if p.degree() > LARGEST_DEGREE:
        raise Unsolved
    if p.degree() < 1:
        return []
    with ctx.workprec(BITS):
        if p.degree() == 1:
            return [arb(fmpq(-int(p[0]), int(p[1])))]
        roots: Any = p.complex_roots()
    return sorted((root.real for root, _ in roots if root.imag.is_zero()), key=lambda x: float(x.mid()))


def real_roots_of_balls(coefficients: Sequence[Real]) -> list[Real]:
    """All real roots of a polynomial whose coefficients are balls. Raises ``Unsolved`` if two are not told apart."""
    coefficients = list(coefficients)
    with ctx.workprec(BITS):
        while coefficients and coefficients[-1].is_zero():
            coefficients.pop()
        if len(coefficients) < 2 or coefficients[-1].contains(0):
            raise Unsolved
        if len(coefficients) == 2:
            return [-coefficients[0] / coefficients[1]]
        try:
            p: Any = acb_poly(coefficients)
            found = p.roots()
        except ValueError as error:
            raise Unsolved from error
        real = [_polished(coefficients, z.real) for z in found if z.imag.contains(0)]
        return sorted(real, key=lambda x: float(x.mid()))


def _polished(coefficients: Sequence[Any], root: Any) -> Any:
    """A smaller ball around the one root in a ball, by Newton's method for intervals."""
    for _ in range(14):
        value = arb(0)
        slope = arb(0)
        middle = root.mid()
        for c in reversed(coefficients):
            value = value * middle + c
        for k in range(len(coefficients) - 1, 0, -1):
            slope = slope * root + k * coefficients[k]
        if slope.contains(0):
            raise Unsolved
        with suppress(ValueError):
            root = root.intersection(middle - value / slope)
        if root.rad() < NARROW:
            return root
    raise Unsolved
