"""The solutions of an equation with an unknown, and those that an answer leaves out."""

from collections.abc import Collection
from functools import cached_property

from dgltree.equations.checking.periodic import periods_between
from dgltree.equations.checking.rounding import rounds
from dgltree.equations.completion.completer import Completer
from dgltree.equations.completion.result import Completion
from dgltree.equations.truth.imaginary import imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain, Grade, Verdict
from dgltree.read.functions import names as functions
from dgltree.read.typed import Question
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

SEARCH_SECONDS, MAX_SOLUTIONS = 4.0, 30
"""Of a search for all solutions, and how many are looked for."""
CIRCULAR = frozenset(functions("circular", inverse=False))


class Solutions:
    """The solutions of what is asked, or the fillers of its blank; they are looked for when they are needed.

    Args:
        asked: the equation.
        names: its variables but the unknown.
        judge: of its claims.
        rounded: whether a decimal is the value that it rounds.
    """

    def __init__(self, asked: Question, names: Collection[str], judge: Judge, rounded: bool) -> None:
        self.asked, self._names, self._judge, self._rounded = asked, names, judge, rounded

    def missing(self, given: list[Tree]) -> list[Tree]:
        """Solutions that are not given, as far as they are found; of periodic equations those of one period."""
        missing: list[Tree] = []
        if self.is_periodic and self.found.period is None:
            return missing
        for solution in self.known:
            if not any(self._same(solution, tree) for tree in (*given, *missing)):
                missing.append(solution)
        return missing

    def _same(self, solution: Tree, given: Tree) -> bool:
        period = self.found.period
        if period is not None and periods_between(solution, given, period) is not None:
            return True
        equal = Equation(solution, given)
        unit = imaginary_unit(equal)
        verdict = self._judge.verdict(equal if unit is None else with_unit(equal, unit))
        return verdict.holds or (self._rounded and rounds(given, solution))

    @cached_property
    def every(self) -> Verdict | None:
        """The verdict that infinitely many numbers are solutions, if they are."""
        if self._names or self.is_periodic:
            return None
        verdict = self._judge.verdict(self.whole)
        many = verdict.domain in (Domain.EVERYWHERE, Domain.REALS) or not all(part.is_point for part in verdict.part)
        return verdict if many and verdict.domain is not Domain.NONE and verdict.grade is Grade.PROVED else None

    @property
    def whole(self) -> Equation:
        """The equation with the unknown."""
        variable = Tree("Symbol", token=self.asked.unknown)
        return Equation(*(substitute(side, {BLANK: variable}) for side in self.asked.equation))

    @cached_property
    def found(self) -> Completion:
        """The program's own answer."""
        return Completer(seconds=SEARCH_SECONDS).answer(self.asked, MAX_SOLUTIONS)

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
