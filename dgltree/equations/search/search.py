"""The search for fillers of a blank goes from short to long, until some hold, or a budget or a clock is spent.

An equation with several blanks gets short expressions for all but one, and for that one what it is then worth.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from dgltree.equations.algebra.client import algebra
from dgltree.equations.expressions.canonical_form import restates
from dgltree.equations.expressions.textbook_order import TextbookOrder
from dgltree.equations.expressions.variables import count_blanks, find_blank, only_path, variables
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.inverse import isolate, loses_values, solve_for_blank
from dgltree.equations.search.numbers import name_complex, ratio
from dgltree.equations.search.points import (
    CHECK_POINTS,
    COMPLEX,
    TABLE_POINTS,
    Points,
    agree,
    points,
    regions,
    rows_at_once,
    value,
)
from dgltree.equations.search.root_forms import RootForms, write_period
from dgltree.equations.search.search_space import SearchSpace, search_space
from dgltree.equations.search.stages import Stages
from dgltree.equations.search.table import Forms, ValueTable
from dgltree.equations.search.textbook_cost import textbook_cost
from dgltree.equations.search.verdicts import Fillers, Verdicts
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.exact import exact_blank
from dgltree.equations.truth.identities.field_extension import Again, Units
from dgltree.equations.truth.identities.proof import difference
from dgltree.equations.truth.identities.rational_functions import NoValue, Region, TooLarge
from dgltree.equations.truth.imaginary import has_imaginary_unit
from dgltree.equations.truth.program import rational
from dgltree.equations.truth.solutions.solutions import Extraneous, Root, Solutions
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Domain
from dgltree.read.infix_writer import write_infix
from dgltree.support.lazy import cached_property
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

BUDGET = 250_000  # values of a table
QUICK = 12_000  # of the first table
MAX_FILLERS = 3000  # fillers found, from which the best are chosen
FIRST_JUDGED = 40  # fillers of which verdicts are asked before more are looked for
MIN_UNSOLVED_DEGREE = 3  # degree of a polynomial from which on its roots have no short expression, mostly
SHOWN_EXTRANEOUS = 3
BEARABLE = 5  # cost of a filler that makes longer ways not worth looking for
TRIED = 60_000  # combinations of expressions for several blanks
SHORTEST = 400  # solutions for several blanks that are judged
MAX_LEVEL = 10  # level of a table for several blanks


class SearchResult(NamedTuple):
    """The result of a search."""

    fillers: dict[Tree, str]
    """Filler to where it comes from."""
    tried: int
    """Expressions whose values were looked at."""
    stopped: bool
    """Whether the clock ended it."""
    memory: int
    """Bytes of the largest table."""
    reason: str = ""
    """Why there are none, or that no real number is one."""
    period: Tree | None = None
    """The number of which each whole multiple may be added to a solution."""
    more: bool = False
    """Whether there may be other real solutions than those that were found."""
    extraneous: tuple[str, ...] = ()
    """Real numbers that solve the equation by its rules, but at which a part is not real, with the part."""


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
        self.equation = equation
        self.budget = budget
        self.clock = clock or Clock()
        self.unknown = unknown
        self.world: SearchSpace = search_space(equation)
        self.names = variables(*equation)
        self.path = only_path(equation) if invert else None
        self.solves = invert and self.path is None
        self._order = TextbookOrder(equation)
        self.regions = [*regions()] if self.names else ["mixed", COMPLEX]
        self.fillers: dict[Tree, str] = {}
        self._stages = Stages(self.world, self.clock, self._take)
        self.solutions: Solutions | None = None
        """The real solutions, if they were looked for."""
        self.remark = ""  # why nothing was found
        self._verdicts = verdicts or Verdicts(equation, [BLANK], self.clock, unknown)
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
            self._solve()
            if self.roots or (self.reason and not self._wants_complex) or self._takes_complex_pairs():
                return
        if self.path is not None:
            for tree in filter(self._has_value, self.isolated):  # few, so however late it is
                self.fillers.setdefault(self._order(tree), "isolated")
        elif self.solves:
            self._take("solved", algebra().solutions(self.equation, self.clock.to_search))
        if self.solutions is None and not self.names and not self._settled():
            self._solve()
        if self.none and self.path is not None:
            self._take("solved", algebra().solutions(self.equation, self.clock.to_search))  # all complex ones
        yield
        for region in [COMPLEX] if self.none else self.regions:
            targets = self._targets(points(region, self.names, CHECK_POINTS))
            if targets:
                yield from self._by_value(region, targets)
                if self._settled():
                    break
        if self.clock.late or self.none:
            return
        if not any(map(self._verdicts.likely, self.fillers)) and not self.roots:
            if self._degree >= MIN_UNSOLVED_DEGREE:
                polynomial = f"a polynomial of degree {self._degree} whose coefficients have the other letters"
                self.remark = f"{self.unknown} is a root of {polynomial}"
                return
            formulas = [tree for tree, source in self.fillers.items() if source in ("isolated", "solved")]
            if self.unknown is not None and any(map(self._verdicts.holds_on_a_part, formulas)):
                return
            yield from self._by_trial()

    @cached_property
    def _degree(self) -> int:
        """The degree of the polynomial of which an unknown at several places is a root; 0 if it is none of one."""
        if not (self.solves and self.unknown and self.names):
            return 0
        return degree(self.equation, self.unknown, self.names) or 0

    @cached_property
    def _has_many_inverses(self) -> bool:
        """Whether the principal inverses of the path to the blank lose values: cos(x - y) is also cos(_) of x - y.

        Then each entry of a table is compared by the value that it gives the equation, not with a value of the blank.
        """
        return self.path is not None and any(loses_values(node, slot) for node, slot in self.path.steps)

    @property
    def isolated(self) -> list[Tree]:
        """The values of the blank by inverse functions; whether they hold is not known."""
        return [] if self.path is None else isolate(self.equation, self.path)

    @property
    def none(self) -> bool:
        """Whether it is proved that no real number is a filler."""
        return self.solutions is not None and self.solutions.are_none

    @property
    def roots(self) -> tuple[Root, ...]:
        """The real solutions that are known by their values."""
        return () if self.solutions is None else self.solutions.roots

    @property
    def reason(self) -> str:
        """Why there is no filler, that none is real, or that they are not single numbers."""
        if self.none and self.solutions is not None:
            return self.solutions.none
        if self.unknown is None or self.solutions is None or not self.solutions.intervals:
            return self.remark
        every = self.solutions.every
        assert every is not None
        if every.domain is Domain.REALS and not every.conditions:
            return f"every {self.unknown} is a solution: {every.short}"
        return f"not single numbers: {every.short}"

    @property
    def _wants_complex(self) -> bool:
        """Whether answers that are not real are looked for where there are no real ones."""
        return self.solutions is not None and self.none and bool(self.solutions.polynomials)

    @property
    def extraneous(self) -> tuple[Extraneous, ...]:
        """Real numbers at which a part of the equation is not real."""
        return () if self.solutions is None else self.solutions.extraneous

    def _takes_complex_pairs(self) -> bool:
        """Whether the solutions are the roots of quadratic polynomials, which are taken."""
        polynomials = [] if self.solutions is None else self.solutions.polynomials
        if not polynomials or any(len(p) != 3 or p[1] ** 2 >= 4 * p[0] * p[2] for p in polynomials):
            return False
        for c, b, a in polynomials:
            size = math.sqrt(4 * a * c - b * b) / (2 * abs(a))
            for z in (complex(-b / (2 * a), size), complex(-b / (2 * a), -size)):
                self._take("solved", name_complex(z))
        return bool(self.fillers)

    def _solve(self) -> None:
        """Look for the real solutions; there are none to show if the time is over first."""
        name = self.unknown or "x"
        variable = Tree("Symbol", token=name)
        equation = Equation(*(substitute(side, {BLANK: variable}) for side in self.equation))
        self.solutions = self.clock.in_time(lambda: solve(equation, name))

    @property
    def may_have_more(self) -> bool:
        """Whether there may be other real solutions than those that were found."""
        if self.unknown is None or self.reason or self.solutions is None:
            return False
        return not self.solutions.are_all and not has_imaginary_unit(*self.equation)

    @property
    def _period(self) -> Tree | None:
        """The number of which each whole multiple may be added to a solution."""
        turn = None if self.solutions is None or self.unknown is None else self.solutions.period
        return None if turn is None or self.reason else write_period(turn)

    def so_far(self) -> SearchResult:
        """The results so far."""
        stages = self._stages
        return SearchResult(
            self.fillers, stages.tried, self.clock.late, stages.memory, self.reason, self._period, self.may_have_more,
            self._extraneous_texts,
        )  # fmt: skip

    @cached_property
    def _extraneous_texts(self) -> tuple[str, ...]:
        if self.solutions is None or self.unknown is None or self.solutions.intervals:
            return ()
        forms = RootForms(self.solutions, self.equation)
        return tuple(
            f"{self.unknown} = {write_infix(forms.plainest(Root(one.number)))} is no solution: {one.reason}"
            for one in self.extraneous[:SHOWN_EXTRANEOUS]
        )

    def _settled(self) -> bool:
        """Whether a filler holds that does not restate a side, or the clock has run out."""
        return self._cheapest(self.fillers) < math.inf or self.clock.late

    def _lists_all(self) -> bool:
        """Whether no solution is known, at drawn letters, that the plainest fillers lack: -sqrt(-k) of z*|z| = k."""
        drawn = self._verdicts.drawn
        plainest = sorted(self.fillers, key=textbook_cost)[:FIRST_JUDGED]
        if drawn is None:
            return True
        return not self.clock.in_time(lambda: drawn.missing(list(filter(self._verdicts.holds, plainest))))

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
                raise Refusal(f"{_short(side)} has no value: it divides by zero, or is too large or too small")

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
        if self._has_many_inverses:
            stages.try_all(self.equation, table, few)
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
                if self.clock.late or (self._settled() and self._lists_all()):
                    return
            if self._settled():
                return


def _short(tree: Tree) -> str:
    text = write_infix(tree)
    return text if len(text) <= 60 else f"{text[:50]} ..."


def degree(equation: Equation, unknown: str, names: Sequence[str]) -> int | None:
    """The least degree of an irreducible polynomial of which a solution is a root; None if it is none of one.

    Args:
        equation: with the blank in the place of the unknown.
        unknown: its variable.
        names: of the other variables.
    """
    variable = Tree("Symbol", token=unknown)
    asked = Equation(*(substitute(side, {BLANK: variable}) for side in equation))
    try:
        found = difference(asked, [unknown, *names], Region("complex"), Units())
        places = [found.translation.ring.involved(value.num)[0] for value in found.kernels.variables.values()]
        if not set(found.translation.ring.involved(found.value.num)) <= set(places):
            return None
        factors = found.value.num.factor()[1]
    except (Again, TooLarge, NoValue, ArithmeticError, RecursionError):
        return None
    degrees = [int(factor.degrees()[places[0]]) for factor, _ in factors]
    return min(filter(None, degrees), default=None)


class MultiBlankResult(NamedTuple):
    """Solutions, the shortest first."""

    fillers: list[Fillers]
    tried: int
    stopped: bool
    memory: int


def search_multi_blank(
    equation: Equation,
    blanks: Sequence[Tree],
    budget: int,
    clock: Clock | None = None,
    verdicts: Verdicts | None = None,
) -> MultiBlankResult:
    """Fillers for two blanks or more. Raises ``ValueError`` for a function or a leaf without a value."""
    tried = 0
    memory = 0
    clock = clock or Clock()
    verdicts = verdicts or Verdicts(equation, blanks, clock)
    found: list[Fillers] = []
    # The blank whose value is worked out has to occur once.
    last = next((blank for blank in reversed(blanks) if count_blanks(equation, blank) == 1), None)
    with np.errstate(all="ignore"):
        for region in regions():
            at = points(region, variables(*equation), TABLE_POINTS)
            search = _Combinations(equation, blanks, last, at, budget, clock)
            candidates = sorted(dict.fromkeys(search.run()), key=_rank)
            tried += search.tried
            memory = max(memory, search.table.nbytes)
            found = [fillers for fillers in candidates[:SHORTEST] if verdicts.likely(*fillers)]
            if found or clock.late:
                break
    return MultiBlankResult(found, tried, clock.late, memory)


def _rank(fillers: Fillers) -> tuple[bool, int]:
    """Numbers first, which blanks of partial fractions and coefficients ask for; then the shortest."""
    return bool(variables(*fillers)), sum(map(symbols, fillers))


class _Combinations:
    """The search at the points of one region.

    Args:
        last: the blank whose value is worked out; None if each occurs several times.
    """

    def __init__(
        self, equation: Equation, blanks: Sequence[Tree], last: Tree | None, at: Points, budget: int, clock: Clock
    ) -> None:
        self.equation = equation
        self.blanks = blanks
        self.last = last
        self.at = at
        self.clock = clock
        about = search_space(equation)
        self.table = ValueTable(about.leaves(at), about.operations(every=False), min(QUICK, budget), clock).fill(
            MAX_LEVEL
        )
        self.forms = Forms(self.table)
        self.chosen = [blank for blank in blanks if blank != last]
        self.first = max(2, min(len(self.table), int(min(TRIED, budget) ** (1 / len(self.chosen)))))
        self.tried = 0

    def run(self) -> Iterator[Fillers]:
        """Solutions at the points."""
        path = None if self.last is None else find_blank(self.equation, self.last)
        for block in self._blocks():
            self.tried += len(block)
            known = {blank: self.table.values[block[:, k]] for k, blank in enumerate(self.chosen)}
            if path is None:
                left, right = (value(side, self.at, known) for side in self.equation)
                for row in np.flatnonzero(np.broadcast_to(agree(left, right), len(block))):
                    if self.clock.late:
                        return
                    yield self._filled(block[row].tolist(), None)
            else:
                for target in solve_for_blank(self.equation, path, self.at, known):
                    yield from self._looked_up(block, np.broadcast_to(target, (len(block), TABLE_POINTS)))
            if self.clock.late:
                return

    def _blocks(self) -> Iterator[Array]:
        """(K, chosen blanks) entries, the shortest of the first blank first."""
        rest = np.array(list(product(range(self.first), repeat=len(self.chosen) - 1)), np.int64)
        most = rows_at_once(self.equation)
        rows = max(1, most // len(rest))
        for start in range(0, self.first, rows):
            here = np.arange(start, min(start + rows, self.first))
            block = np.concatenate([np.repeat(here, len(rest))[:, None], np.tile(rest, (len(here), 1))], 1)
            yield from (block[at : at + most] for at in range(0, len(block), most))

    def _looked_up(self, block: Array, target: Array) -> Iterator[Fillers]:
        which, entries = self.table.lookup(target)
        for row, entry in zip(which.tolist(), entries.tolist(), strict=True):
            if self.clock.late:
                return
            yield self._filled(block[row].tolist(), self.forms.shortest(entry))
        flat = (np.abs(target - target[:, :1]) <= 1e-11 * np.abs(target[:, :1]) + 1e-13).all(1)
        for row in np.flatnonzero(flat):  # a number that the table lacks
            if self.clock.late:
                return
            exact = ratio(float(np.real(target[row, 0])), 1000)
            if exact is not None:
                yield self._filled(block[row].tolist(), fraction(exact))

    def _filled(self, entries: list[int], last: Tree | None) -> Fillers:
        trees = dict(zip(self.chosen, map(self.forms.shortest, entries), strict=True))
        if self.last is not None and last is not None:
            trees[self.last] = last
        return tuple(trees[blank] for blank in self.blanks)
