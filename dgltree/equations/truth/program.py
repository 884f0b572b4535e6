"""An equation becomes a program, which gives the values of both sides at one point, and they are compared by balls."""

import enum
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq

from dgltree.equations.expressions.definitions import expression
from dgltree.equations.truth.balls import (
    OPERATIONS,
    Ball,
    Unjudged,
    ball,
    constant,
    is_real,
    power,
    real_log,
    real_or_none,
    root_of,
    settle,
    snap,
)
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.proofs.work import look_at_clock
from dgltree.read.functions import BY_NAME, Cut
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MOST_NODES = 3000
"""Distinct nodes of an equation that is judged."""

RATIONAL_BITS = 64
SPARE = 120
"""Bits of a sum below which a term is not seen."""

BITS = (64, 320, 1024)
"""Bits with which values are computed, until they decide."""
TIGHT = 200
"""Bits to which balls have to agree: 60 digits."""


class ProgramStep(NamedTuple):
    """One operation of a program."""

    apply: Callable[..., Ball]
    arguments: tuple[int, ...]


class Program:
    """An equation as operations on numbered values, each part once.

    Args:
        school: whether every part has to be real, and an odd root of a negative number is; else values are complex
            with their principal value, as they are of an equation with the imaginary unit in it.

    Raises ``Unjudged`` for an equation that is too large, and for a function or leaf without a value.
    """

    def __init__(self, equation: Equation, school: bool) -> None:
        self.variables: dict[str, int] = {}
        self._is_real = school and not has_imaginary_unit(*equation)
        self.odd_roots = False
        self.cuts: dict[int, Cut] = {}
        """The places of arguments that have cuts."""
        self._leaves: dict[int, Tree] = {}
        self._steps: list[tuple[int, ProgramStep]] = []
        self._sums: list[tuple[int, tuple[int, ...]]] = []
        self._powers: list[tuple[int, int | None]] = []
        """Places of values that are 0 only if that at another place is, if there is one."""
        numbers: dict[Tree, int] = {}
        if sum(side.size for side in equation) > 20 * MOST_NODES:
            raise Unjudged(f"it has more than {20 * MOST_NODES:,} nodes")
        for side in equation:
            for node in side.distinct():
                if node not in numbers:
                    numbers[node] = place = len(numbers)
                    self._add(node, place, tuple(numbers[child] for child in node.children), school)
            if len(numbers) > MOST_NODES:
                raise Unjudged(f"it has more than {MOST_NODES:,} different parts")
        self.sides = tuple(numbers[side] for side in equation)
        self._count = len(numbers)
        self._constants: dict[int, dict[int, Ball]] = {}

    @property
    def size(self) -> int:
        """How many values are computed at a point."""
        return self._count

    def _add(self, node: Tree, place: int, arguments: tuple[int, ...], school: bool) -> None:
        if node.children:
            cut = _cut(node)
            if cut is not None:
                self.cuts[arguments[0]] = cut
            if node.function == "Add":
                self._sums.append((place, arguments))
            if node.function in ("exp", "Pow"):
                self._powers.append((place, arguments[0] if node.function == "Pow" else None))
            self._steps.append((place, ProgramStep(self._operation(node, school), arguments)))
        elif node.function == "Symbol" and node.token:
            self.variables[node.token] = place
        else:
            constant(node)
            self._leaves[place] = node

    def _operation(self, node: Tree, school: bool) -> Callable[..., Ball]:
        if node.function == "Pow" and len(node.children) == 2:
            exponent = exact_value(node.children[1])
            if exponent is not None and exponent.denominator > 1:
                odd = exponent.denominator % 2 == 1
                self.odd_roots |= odd
                return root_of(exponent.numerator, exponent.denominator, odd and school)
            return power
        if school and self._is_real and node.function == "log" and len(node.children) == 2:
            return real_log
        operation = OPERATIONS.get(node.function)
        record = BY_NAME.get(node.function)
        arities = (len(node.children),) if node.function in ("Add", "Mul") else record.arities if record else ()
        if operation is None or len(node.children) not in arities:
            raise Unjudged(f"the function {node.function} of {len(node.children)} arguments has no value")
        return operation

    def at(
        self, point: Mapping[str, Ball], bits: int, adjust: Callable[[Any], Ball] | None = None
    ) -> tuple[Ball, Ball]:
        """The sides' values at a point, computed with so many bits; ``adjust`` is done to every ball on the way."""
        values = self.values(point, bits, adjust)
        left, right = (values[side] for side in self.sides)
        return left, right

    def swallows(self, values: Sequence[Ball], bits: int) -> bool:
        """Whether a value is too small to be seen with so many bits: 1 in 9^9^9 + 1, or exp(-9^9^9)."""
        for place, base in self._powers:
            if _may_be_0(values[place]) and (base is None or not _may_be_0(values[base])):
                return True
        with ctx.workprec(bits):
            for place, terms in self._sums:
                total = ball(values[place])
                least = abs(total).abs_lower() * arb(2) ** -(bits - SPARE)
                if any(_is_below(values[term], least) for term in terms):
                    return True
        return False

    def values(
        self, point: Mapping[str, Ball], bits: int, adjust: Callable[[Any], Ball] | None = None
    ) -> Sequence[Ball]:
        """Return the values of all parts at a point."""
        look_at_clock()
        with ctx.workprec(bits):
            if bits not in self._constants:
                self._constants[bits] = {place: constant(leaf) for place, leaf in self._leaves.items()}
            values: list[Ball] = [None] * self._count
            for place, number in self._constants[bits].items():
                values[place] = number
            for name, place in self.variables.items():
                value = point[name]
                values[place] = value() if callable(value) else value
            for place, (apply, arguments) in self._steps:
                below = [values[argument] for argument in arguments]
                value = None if None in below else apply(*below)
                value = adjust(value) if adjust is not None and isinstance(value, acb) else value
                values[place] = real_or_none(value) if self._is_real and isinstance(value, acb) else value
            return values


