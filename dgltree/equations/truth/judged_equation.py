"""``JudgedEquation`` has the programs of one equation that is judged, and says what a number of points tell.

Constants that are rational numbers in other words, as sqrt(4) or 2*pi/pi, are those numbers first. A point at which
the sides differ is written with enough digits to see it.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import inf
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq

from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.balls import Ball, Unjudged, ball
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.identities.proof import prove
from dgltree.equations.truth.identities.rational_functions import NoValue, Region
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.program import (
    BITS,
    ONE_SIDED,
    Comparison,
    PointOutcome,
    Program,
    Reading,
    compare,
    compare_settled,
    counts_against,
)
from dgltree.equations.truth.proofs.line import Line, real_line
from dgltree.equations.truth.sample_points import Angle, Point, next_to_breakpoints, on_cuts, points
from dgltree.equations.truth.solutions.solutions import Solutions
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Counterexample, Domain, Tested
from dgltree.read.notation import number
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

FIRST_POINTS = 10
"""Points that are tried before anything is proved."""
PROOF_CHECK_POINTS = 24
"""Points at which a proof is checked."""
MIN_TESTED_POINTS = 5
"""Points at which sides must agree to be called tested."""
HOLES = 2
"""Points at which one side alone may lack a value, of an equation that holds."""
WITH_POLES = ("factorial", "binomial")
"""Functions with poles at whole numbers, which are among the points: there any number of holes is no reason."""
ON_CUTS = 320
"""Bits with which values on cuts are compared: the points are known to more."""
FINE = 4096
"""Bits with which sides are compared that agree to 60 digits."""
MOST_NAMES = 12
DOMAINS = {Domain.EVERYWHERE: "complex", Domain.REALS: "real", Domain.POSITIVE: "positive"}
ROOTS = "odd roots of negative numbers are read as real"


class Trial(NamedTuple):
    """The outcome at a number of points."""

    agreed: int
    skipped: int
    holes: int
    """Points at which exactly one side has a value of any kind."""
    apart: int
    """Points at which exactly one side is real."""
    against: tuple[Point, Comparison] | None
    """The first point that refutes."""


class JudgedEquation:
    """An equation that is judged: its programs, its variables, and its outcome at points."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation = plain_constants(equation)
        self.principal = Program(equation, school=False)
        self.school = Program(equation, school=True)
        self.names = sorted(self.principal.variables)
        if len(self.names) > MOST_NAMES:
            raise Unjudged(f"it has more than {MOST_NAMES} variables")
        self.roots = self.principal.odd_roots
        has_poles = any(node.function in WITH_POLES for side in equation for node in side.distinct())
        self.most_holes = inf if has_poles else HOLES

    def trial(self, kind: str, at: Iterable[Point], reading: Reading | None = None) -> Trial:
        """The outcome at points of a kind, up to the first that refutes."""
        program = self.principal if kind == "complex" else self.school
        reading = reading or kind
        agreed = skipped = holes = apart = 0
        for point in at:
            found = compare(program, point, reading)
            if found.outcome in (PointOutcome.OPEN, PointOutcome.APART):
                on_axes = compare_settled(program, point, reading)
                found = on_axes if counts_against(on_axes.outcome, reading) else found
            hole = found.outcome in ONE_SIDED and self._is_hole(point, found)
            holes += hole
            apart += found.outcome in ONE_SIDED and not hole
            if counts_against(found.outcome, reading) and not (hole and holes <= self.most_holes):
                return Trial(agreed, skipped, holes, apart, (point, found))
            agreed += found.outcome is PointOutcome.AGREE
            skipped += found.outcome in (PointOutcome.OPEN, PointOutcome.BLURRED)
        return Trial(agreed, skipped, holes, apart, None)

    def next_to_breakpoints(self, kind: str) -> tuple[Point, Comparison] | None:
        """A real point next to a breakpoint that refutes what other points did not."""
        at = next_to_breakpoints(self.school, self.names)
        return self.trial(kind, (point for point in at if kind != "positive" or min(point.values()) > 0)).against

    def counterexample(self, point: Point, found: Comparison) -> Counterexample:
        """The text of a point at which the equation fails, with a complex value where a side has no real one."""
        if found.outcome is not PointOutcome.DIFFER:
            principal = compare(self.principal, point, "complex")
            found = principal if principal.outcome is PointOutcome.DIFFER else found
        return counterexample(point, found)

    def _is_hole(self, point: Point, found: Comparison) -> bool:
        """Whether the side without a value has no complex one either, as at a pole."""
        if None not in (found.left, found.right):
            return False
        principal = self.principal.at(point, BITS[0])
        return any(mine is None and other is None for mine, other in zip(found[1:], principal, strict=True))

    def against_with_more_digits(self, kind: str) -> tuple[Point, Comparison] | None:
        """A point at which sides differ that agree to 60 digits."""
        program = self.principal if kind == "complex" else self.school
        for point in islice(points(self.names, kind), PROOF_CHECK_POINTS):
            found = compare(program, point, kind, (FINE,))
            if found.outcome is PointOutcome.DIFFER:
                return point, found
        return None

    def fails_on_a_cut(self) -> bool:
        """Whether there is a point on a branch cut at which the sides differ, with principal values."""
        return any(
            compare_settled(self.principal, point, "complex", ON_CUTS).outcome is PointOutcome.DIFFER
            for point in on_cuts(self.principal, self.names)
        )

    def proved(self, kind: str) -> bool:
        """Whether it is proved at all points of a kind."""
        try:
            return prove(self.equation, self.names, Region(kind))
        except NoValue:
            return False

    def tested(self, trial: Trial, kind: str) -> Tested:
        """Return what a trial says: between which numbers and at how many points the sides agree."""
        low, high = ("", "") if kind == "complex" else ("1e-6" if kind == "positive" else "-1e6", "1e6")
        return Tested(trial.agreed, trial.skipped, low, high)

    @cached_property
    def name(self) -> str:
        """The only variable."""
        return self.names[0]

    @cached_property
    def solutions(self) -> Solutions:
        """The real solutions, in one variable."""
        return solve(self.equation, self.name, self.line)

    @cached_property
    def line(self) -> Line | None:
        """Where on the real line it holds, in one variable, as far as that is proved."""
        return None if has_imaginary_unit(*self.equation) else real_line(self.equation, self.name)


