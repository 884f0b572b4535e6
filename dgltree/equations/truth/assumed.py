"""An assumption is the domain of the judge: the values of its variables are written by parameters that are any numbers.

A variable of at least c is c + s^2, one of at most c is c - s^2, one between l and h is (l + h s^2)/(1 + s^2), and a
whole one is 2 m or 2 m + 1. Points, lines through them, counterexamples and proofs are all made of these parameters, so
that none can be where an assumption is false. Of whole numbers m two rules are known: A^(c m + r) is (A^c)^m A^r with a
whole c, and sines, cosines and exponentials have their periods.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice, product
from typing import Any, NamedTuple

from flint import ctx, fmpq

from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.balls import Ball, ball, sign, whole
from dgltree.equations.truth.conditions import conditions
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.identities.proof import prove
from dgltree.equations.truth.identities.rational_functions import NoValue, Region
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.judged_equation import MIN_TESTED_POINTS, JudgedEquation, Trial
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.expression import Expression, Unsupported, X, from_tree
from dgltree.equations.truth.proofs.expression import number as to_expression
from dgltree.equations.truth.proofs.finder import have_same_domain
from dgltree.equations.truth.proofs.line import line_along
from dgltree.equations.truth.proofs.place import to_fmpq
from dgltree.equations.truth.sample_points import Angle, Point, plain_first, real_lines
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Tested, Verdict, undecided
from dgltree.read.functions import names as functions
from dgltree.read.notation import CONSTANTS, IMAGINARY_UNIT, MINUS_ONE, number
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

MOST_LINES = 2
"""Lines through the parameters: each takes a proof."""
MOST_WHOLE = 3
"""Whole variables of a proof: each doubles the cases."""
FARTHEST_WHOLE = 40
"""Size of a whole number that is tried, from an end or from 0."""
BITS = 320
"""Bits of an end, and of a count of periods."""
TWO, ZERO, PI = number("2"), number("0"), CONSTANTS["pi"]
TURNS = frozenset(functions("circular", inverse=False))


class AssumedSpan(NamedTuple):
    """The values that a variable may have: the real or whole numbers between two ends."""

    low: Tree | None = None
    high: Tree | None = None
    low_in: bool = False
    high_in: bool = False
    whole: bool = False

    def parametrized(self, s: Tree) -> Tree:
        """The variable by a parameter that is any real number: of a closed end above, all but the end."""
        square = Tree("Pow", (s, TWO))
        if self.low is None:
            return s if self.high is None else _difference(self.high, square)
        if self.high is None:
            return Tree("Add", (self.low, square))
        top = Tree("Add", (self.low, Tree("Mul", (self.high, square))))
        return Tree("Mul", (top, Tree("Pow", (Tree("Add", (number("1"), square)), MINUS_ONE))))

    def whole_number(self, s: Any, at: Point) -> fmpq | None:
        """A whole number between the ends, by a parameter; None if there is none.

        Args:
            s: the parameter.
            at: the values of letters in the ends.
        """
        k = _floor(s)
        k = k if abs(k) <= FARTHEST_WHOLE else k % FARTHEST_WHOLE
        low, high = (None if end is None else number_at(end, at) for end in (self.low, self.high))
        first = None if low is None else -_floor(-low) + (_is_whole(low) and not self.low_in)
        last = None if high is None else _floor(high) - (_is_whole(high) and not self.high_in)
        if first is not None and last is not None:
            return fmpq(first + abs(k) % (last - first + 1)) if first <= last else None
        if first is not None:
            return fmpq(first + abs(k))
        return fmpq(k if last is None else last - abs(k))

    def place(self, s: Any, at: Point) -> Any:
        """A value by a parameter; None if there is none. At a parameter of an open end it is next to the end."""
        if self.whole:
            return self.whole_number(s, at)
        if self.low is None and self.high is None:
            return s
        if sign(ball(_called(s))) == 0 and not (self.low_in if self.low is not None else self.high_in):
            s = fmpq(1, 1024)
        written = self.parametrized(_S)
        inside = {**at, "s": s}
        value = number_at(written, inside)
        return value if isinstance(value, fmpq) or value is None else Placed(written, inside)

    @property
    def letters(self) -> frozenset[str]:
        """The letters in its ends."""
        return frozenset(name for end in (self.low, self.high) if end is not None for name in variables(end))

    @property
    def closed_end(self) -> Tree | None:
        """The end above that no parameter reaches."""
        return self.high if self.low is not None and self.high_in and not self.whole else None


_S = Tree("Symbol", token="s")


class Placed:
    """A number that is not rational, made with the bits that are set."""

    def __init__(self, tree: Tree, at: Point) -> None:
        self._program = Program(Equation(tree, tree), school=True)
        self._at = at

    def __call__(self) -> Ball:
        return self._program.at(self._at, ctx.prec)[0]


class Assumed:
    """An equation that is judged where its variables are in spans.

    Args:
        equation: in all its variables.
        spans: of some of them.
    """

    def __init__(self, equation: Equation, spans: Mapping[str, AssumedSpan]) -> None:
        self.case = JudgedEquation(equation)
        self.spans = {name: spans[name] for name in in_order(spans) if name in self.case.names}
        self.names = sorted({*self.case.names, *(name for span in self.spans.values() for name in span.letters)})
        self.spans = {name: spans[name] for name in in_order(spans) if name in self.names}
        self.kind = "complex" if has_imaginary_unit(*equation) else "real"

    def verdict(self) -> Verdict:
        """Whether it holds at all points of the domain, and where it fails.

        A part of it is where the other letters are positive.
        """
        trial = self.case.trial(self.kind, self.points())
        if trial.against is None and trial.agreed < MIN_TESTED_POINTS:
            return undecided("too few points at which both sides have a value", Doubt.NOT_COMPARED)
        but = conditions(self.case.equation) if trial.holes else ()
        if trial.against is None:
            if self.is_proved():
                return Verdict(Grade.PROVED, Domain.REALS, conditions=but)
            along_lines = self.case.trial(self.kind, self._points_of_lines())
            if along_lines.against is None:
                return Verdict(Grade.TESTED, Domain.REALS, conditions=but, tested=_tested(trial))
            trial = along_lines
        assert trial.against is not None
        against = self.case.counterexample(*trial.against)
        free = [name for name in self.names if name not in self.spans]
        if free and self.kind == "real":
            positive = self.case.trial("positive", (at for at in self.points() if all(at[name] > 0 for name in free)))
            if positive.against is None and positive.agreed >= MIN_TESTED_POINTS:
                tested = _tested(positive)
                return Verdict(Grade.TESTED, Domain.POSITIVE, both_real=True, tested=tested, counterexample=against)
        return Verdict(Grade.REFUTED, counterexample=against)

    def points(self) -> Iterator[Point]:
        """Points of the domain, plain ones first, and those at the closed ends."""
        for s in plain_first(self.names, "real") if self.names else [{}]:
            point = self._placed(s)
            if point is not None:
                yield point
                ends = {name: span.closed_end for name, span in self.spans.items() if span.closed_end is not None}
                for name, end in ends.items():
                    value = number_at(end, point)
                    if value is not None:
                        yield {**point, name: value if isinstance(value, fmpq) else Placed(end, point)}

    def _placed(self, parameters: Point) -> Point | None:
        """The point of the domain for parameters, letters in ends first; None if there is none."""
        point = {name: s for name, s in parameters.items() if name not in self.spans}
        for name, span in self.spans.items():
            value = span.place(parameters[name], point)
            if value is None:
                return None
            point[name] = value
        return point

    def _points_of_lines(self) -> Iterator[Point]:
        """Yield points of lines through the parameters: where proofs find that it fails, and next to all cuts."""
        s = Tree("Symbol", token="s")
        for line in islice(real_lines(self.names), MOST_LINES):
            letters: dict[str, Expression] = {}
            for name, (a, b) in line.items():
                moving: Expression = ("+", to_expression(a), ("*", to_expression(b), X))
                span = self.spans.get(name)
                if span is not None and span.whole:
                    line[name] = (Fraction(int(a)), Fraction(0))
                    moving = to_expression(int(a))
                elif span is not None:
                    with suppress(Unsupported):  # an end that is a letter
                        moving = from_tree(span.parametrized(s), {"s": moving})
                letters[name] = moving
            found = line_along(self.case.equation, letters, "t")
            for t in () if found is None else (*found.points_of_failure(), *found.samples()):
                point = self._placed({name: to_fmpq(a) + to_fmpq(b) * t for name, (a, b) in line.items()})
                if point is not None:
                    yield point

    def is_proved(self) -> bool:
        """Whether it is proved for all parameters, of whole numbers for even and for odd ones, and at closed ends."""
        ends = [{name: span.closed_end} for name, span in self.spans.items() if span.closed_end is not None]
        counts = [name for name, span in self.spans.items() if span.whole]
        if len(counts) > MOST_WHOLE:
            return False
        parities = product((0, 1), repeat=len(counts))
        cases = [dict(zip(counts, parity, strict=True)) for parity in parities]
        return all(self._is_proved_at(odd, at) for odd in cases for at in ({}, *ends))

    def _is_proved_at(self, odd: Mapping[str, int], ends: Mapping[str, Tree | None]) -> bool:
        equation = self.case.equation
        for name, span in reversed(self.spans.items()):  # letters in the ends of a span come before it
            leaf = Tree("Symbol", token=name)
            end = ends.get(name)
            if end is not None:
                written = end
            elif span.whole:
                written = Tree("Add", (Tree("Mul", (TWO, leaf)), number(str(odd[name]))))
            else:
                written = span.parametrized(leaf)
            equation = Equation(*(substitute(side, {leaf: written}) for side in equation))
        if odd:
            equation = Equation(*(without_turns(side, list(odd)) for side in equation))
        names = variables(*equation)
        try:
            if prove(equation, names, Region("complex")):
                return True
            return prove(equation, names, Region("real")) and have_same_domain(equation, names)
        except NoValue:
            return False


def in_order(spans: Mapping[str, AssumedSpan]) -> list[str]:
    """The variables with spans, each after the letters in its ends. Raises ``KeyError`` if there is no such order."""
    waiting = {name: span.letters & spans.keys() for name, span in spans.items()}
    placed: list[str] = []
    while waiting:
        following = [name for name, letters in waiting.items() if letters <= set(placed)]
        if not following:
            raise KeyError(next(iter(waiting)))
        placed += following
        waiting = {name: letters for name, letters in waiting.items() if name not in following}
    return placed


def number_at(tree: Tree, at: Point) -> Ball | None:
    """The real value of an expression at a point."""
    return Program(Equation(tree, tree), school=True).at(at, BITS)[0]


def _tested(trial: Trial) -> Tested:
    return Tested(trial.agreed, trial.skipped, "", "")


def _called(s: Any) -> Ball:
    return s() if callable(s) else s


def _floor(value: Any) -> int:
    if isinstance(value, Angle):
        return int(12 * value.multiple.p / value.multiple.q)
    if isinstance(value, fmpq):
        return int(value.p // value.q)
    return int(ball(value).real.mid().floor().unique_fmpz())


def _is_whole(value: Ball) -> bool:
    return isinstance(value, fmpq) and value.q == 1


def _difference(a: Tree, b: Tree) -> Tree:
    return Tree("Add", (a, Tree("Mul", (MINUS_ONE, b))))


# Whole numbers in exponents and in arguments of circular functions


def without_turns(tree: Tree, names: Sequence[str]) -> Tree:
    """The tree by what is true of whole numbers: (A^2)^m for A^(2 m), and sin(A) for sin(A + 2 pi m)."""

    def reduced(node: Tree, parts: list[Tree]) -> Tree:
        node = node.replace(children=parts) if parts else node
        for name in names:
            if node.function == "Pow" and len(parts) == 2:
                node = _without_power(node, name)
            elif node.function in TURNS:
                node = _without_angle(node, name, TWO)
            elif node.function == "exp":
                node = _without_angle(node, name, Tree("Mul", (TWO, IMAGINARY_UNIT)))
            if not node.children:
                break
        return node

    return tree.fold(reduced)


def _without_power(node: Tree, name: str) -> Tree:
    """A^(c*m + r) as (A^c)^m * A^r with a whole c."""
    base, exponent = node.children
    if base.function == "Exp1":
        return _without_angle(Tree("exp", (exponent,)), name, Tree("Mul", (TWO, IMAGINARY_UNIT)))
    slope = slope_of(exponent, name)
    count = None if slope is None else exact_value(slope)
    if count is None or count.denominator > 1 or abs(count) < 2 or name in variables(base):
        return node
    step = exact_value(Tree("Pow", (base, number(str(count)))))
    if base == IMAGINARY_UNIT:
        step = Fraction((-1) ** (int(count) // 2)) if count % 2 == 0 else None
    power = Tree("Pow", (base, number(str(count)))) if step is None else number(str(step))
    m = Tree("Symbol", token=name)
    rest = Tree("Pow", (base, _at_zero(exponent, name)))
    return rest if step == 1 else Tree("Mul", (Tree("Pow", (power, m)), rest))


def _without_angle(node: Tree, name: str, unit: Tree) -> Tree:
    """f(A + k*turn*m) as f(A), for a function with this turn times pi as its period, and a whole k."""
    [argument] = node.children
    slope = slope_of(argument, name)
    if slope is None or slope == ZERO:
        return node
    count = Tree("Mul", (slope, Tree("Pow", (Tree("Mul", (unit, PI)), MINUS_ONE))))
    if variables(count):
        return node
    value = Program(Equation(count, count), school=False).at({}, BITS)[0]
    k = None if value is None else whole(ball(value))
    with suppress(NoValue):
        if k is not None and prove(Equation(count, number(str(k))), [], Region("complex")):
            return node.replace(children=(_at_zero(argument, name),))
    return node


def slope_of(tree: Tree, name: str) -> Tree | None:
    """The factor of a variable in what is linear in it; None if it is not."""
    leaf = Tree("Symbol", token=name)
    if name not in variables(tree):
        return ZERO
    if tree == leaf:
        return number("1")
    if tree.function == "Add":
        slopes = [slope_of(child, name) for child in tree.children]
        known = [slope for slope in slopes if slope is not None and slope != ZERO]
        if None in slopes:
            return None
        return known[0] if len(known) == 1 else Tree("Add", known)
    if tree.function == "Mul":
        inside = [k for k, child in enumerate(tree.children) if name in variables(child)]
        if len(inside) != 1:
            return None
        slope = slope_of(tree.children[inside[0]], name)
        others = [child for k, child in enumerate(tree.children) if k != inside[0]]
        if slope is None:
            return None
        return Tree("Mul", (slope, *others)) if slope != number("1") else _product(others)
    return None


def _product(factors: Sequence[Tree]) -> Tree:
    return factors[0] if len(factors) == 1 else Tree("Mul", tuple(factors))


def _at_zero(tree: Tree, name: str) -> Tree:
    return substitute(tree, {Tree("Symbol", token=name): ZERO})