def _may_be_0(value: Ball) -> bool:
    return value is not None and bool(ball(value).contains(0))


def _is_below(value: Ball, least: Any) -> bool:
    if value is None or value == 0:
        return False
    return bool(abs(ball(value)).abs_upper() < least)


def _cut(node: Tree) -> Cut | None:
    """Return where the argument of a node has its cut; that of acot(x) is the one of atan(1/x)."""
    if node.function == "Pow":
        number = exact_value(node.children[1])
        return None if number is not None and number.denominator == 1 else Cut.NEGATIVE
    record = BY_NAME.get(node.function)
    if record is not None and record.definition and record.cut is None:
        outer = BY_NAME.get(expression(record.definition).function)
        return None if outer is None else outer.cut
    return None if record is None else record.cut


def rational(tree: Tree) -> Fraction | None:
    """The value of an expression of numbers that is rational, odd roots of negative numbers being real."""
    try:
        value = Program(Equation(tree, tree), school=True).at({}, RATIONAL_BITS)[0]
    except Unjudged:
        return None
    return Fraction(int(value.p), int(value.q)) if isinstance(value, fmpq) else None


# Comparison of the sides at one point


class PointOutcome(enum.Enum):
    """Outcome of comparing two sides at a point."""

    AGREE = "agree"
    DIFFER = "differ"
    LEFT_ALONE = "left alone"
    """The left side has a value, and the right one has none."""
    RIGHT_ALONE = "right alone"
    APART = "apart"
    """They are not the same, and one of them is real; whether the other is, that is open."""
    NO_VALUE = "no value"
    """Neither side has one."""
    BLURRED = "blurred"
    """They meet, and a term is too small next to its sum to be seen."""
    OPEN = "open"
    """The balls do not decide."""


ONE_SIDED = (PointOutcome.LEFT_ALONE, PointOutcome.RIGHT_ALONE, PointOutcome.APART)


class Comparison(NamedTuple):
    """An outcome, and the values that show it."""

    outcome: PointOutcome
    left: Ball
    right: Ball


Reading = str
"""Which values count: ``complex``; ``real``, if the sides have to be; ``positive``, if only real pairs count."""


def compare(program: Program, point: Mapping[str, Ball], reading: Reading, bits: tuple[int, ...] = BITS) -> Comparison:
    """The outcome at a point; a side that is not real counts as one without a value, unless ``reading`` is complex."""
    found = Comparison(PointOutcome.OPEN, None, None)
    for count in bits:
        values = program.values(point, count)
        left, right = (values[side] for side in program.sides)
        with ctx.workprec(count):
            found = Comparison(_outcome(left, right, reading != "complex"), left, right)
        exact = _exact(left) and _exact(right)
        if found.outcome is PointOutcome.AGREE and not exact and program.swallows(values, count):
            found = found._replace(outcome=PointOutcome.BLURRED)
        if found.outcome not in (PointOutcome.OPEN, PointOutcome.APART, PointOutcome.BLURRED):
            return found
    return found


def compare_settled(program: Program, point: Mapping[str, Ball], reading: Reading, bits: int = BITS[-1]) -> Comparison:
    """The outcome if balls leave open on which side of a branch cut, or of the real line, a value is: on it."""
    left, right = program.at(point, bits, settle)
    with ctx.workprec(bits):
        return Comparison(_outcome(left, right, reading != "complex"), left, right)


def compare_end(program: Program, point: Mapping[str, Ball], bits: int) -> Comparison:
    """The outcome in reals at an end of a part, which is known to so many bits."""
    left, right = program.at(point, bits, snap)
    with ctx.workprec(bits):
        return Comparison(_outcome(left, right, real=True), left, right)


def counts_against(outcome: PointOutcome, reading: Reading) -> bool:
    """Whether an equation is false in a reading that has such a point."""
    return outcome is PointOutcome.DIFFER or (reading == "real" and outcome in ONE_SIDED)


def _outcome(left: Ball, right: Ball, real: bool) -> PointOutcome:
    there = [_has_value(side, real) for side in (left, right)]
    if there == [False, False]:
        return PointOutcome.NO_VALUE
    if there == [True, False]:
        return PointOutcome.LEFT_ALONE
    if there == [False, True]:
        return PointOutcome.RIGHT_ALONE
    if _exact(left) and _exact(right):
        return PointOutcome.AGREE if left == right else PointOutcome.DIFFER
    if not (left is not None and right is not None and _finite(left) and _finite(right)):
        return PointOutcome.OPEN
    if not ball(left).overlaps(ball(right)):
        return {0: PointOutcome.OPEN, 1: PointOutcome.APART, 2: PointOutcome.DIFFER}[there.count(True)]
    return PointOutcome.AGREE if _tight(left, right) else PointOutcome.OPEN


def _has_value(side: Ball, real: bool) -> bool | None:
    """Whether a side has a value, a real one if that is asked for; None if the ball leaves it open."""
    if side is None:
        return False
    if not _finite(side):
        return None
    return is_real(side) if real else True


def _exact(side: Ball) -> bool:
    return isinstance(side, fmpq)


def _finite(side: Ball) -> bool:
    return _exact(side) or bool(side.is_finite())


def _tight(left: Ball, right: Ball) -> bool:
    """Whether balls that meet leave no room for a difference in the first 60 digits."""
    difference = ball(left) - ball(right)
    scale = 1 + abs(ball(left)).abs_upper()
    return bool(abs(difference).abs_upper() / scale < arb(2) ** -TIGHT)