def no_value(found: Comparison) -> str:
    """Say which side has no value; nothing if both have one."""
    missing = [name for name, side in (("left", found.left), ("right", found.right)) if side is None]
    if len(missing) == 2:
        return "neither side has a value"
    return f"the {missing[0]} side has no value" if missing else ""


# Counterexamples in words

MIN_DIGITS, MAX_DIGITS = 4, 120
"""Digits of values that differ: as many as show it."""


def counterexample(point: Mapping[str, Any], found: Comparison) -> Counterexample:
    """Return the text of a point, with as many digits as show that the sides differ."""
    with ctx.workprec(1100):
        digits = MIN_DIGITS
        while digits < MAX_DIGITS:
            left, right = (_write_side(side, digits) for side in (found.left, found.right))
            if not _is_same(left, right):
                break
            digits += 4
        else:
            if found.left is not None and found.right is not None:
                off = write_number(_difference(found.left, found.right), MIN_DIGITS)
                less = f"plus {off[1:]}" if off.startswith("-") else f"less {off}"
                left = _write_side(found.left, MIN_DIGITS)
                right = f"is that {less}"
        return Counterexample({name: write_coordinate(value) for name, value in point.items()}, left, right)


def _difference(left: Ball, right: Ball) -> Ball:
    return left - right if isinstance(left, fmpq) and isinstance(right, fmpq) else ball(left) - ball(right)


def _is_same(left: str, right: str) -> bool:
    """Whether two texts name one number: 0.25 and 1/4."""
    if "e" in left or "e" in right:  # of a power of ten a fraction may have very many digits
        return left == right
    try:
        return Fraction(left.removeprefix("is ")) == Fraction(right.removeprefix("is "))
    except ValueError:
        return left == right


def _write_side(side: Ball, digits: int) -> str:
    return "has no value" if side is None else f"is {write_number(side, digits)}"


def write_coordinate(value: Any) -> str:
    """A coordinate of a point: a fraction, a multiple of pi, or 12 digits."""
    if callable(value) and not isinstance(value, Angle):
        value = value()
    if isinstance(value, Angle):
        if value.offset != 0 or value.turned:
            return write_number(value(), 12)
        top = int(value.multiple.p)
        bottom = int(value.multiple.q)
        times = {1: "", -1: "-"}.get(top, str(top))
        return f"{times}pi" if bottom == 1 else f"{times}pi/{bottom}"
    return write_number(value, 12)


