"""An answer key has the solutions of an equation, or the fillers of its blank, which an answer has to list.

It compares them with answers: exact ones, decimals that round a solution (0.333 for 1/3) in any unit, and, of periodic
equations, ``pi/6 + 2*k*pi`` or solutions that are whole periods apart.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from flint import acb, fmpq

from dgltree.equations.completion.assumptions import Assumption, excludes, spans_of
from dgltree.equations.completion.completer import Completer
from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.variables import variables
from dgltree.equations.marking.numerals import RoundedNumber
from dgltree.equations.search.root_forms import RootForms, write_period
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.balls import Ball, Unjudged, ball, whole
from dgltree.equations.truth.drawn_letters import COUNTERS, DrawnLetters
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.imaginary import has_imaginary_unit, imaginary_unit, possible_units, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.periods import CIRCULAR, period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.sample_points import one_real
from dgltree.equations.truth.solutions.solutions import Number, NumberOutcome, Put, Root, Solutions, same, value
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Grade, Verdict
from dgltree.equations.typed import Question
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

BUDGET, MAX_FILLERS, MAX_PERIODS = 60_000, 30, 12
"""Values of a search for fillers, which no clock ends; how many fillers are looked for, and in how many periods."""
BITS = 256
"""Precision of a value before it is rounded, and of a quotient that may be whole."""
UNITS = (1, 2, 3, 5, 7, 11, 13)
"""Sizes of base units at which two quantities are divided: if the quotient is a number, it is the same at all."""
MAX_VALUES = 12
"""Values of an answer within a period."""
NEXT = fmpq(1, 10**6)
"""Distance of the numbers next to one."""
SAMPLES = [fmpq(k, 11) for k in (2, -3, 5, 13, -27)]
"""Values of letters in such an answer."""


class RealException(NamedTuple):
    """A number that is no solution."""

    number: fmpq
    reason: str
    """Why a part is not real there, if one is not."""
    is_isolated: bool
    """Whether numbers next to it on both sides are solutions."""


class AnswerKey:
    """The solutions of what is asked, or the fillers of its blank; they are looked for when they are needed.

    Args:
        asked: the equation.
        names: its variables but the unknown.
        judge: of its claims.
        assumed: of its variables.
    """

    def __init__(
        self, asked: Question, names: Collection[str], judge: Judge, assumed: Sequence[Assumption] = ()
    ) -> None:
        self.asked = asked
        self._names = names
        self._judge = judge
        self._assumed = assumed

    @cached_property
    def solutions(self) -> Solutions | None:
        """The real solutions for an unknown; None of an equation with other letters or the imaginary unit."""
        if self.asked.unknown is None or self._names or has_imaginary_unit(*self.asked.equation):
            return None
        return solve(self.whole, self.asked.unknown)

    @cached_property
    def drawn(self) -> DrawnLetters | None:
        """The solutions for an unknown at drawn values of the other letters; None of an equation without letters."""
        if self.asked.unknown is None or not self._names or imaginary_unit(self.whole) is not None:
            return None
        return DrawnLetters(self.whole, self.asked.unknown, spans_of(self._assumed))

    def named(self, given: Sequence[Tree]) -> list[Tree]:
        """Expressions of solutions that are missing at drawn letters, as far as a search finds some."""
        assert self.drawn is not None
        return self.drawn.needed(self.known, given)

    def put(self, given: Tree) -> Put | None:
        """A real number in the equation; None of another answer, or if another one is not known to be no solution."""
        number = None if self.solutions is None else _number(given)
        return None if number is None or self.solutions is None else self.solutions.put(number)

    def rounded_root(self, given: RoundedNumber, unit: Tree | None = None) -> Tree | None:
        """The solution or the filler that a decimal rounds; None if there is none.

        Args:
            given: the number.
            unit: of the number, in base units as variables; None for a number alone.
        """
        if unit is None and self.roots:
            roots = (root for root in self.roots if given.rounds(root.number))
            return next((self._forms.plainest(root) for root in roots), None)
        for tree in self._values:
            number = number_of(tree) if unit is None else number_in_units(tree, unit)
            if number is not None and given.rounds(number):
                return tree
        return None

    @property
    def _values(self) -> list[Tree]:
        """The other side of a blank that is one, which needs no search; else what is known."""
        alone = self.asked.unknown is None and BLANK in self.asked.equation
        return [self.asked.equation[1 - self.asked.equation.index(BLANK)]] if alone else self.known

    @property
    def required(self) -> int | None:
        """How many solutions there are; 1 for the filler of a blank, None if that is not known."""
        if self.asked.unknown is None:
            return 1
        if self.solutions is None or not self.solutions.are_all or self.solutions.intervals:
            return None
        if self.is_periodic:
            return None if self.in_window is None else len(self.in_window)
        return len(self.roots)

    @cached_property
    def roots(self) -> list[Root]:
        """The real solutions that are as assumed; of periodic equations those of one period."""
        if self.solutions is None or self.is_periodic:
            return [] if self.solutions is None else list(self.solutions.roots)
        return [root for root in self.solutions.roots if self._is_allowed(root.number)]

    @cached_property
    def in_window(self) -> list[Tree] | None:
        """The solutions of a periodic equation in an interval that is assumed; None without one."""
        about = [one for one in self._assumed if one.name == self.asked.unknown and one.low and one.high]
        if not about or self.period is None or not self.roots:
            return None
        found = []
        for root in self.roots:
            first = self._forms.plainest(root)
            shifted = [_shifted(first, self.period, k) for k in range(-MAX_PERIODS, MAX_PERIODS + 1)]
            found += [tree for tree in shifted if self._is_allowed(_number(tree))]
        return found

    @property
    def excludes_all(self) -> bool:
        """Whether there are solutions, and none is as assumed."""
        if self.solutions is None or not self.solutions.are_all or self.solutions.intervals or not self.solutions.roots:
            return False
        return not (self.roots if self.in_window is None else self.in_window)

    def _is_allowed(self, number: Number | None) -> bool:
        about = [one for one in self._assumed if one.name == self.asked.unknown]
        if number is None:
            return False
        ball = number if isinstance(number, fmpq) else acb(number)
        return not any(one.allows(ball) is False for one in about)

    def missing(self, given: Sequence[tuple[Tree, RoundedNumber | None]]) -> list[Tree]:
        """Solutions that are not given, as far as they are known; of periodic equations those of one period.

        Args:
            given: solutions, each with the decimal that it is if what it rounds is given, too.
        """
        if self.is_periodic and self.period is None:
            return []
        if self.in_window is not None:
            values = [_number(tree) for tree, _ in given]
            return [tree for tree in self.in_window if not any(_is_same(tree, number) for number in values)]
        if self.roots:
            numbers = [(_number(tree), rounded) for tree, rounded in given]
            return [
                self._forms.plainest(root)
                for root in self.roots
                if not any(self._is_root(root, number, rounded) for number, rounded in numbers)
            ]
        missing: list[Tree] = []
        for solution in self.known:
            if not any(self._same(solution, *one) for one in (*given, *((tree, None) for tree in missing))):
                missing.append(solution)
        return missing

    @property
    def a_real_one(self) -> Tree | None:
        """A real solution, if one is known."""
        if self.roots:
            return self._forms.plainest(self.roots[0])
        if self.asked.unknown is None or variables(*self.known):
            return None
        return next((tree for tree in self.known if _number(tree) is not None), None)

    @property
    def may_have_more(self) -> bool:
        """Whether there may be solutions that are not known."""
        if self.solutions is not None:
            return not self.solutions.are_all
        return self.drawn is not None and not self.drawn.is_known

    def _is_root(self, root: Root, number: Number | None, rounded: RoundedNumber | None) -> bool:
        """Whether an answer is a root: no other number within its ball is one."""
        if number is not None and self.solutions is not None and same(root.number, self.solutions.reduced(number)):
            return True
        return rounded is not None and rounded.rounds(root.number)

    def _same(self, solution: Tree, given: Tree, rounded: RoundedNumber | None) -> bool:
        if self.period is not None and periods_between(solution, given, self.period) is not None:
            return True
        equal = Equation(*map(_with_one_unit, (solution, given)))
        if self._judge.verdict(equal).holds:
            return True
        number = None if rounded is None else number_of(solution)
        return rounded is not None and number is not None and rounded.rounds(number)

    @cached_property
    def every(self) -> Verdict | None:
        """The verdict that infinitely many numbers are solutions, if all of some interval are."""
        return None if self.solutions is None else self.solutions.every

    @cached_property
    def exceptions(self) -> list[RealException]:
        """Numbers that were tried and are no solutions, the plainest first."""
        found: list[RealException] = []
        solutions = self.solutions
        if solutions is None:
            return found
        for x in one_real():
            put = solutions.put(x) if isinstance(x, fmpq) else None
            if put is not None and put.is_proved and put.outcome in (NumberOutcome.NOT_REAL, NumberOutcome.DIFFERS):
                around = (solutions.put(x + way * NEXT) for way in (1, -1))
                is_isolated = all(other.outcome is NumberOutcome.SOLVES for other in around)
                found.append(RealException(x, put.reason if put.part is not None else "", is_isolated))
        return found

    @property
    def whole(self) -> Equation:
        """The equation with the unknown."""
        variable = Tree("Symbol", token=self.asked.unknown)
        return Equation(*(substitute(side, {BLANK: variable}) for side in self.asked.equation))

    @cached_property
    def period(self) -> Tree | None:
        """The number of which each whole multiple may be added to a solution for the unknown."""
        unknown = self.asked.unknown
        turn = None if unknown is None else period(self.whole, unknown)
        return None if turn is None else write_period(turn)

    @cached_property
    def found(self) -> Completion:
        """The program's own answer."""
        return Completer(budget=BUDGET).answer(self.asked, MAX_FILLERS)

    @property
    def known(self) -> list[Tree]:
        """Fillers of the blank, or solutions for the unknown: the real values if there are any."""
        grades = (Grade.PROVED, Grade.TESTED, Grade.ROUNDED)
        trees = [filler.trees[0] for filler in self.found.fillers if filler.verdict.grade in grades]
        return [tree for tree in trees if excludes(self._assumed, self.asked.unknown or "", tree) is None]

    @property
    def is_periodic(self) -> bool:
        """Whether the unknown is in a circular function."""
        inside = (node for side in self.asked.equation for node in side.distinct() if node.function in CIRCULAR)
        return any(leaf == BLANK for node in inside for leaf in node.distinct())

    @cached_property
    def _forms(self) -> RootForms:
        assert self.solutions is not None
        return RootForms(self.solutions, self.asked.equation)


