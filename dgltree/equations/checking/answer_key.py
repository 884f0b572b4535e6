"""The solutions of an equation with an unknown, or the fillers of a blank, which an answer has to list."""

from collections.abc import Collection
from functools import cached_property

from dgltree.equations.checking.periodic import periods_between
from dgltree.equations.checking.rounding import rounds, rounds_number
from dgltree.equations.completion.completer import Completer
from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.names import variables
from dgltree.equations.search.root_forms import RootForms, write_period
from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.imaginary import has_imaginary_unit, imaginary_unit, possible_units, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.periods import CIRCULAR, period
from dgltree.equations.truth.solutions.numbers import Number, Put, same, value
from dgltree.equations.truth.solutions.solutions import Root, Solutions
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Grade, Verdict
from dgltree.read.typed import Question
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

BUDGET, MAX_FILLERS = 60_000, 30
"""Values of a search for fillers, which no clock ends, and how many fillers are looked for."""


class AnswerKey:
    """The solutions of what is asked, or the fillers of its blank; they are looked for when they are needed.

    Args:
        asked: the equation.
        names: its variables but the unknown.
        judge: of its claims.
        rounded: whether a decimal is the value that it rounds.
    """

    def __init__(self, asked: Question, names: Collection[str], judge: Judge, rounded: bool) -> None:
        self.asked, self._names, self._judge, self._rounded = asked, names, judge, rounded

    @cached_property
    def solutions(self) -> Solutions | None:
        """The real solutions for an unknown; None of an equation with other letters or the imaginary unit."""
        if self.asked.unknown is None or self._names or has_imaginary_unit(*self.asked.equation):
            return None
        return solve(self.whole, self.asked.unknown)

    def put(self, given: Tree) -> Put | None:
        """A real number in the equation; None of another answer, or if another one is not known to be no solution."""
        number = None if self.solutions is None else _number(given)
        return None if number is None or self.solutions is None else self.solutions.put(number)

    def rounded_root(self, given: Tree) -> Tree | None:
        """The solution or the filler that a decimal rounds; None if there is none."""
        if self.solutions is not None and self.solutions.roots:
            roots = (root for root in self.solutions.roots if rounds_number(given, root.number))
            return next((self._forms.plainest(root) for root in roots), None)
        return next((tree for tree in self.known if rounds(given, tree)), None)

    def missing(self, given: list[Tree]) -> list[Tree]:
        """Solutions that are not given, as far as they are known; of periodic equations those of one period."""
        if self.is_periodic and self.period is None:
            return []
        if self.solutions is not None and self.solutions.roots:
            numbers = [(tree, _number(tree)) for tree in given]
            return [
                self._forms.plainest(root)
                for root in self.solutions.roots
                if not any(self._is_root(root, tree, number) for tree, number in numbers)
            ]
        missing: list[Tree] = []
        for solution in self.known:
            if not any(self._same(solution, tree) for tree in (*given, *missing)):
                missing.append(solution)
        return missing

    @property
    def a_real_one(self) -> Tree | None:
        """A real solution, if one is known."""
        if self.solutions is not None and self.solutions.roots:
            return self._forms.plainest(self.solutions.roots[0])
        if self.asked.unknown is None or variables(*self.known):
            return None
        return next((tree for tree in self.known if _number(tree) is not None), None)

    @property
    def may_have_more(self) -> bool:
        """Whether there may be solutions that are not known."""
        return self.found.more if self.solutions is None else not self.solutions.are_all

    def _is_root(self, root: Root, given: Tree, number: Number | None) -> bool:
        """Whether an answer is a root: no other number within its ball is one."""
        if number is not None and self.solutions is not None and same(root.number, self.solutions.reduced(number)):
            return True
        return self._rounded and rounds_number(given, root.number)

    def _same(self, solution: Tree, given: Tree) -> bool:
        if self.period is not None and periods_between(solution, given, self.period) is not None:
            return True
        equal = Equation(*map(_with_one_unit, (solution, given)))
        return self._judge.verdict(equal).holds or (self._rounded and rounds(given, solution))

    @cached_property
    def every(self) -> Verdict | None:
        """The verdict that infinitely many numbers are solutions, if all of some interval are."""
        if self.solutions is None or not self.solutions.intervals:
            return None
        return self._judge.verdict(self.whole)

    @property
    def whole(self) -> Equation:
        """The equation with the unknown."""
        variable = Tree("Symbol", token=self.asked.unknown)
        return Equation(*(substitute(side, {BLANK: variable}) for side in self.asked.equation))

    @cached_property
    def period(self) -> Tree | None:
        """Of which each whole multiple may be added to a solution for the unknown."""
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
        return [filler.trees[0] for filler in self.found.fillers if filler.verdict.grade in grades]

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


def _with_one_unit(tree: Tree) -> Tree:
    """With sqrt(-1) for i or j, whichever is in it."""
    equation = Equation(tree, tree)
    unit = imaginary_unit(equation) if len(possible_units(equation)) == 1 else None
    return tree if unit is None else with_unit(equation, unit).left