def write_number(value: Ball, digits: int) -> str:
    """A number with so many digits; a rational with few digits as it is."""
    if isinstance(value, fmpq):
        if value.q == 1 and len(str(value.p)) <= max(digits, 12):
            return str(value.p)
        if value.q != 1 and len(str(value.p)) + len(str(value.q)) <= 8:
            return f"{value.p}/{value.q}"
    real = ball(value).real
    imaginary = ball(value).imag
    if imaginary.is_zero():
        return "0" if _is_noise(real) else _write_real(real, digits)
    if _is_noise(real):
        return f"{_write_real(imaginary, digits)}i"
    if _is_noise(imaginary):
        return _write_real(real, digits)
    second = _write_real(imaginary, digits)
    return f"{_write_real(real, digits)} {'-' if second[0] == '-' else '+'} {second.lstrip('-')}i"


def _is_noise(part: Any) -> bool:
    """Whether a part of a number is 0, or may be and is less than 2^-50: what is left of digits that cancel."""
    return bool(part.contains(0) and abs(part) < arb(2) ** -50)


def _write_real(real: Any, digits: int) -> str:
    """A real number as ``%g`` writes it."""
    middle = real.mid().str(digits + 2, radius=False)
    short = digits <= 15 and arb(10) ** -305 < abs(real) < arb(10) ** 300
    text = f"{float(middle):.{digits}g}" if short else real.mid().str(digits, radius=False)
    return "0" if text in ("-0", "0.0") else text


# Constants that are rational numbers in other words

CONSTANT_BITS = 320
LARGEST = 10**9
"""A bound on the numerator and the denominator of a number that a constant is compared with."""
CACHED = 1024
"""Constants whose numbers are kept: those of one equation come again in the next."""


def plain_constants(equation: Equation) -> Equation:
    """The equation, if it has a name, with a number for each largest part without a name that is proved to be rational.

    Exponents, bounds of a domain and signs are then those of the number: x^sqrt(4) is x^2 at negative x, too.
    """
    if not variables(*equation):
        return equation
    return Equation(*map(_plain_side, equation))


def _plain_side(tree: Tree) -> Tree:
    def combine(node: Tree, parts: list[tuple[Tree, bool]]) -> tuple[Tree, bool]:
        if not parts:
            return node, node.function != "Symbol"
        if all(is_constant for _, is_constant in parts):
            return node, True
        return node.replace(
            children=[_plain_constant(part) if is_constant else part for part, is_constant in parts]
        ), False

    found, is_constant = tree.fold(combine)
    return _plain_constant(found) if is_constant else found


@lru_cache(maxsize=CACHED)
def _plain_constant(tree: Tree) -> Tree:
    """The number that a constant is; else the constant, with numbers for parts of it."""
    if not tree.children or exact_value(tree) is not None:
        return tree
    plain = _proved_number(tree)
    return tree.replace(children=[_plain_constant(child) for child in tree.children]) if plain is None else plain


def _proved_number(tree: Tree) -> Tree | None:
    """The number that a constant is by real and by principal values."""
    try:
        value = Program(Equation(tree, tree), school=True).at({}, CONSTANT_BITS)[0]
    except Unjudged:
        return None
    near = None if value is None else _nearest_fraction(ball(value))
    if near is None:
        return None
    plain = number(str(near))
    same = Equation(tree, plain)
    agree = all(  # what is blurred, such as a sum with sin(pi), a proof decides
        compare(Program(same, school), {}, kind).outcome in (PointOutcome.AGREE, PointOutcome.BLURRED)
        for school, kind in ((True, "real"), (False, "complex"))
    )
    try:
        return plain if agree and prove(same, [], Region("complex")) else None
    except NoValue:
        return None


def _nearest_fraction(value: Any) -> Fraction | None:
    """The rational number of few digits in a ball; None if there is none, or it is not real."""
    size = abs(value.real)
    if not value.is_finite() or not value.imag.contains(0) or not size < LARGEST:
        return None
    if size.contains(0):
        return Fraction(0)
    if not size * LARGEST > 1:
        return None
    middle = value.real.mid().fmpq()
    found = Fraction(int(middle.p), int(middle.q)).limit_denominator(LARGEST)
    with ctx.workprec(CONSTANT_BITS):
        return found if value.real.contains(fmpq(found.numerator, found.denominator)) else None