def _number(tree: Tree) -> Number | None:
    """The real value of an answer; None of one that is not real or has a letter in it."""
    try:
        return value(tree)
    except Unjudged:
        return None


def _is_same(tree: Tree, number: Number | None) -> bool:
    other = _number(tree)
    return other is not None and number is not None and same(other, number)


def _with_one_unit(tree: Tree) -> Tree:
    """The tree with sqrt(-1) for i or j, whichever is in it."""
    equation = Equation(tree, tree)
    unit = imaginary_unit(equation) if len(possible_units(equation)) == 1 else None
    return tree if unit is None else with_unit(equation, unit).left


def _shifted(first: Tree, period: Tree, count: int) -> Tree:
    """A solution some periods further."""
    if not count:
        return first
    step = period if count == 1 else Tree("Mul", (fraction(count), period))
    return Tree("Add", (first, step))


def number_of(value: Tree) -> Ball | None:
    """A number without variables, exact if it is rational; None of any other tree."""
    exact = exact_value(value)
    if exact is not None:
        return fmpq(exact.numerator, exact.denominator)
    try:
        program = Program(Equation(value, value), school=True)
    except Unjudged:
        return None
    return None if program.variables else program.at({}, BITS)[0]


def number_in_units(value: Tree, unit: Tree) -> Ball | None:
    """The number of a quantity in a unit, both in base units as variables; None if its unit is another one."""
    quotient = Tree("Mul", (value, Tree("Pow", (unit, Tree("NegativeOne", token="-1")))))
    try:
        program = Program(Equation(quotient, quotient), school=True)
    except Unjudged:
        return None
    ones = program.at({name: fmpq(1) for name in program.variables}, BITS)[0]
    sizes = {name: fmpq(UNITS[1 + k % (len(UNITS) - 1)]) for k, name in enumerate(program.variables)}
    others = program.at(sizes, BITS)[0]
    if ones is None or others is None:
        return None
    if isinstance(ones, fmpq) and isinstance(others, fmpq):
        return ones if ones == others else None
    return ones if ball(ones).overlaps(ball(others)) else None


