"""The search for fillers of a blank: from short to long, stopped by the first that hold, a budget, or a clock."""

import math
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from dgltree.algebra.child import algebra
from dgltree.equations.expressions.canonical_form import restates
from dgltree.equations.expressions.names import variables
from dgltree.equations.expressions.paths import only_path
from dgltree.equations.expressions.textbook_order import TextbookOrder
from dgltree.equations.search.arithmetic import agree, value
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.forms import Forms
from dgltree.equations.search.inverse import isolate, solve_for_blank
from dgltree.equations.search.numbers import name_angle, name_number
from dgltree.equations.search.points import CHECK_POINTS, COMPLEX, TABLE_POINTS, Points, points, regions
from dgltree.equations.search.polynomials import degree
from dgltree.equations.search.real_solutions import RealSolutions
from dgltree.equations.search.search_result import SearchResult
from dgltree.equations.search.search_space import SearchSpace, search_space
from dgltree.equations.search.stages import Stages
from dgltree.equations.search.textbook_cost import textbook_cost
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.exact import exact_blank
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.program import rational
from dgltree.read.infix_writer import write_infix
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

BUDGET = 250_000  # values of a table
QUICK = 12_000  # of the first table
MAX_FILLERS = 3000  # fillers found, from which the best are chosen
FIRST_JUDGED = 40  # fillers of which verdicts are asked before more are looked for
BESIDE_ROOTS = 2.0  # seconds for SymPy if all real solutions are known as decimals
MIN_UNSOLVED_DEGREE = 3  # degree of a polynomial from which on its roots have no short expression, mostly
BEARABLE = 5  # cost of a filler that makes longer ways not worth looking for


class Search:
    """Searches fillers for the one blank of an equation.

    Args:
        equation: with one ``BLANK``, at one place or at several.
        budget: how many values a table may have.
        clock: when to stop.
        invert: whether to work out the value of the blank if that can be done.
        verdicts: on fillers of the equation, asked for and remembered.
        unknown: the variable that the blank replaces.
    """

    def __init__(
        self,
        equation: Equation,
        budget: int = BUDGET,
        clock: Clock | None = None,
        invert: bool = True,
        verdicts: Verdicts | None = None,
        unknown: str | None = None,
    ) -> None:
        self.equation, self.budget, self.clock = equation, budget, clock or Clock()
        self.unknown = unknown
        self.world: SearchSpace = search_space(equation)
        self.names = variables(*equation)
        self.path = only_path(equation) if invert else None
        self.solves = invert and self.path is None
        self._order = TextbookOrder(equation)
        self.regions = [*regions()] if self.names else ["mixed", COMPLEX]
        self.fillers: dict[Tree, str] = {}
        self._stages = Stages(self.world, self.clock, self._take)
        self.line: RealSolutions | None = None
        """The real solutions, as far as they were looked for."""
        self.remark = ""  # why nothing was found
        self.roots: list[str] = []
        """Real fillers as decimals, if no expression was found."""
        self._verdicts = verdicts or Verdicts(equation, [BLANK], self.clock)
        self._copies: dict[Tree, bool] = {}

    def run(self) -> SearchResult:
        """Search. Raises ``ValueError`` for a function, a leaf or a side without a value."""
        with np.errstate(all="ignore"):
            for _ in self.steps():
                pass
        return self.so_far()

    def steps(self) -> Iterator[None]:
        """Search, and stop if there may be more fillers than at the last step.

        Call it with numpy's floating-point warnings off. Raises as :meth:`run` does.
        """
        self._numbers()
        if self._cheapest(self.fillers) < math.inf:
            return
        self._check_values()
        if self.unknown is not None and not self.names:
            self._look_at_the_line()
            if self.reason and not self._wants_complex:
                return
        if self.path is not None:
            for tree in filter(self._has_value, isolate(self.equation, self.path)):  # few, so however late it is
                self.fillers.setdefault(self._order(tree), "isolated")
        elif self.solves and not self._all_named:
            self._ask_algebra()
        if self.line is None and not self.names and not self._settled():
            self._look_at_the_line()
        if self.none and self.path is not None:
            self._ask_algebra()  # all complex ones
        yield
        if self._all_taken():
            return
        for region in [COMPLEX] if self.none else self.regions:
            targets = self._targets(points(region, self.names, CHECK_POINTS))
            if targets:
                yield from self._by_value(region, targets)
                if self._settled():
                    break
        if self.clock.late or self.none:
            return
        if not any(map(self._verdicts.likely, self.fillers)):
            if self._degree >= MIN_UNSOLVED_DEGREE:
                self.remark = f"{self.unknown} is a root of a polynomial of degree {self._degree} in the other letters"
                return
            yield from self._by_trial()
        if self.line is not None and (not self._settled() or self.may_have_more or self.line.period is not None):
            self._take_roots(self.line)

    @cached_property
    def _degree(self) -> int:
        """Of the polynomial of which an unknown at several places is a root; 0 if it is none of one."""
        if not (self.solves and self.unknown and self.names):
            return 0
        return degree(self.equation, self.unknown, self.names) or 0

    def _ask_algebra(self) -> None:
        is_known = self._degree >= MIN_UNSOLVED_DEGREE if self.line is None else self.line.has_roots and not self.none
        seconds = BESIDE_ROOTS if is_known else self.clock.to_search
        self._take("solved", algebra().solutions(self.equation, min(seconds, self.clock.to_search)))

    none = property(lambda self: self.line is not None and self.line.none)
    reason = property(lambda self: self.remark if self.line is None else self.line.reason)

    @property
    def _wants_complex(self) -> bool:
        """Whether answers that are not real are looked for where there are no real ones."""
        return self.none and (self.line is None or self.line.is_algebraic or has_imaginary_unit(*self.equation))

    def _look_at_the_line(self) -> None:
        """Find out whether no real number is a filler, or, if an unknown is asked for, what the solutions are."""
        self.line = RealSolutions(self.equation, self.unknown)
        for point in self.line.points:
            self._take("a number", name_number(point))

    @property
    def _all_named(self) -> bool:
        """Whether no other real solutions are to be found, by their names at least."""
        if self.line is None or self.none or not (self.line.isolated.whole or self.line.is_mixed):
            return False
        found = [self._named(float(root)) for root in self.line.roots]
        found += [self._named(x) for x in self.line.isolated.doubtful]
        self._take("a number", [tree for tree in found if tree is not None])
        return self.line.has_roots if self.line.is_mixed else None not in found

    def _all_taken(self) -> bool:
        """Take all real solutions, if they are known to be all, and the unknown is at several places."""
        line = self.line
        if line is None or self.none or not self.solves or not (line.isolated.whole or line.is_mixed):
            return False
        self._take_roots(line)
        return bool(line.all_known or self.roots or self._settled())

    def _named(self, root: float) -> Tree | None:
        angles = name_angle(root) if self.line is not None and self.line.period is not None else ()
        return next((tree for tree in (*name_number(root), *angles) if self._verdicts.holds(tree)), None)

    def _take_roots(self, line: RealSolutions) -> None:
        """Real fillers: by their names, or else as decimals."""
        if line.all_known and not has_imaginary_unit(*self.equation):
            # three real roots of a cubic are decimals rather than roots of complex numbers
            self.fillers = {tree: source for tree, source in self.fillers.items() if not has_imaginary_unit(tree)}
        at, known = points(COMPLEX, [], 1), list[complex]()
        for tree in filter(self._verdicts.holds, list(self.fillers)):
            number = complex(value(tree, at, {}).flat[0])
            if line.is_periods_from(number.real, known):
                del self.fillers[tree]  # 3*pi/2 next to -pi/2
            known.append(number)
        for root in line.roots:
            if not line.is_known(float(root), known):
                written = self._named(float(root))
                self.roots += [] if written else [root]
                self._take("a number", [written] if written else [])

    @property
    def may_have_more(self) -> bool:
        """Whether there may be other real solutions than those that were found."""
        return self.line is not None and self.unknown is not None and self.line.may_have_more(self.path is not None)

    def so_far(self) -> SearchResult:
        """The results so far."""
        line, stages = self.line, self._stages
        period = None if line is None or self.unknown is None else line.period_of_solutions
        return SearchResult(
            self.fillers, stages.tried, self.clock.late, stages.memory, self.reason, period, self.may_have_more
        )

    def _settled(self) -> bool:
        """Whether a filler holds that does not restate a side, or the clock has run out."""
        return self._cheapest(self.fillers) < math.inf or self.clock.late

    def _cheapest(self, fillers: Iterable[Tree]) -> float:
        """The cost of the plainest filler that holds and restates no side; without bound if there is none."""
        asked = 0
        for tree in sorted(fillers, key=textbook_cost):
            asked += tree not in self._copies
            if not self._is_copy(tree) and self._verdicts.holds(tree):
                return textbook_cost(tree)
            if asked >= FIRST_JUDGED or self.clock.late:
                break
        return math.inf

    def _is_copy(self, tree: Tree) -> bool:
        """Whether a filler has a side of the equation in it, at most rearranged."""
        if tree not in self._copies:
            self._copies[tree] = any(restates(tree, side) for side in self.equation)
        return self._copies[tree]

    def _take(self, source: str, trees: Iterable[Tree]) -> None:
        for tree in trees:
            self.fillers.setdefault(self._order(tree), source)
            if len(self.fillers) >= MAX_FILLERS or self.clock.late:
                return

    def _check_values(self) -> None:
        for side in self.equation:
            if any(node == BLANK for node in side.distinct()):
                continue
            if not self.clock.late and not self._has_value(side):
                raise ValueError(f"{_short(side)} has no value: it divides by zero, or is too large or too small")

    def _has_value(self, tree: Tree) -> bool:
        """Whether a tree has a finite value at any point."""
        return any(
            np.isfinite(value(tree, points(region, self.names, CHECK_POINTS), {})).any() for region in self.regions
        )

    def _numbers(self) -> None:
        """Take the results of exact arithmetic."""
        if self.names or self.path is None:
            return
        number = exact_blank(self.equation, self.path)
        if number is None and BLANK in self.equation:
            number = rational(self.equation[1 - self.path.side])
        if number is not None:
            self._take("a number", [*self._stages.decimal(number), fraction(number)])

    def _targets(self, many: Points) -> list[Array]:
        """Values (MORE,) that the blank may have; none if they cannot be worked out."""
        if self.path is None:
            return []
        branches = (
            np.broadcast_to(branch, (CHECK_POINTS,)) for branch in solve_for_blank(self.equation, self.path, many, {})
        )
        return [branch for branch in branches if np.isfinite(branch).all() and self._solves(branch, many)]

    def _solves(self, target: Array, at: Points) -> bool:
        left, right = (value(side, at, {BLANK: target}) for side in self.equation)
        return bool(agree(left, right))

    def _by_value(self, region: str, targets: list[Array]) -> Iterator[None]:
        """Ever more work for an expression of a value, until one of a bearable length holds."""
        few, many = (points(region, self.names, count) for count in (TABLE_POINTS, CHECK_POINTS))
        stages = self._stages
        table = stages.table(few, self.world.operations(every=False), min(QUICK, self.budget))
        forms = Forms(table)
        for stage in (stages.short,) if self.none else (stages.short, stages.joined, stages.wrapped):
            for target in targets:
                stage(target, table, forms, many)
                if self.clock.late:
                    break
            yield
            if self._cheapest(self.fillers) <= BEARABLE or self.clock.late:
                return

    def _by_trial(self) -> Iterator[None]:
        """Each entry put into the blank, of a small table in each region and of large ones in the first."""
        small = min(QUICK, self.budget)
        large = [(self.budget, False), (self.budget, True)] if self.names else []  # of numbers roots tell more
        for size, every in ((small, False), *large):
            for region in self.regions if size == small else self.regions[:1]:
                few = points(region, self.names, TABLE_POINTS)
                table = self._stages.table(few, self.world.operations(every), size)
                self._stages.try_all(self.equation, table, few)
                yield
                if self._settled():
                    return


def _short(tree: Tree) -> str:
    text = write_infix(tree)
    return text if len(text) <= 60 else f"{text[:50]} ..."