def periods_between(first: Tree, second: Tree, period: Tree) -> int | None:
    """How many periods two numbers are apart; None if that is not a whole number.

    Letters in them get several values: the number has to be the same for all.
    """
    minus_one = Tree("NegativeOne", token="-1")
    difference = Tree("Add", (first, Tree("Mul", (minus_one, second))))
    quotient = Tree("Mul", (difference, Tree("Pow", (period, minus_one))))
    try:
        program = Program(Equation(quotient, quotient), school=True)
    except Unjudged:
        return None
    letters = list(program.variables)
    points = [{name: x + fmpq(k, 97) for k, name in enumerate(letters)} for x in (SAMPLES if letters else SAMPLES[:1])]
    values = [value for point in points if (value := program.at(point, BITS)[0]) is not None]
    found = {whole(ball(value)) for value in values}
    return found.pop() if len(found) == 1 else None


class Within(NamedTuple):
    """An answer with a counter, as ``pi/4 + k*pi``, within a period."""

    values: list[Tree]
    """Different values of the answer."""
    counter: str
    """The letter that is any whole number."""
    periods: int
    """How many periods lie between two of its values, if it has one alone in each; else 1."""


def within_a_period(answer: Tree, period: Tree, letters: Collection[str] = ()) -> Within | None:
    """None for an answer without one counter, and for one whose steps are neither parts of the period nor some.

    Args:
        letters: those of the equation, which may be in the answer as well.
    """
    names = [name for name in variables(answer) if name not in letters]
    if len(names) != 1 or names[0] not in COUNTERS:
        return None
    counter = Tree("Symbol", token=names[0])
    values = [substitute(answer, {counter: Tree("Integer", token=str(k))}) for k in range(MAX_VALUES + 1)]
    if apart := abs(periods_between(values[1], values[0], period) or 0):
        return Within([values[0].fold(_short)], names[0], apart)
    for count in range(2, MAX_VALUES + 1):
        if abs(periods_between(values[count], values[0], period) or 0) == 1:
            return Within([value.fold(_short) for value in values[:count]], names[0], 1)
    return None


def in_degrees(answer: Tree) -> Tree:
    """The number of radians of so many degrees."""
    pi = Tree("Pi", token="pi")
    half_turn = Tree("Integer", token="180")
    inverse = Tree("Pow", (half_turn, Tree("NegativeOne", token="-1")))
    return Tree("Mul", (answer, Tree("Mul", (pi, inverse))))


def _short(node: Tree, children: list[Tree]) -> Tree:
    """``pi/6`` of ``pi/6 + 2*0*pi``, and ``pi/4 + pi`` of ``pi/4 + 1*pi``."""
    zero, one = (Tree("Integer", token=token) for token in "01")
    if node.function == "Mul" and zero in children:
        return zero
    if node.function in ("Add", "Mul"):
        left = [child for child in children if child != (zero if node.function == "Add" else one)]
        if len(left) < 2:
            return left[0] if left else children[0]
        return Tree(node.function, left)
    return node.replace(children=children)
