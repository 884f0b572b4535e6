"""The real solutions of an equation for one unknown, as far as they are known before anything is searched."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

from dgltree.equations.search import written_operations
from dgltree.equations.search.numbers import multiples
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.isolation import Isolation, isolation
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.periods import CIRCULAR, PI, Period, period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.real_roots import bisect_root, real_roots
from dgltree.equations.truth.verdict import Domain, Grade
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

NONE = "there is no real solution (proved)"


class RealSolutions:
    """Of one equation.

    Args:
        equation: with the blank, and without other variables.
        unknown: the variable that the blank replaces; None if a blank was asked for, whose fillers need not be all.
    """

    def __init__(self, equation: Equation, unknown: str | None) -> None:
        self.name = unknown or "x"
        variable = Tree("Symbol", token=self.name)
        self.equation = Equation(*(substitute(side, {BLANK: variable}) for side in equation))
        self.none, self.reason = False, ""
        """Whether it is proved that there are none; what is known of all."""
        self.points: list[float] = []
        """Solutions that are single numbers."""
        self._complete = False
        verdict = Judge().verdict(self.equation)
        if verdict.domain is Domain.NONE and verdict.only:
            self.none, self.reason = True, NONE
        elif unknown is not None and verdict.grade is Grade.PROVED:
            self._complete = verdict.only
            if verdict.domain is Domain.EVERYWHERE:
                self.reason = f"every {unknown} is a solution: {verdict.short}"
            elif not all(part.is_point for part in verdict.part):
                self.reason = f"not single numbers: {verdict.short}"
            self.points = [part.low.value for part in verdict.part if part.is_point and part.low is not None]

    @property
    def is_algebraic(self) -> bool:
        """Whether the unknown is in sums, products and powers with rational exponents alone."""
        return all(map(_is_algebraic, self.equation))

    @property
    def is_mixed(self) -> bool:
        """Whether the unknown is inside a function and outside of functions: a solution rarely has an expression."""
        inside, outside = zip(*map(_places, self.equation), strict=True)
        return any(inside) and any(outside)

    @cached_property
    def isolated(self) -> Isolation:
        return Isolation([], [], False) if self._program is None else isolation(self.equation, self._program)

    @property
    def all_known(self) -> bool:
        """Whether all real solutions are known, as points or between two numbers; or all of one period."""
        return self._complete or (self.isolated.whole and not self.isolated.doubtful)

    @cached_property
    def period(self) -> Period | None:
        """That of the solutions."""
        return period(self.equation)

    @property
    def has_roots(self) -> bool:
        """Whether there are some between two numbers, or all are known."""
        return self.all_known or bool(self.isolated.brackets)

    @property
    def period_of_solutions(self) -> Tree | None:
        """Of which each whole multiple may be added to a solution."""
        if self.period is None or self.none or self.reason:
            return None
        unit = PI if self.period.power == 1 else written_operations.power(PI, fraction(Fraction(self.period.power)))
        return next(multiples(self.period.factor, unit)) if self.period.power else fraction(self.period.factor)

    def may_have_more(self, inverted: bool) -> bool:
        """Whether there may be others than those that were found, by inverse functions alone or otherwise."""
        circular = any(node.function in CIRCULAR for side in self.equation for node in side.distinct())
        known = inverted and (not circular or self.period is not None)
        return not (self.reason or known or self.all_known)

    @cached_property
    def roots(self) -> list[str]:
        """As decimals of 12 digits: all of them, or those that a grid shows; of periodic ones those next to 0."""
        if self._program is None:
            return []
        isolated = [bisect_root(self._program, self.name, *bracket) for bracket in self.isolated.brackets]
        if self.period is not None:
            isolated = [_next_to_0(root, self.period.value) for root in isolated]
        found = isolated if self.isolated.whole else [*isolated, *real_roots(self._program, self.name)]
        return sorted(dict.fromkeys(found), key=float)

    def is_periods_from(self, root: float, others: Sequence[complex]) -> bool:
        """Whether a root is one or more periods from another number, and not among them."""
        return self.is_known(root, others) and not any(_same(root, other, None) for other in others)

    def is_known(self, root: float, others: Iterable[complex]) -> bool:
        """Whether a root is among other numbers, or a number of periods from one."""
        turn = None if self.period is None else self.period.value
        return any(_same(root, other, turn) for other in others)

    @cached_property
    def _program(self) -> Program | None:
        try:
            return Program(self.equation, school=True)
        except Unjudged:
            return None


def _next_to_0(root: str, turn: float) -> str:
    """The root from -turn/2, which is left out, to turn/2."""
    x = float(root)
    return f"{x - turn:.12g}" if x > turn / 2 * (1 + 1e-9) else root


def _same(a: float, b: complex, turn: float | None) -> bool:
    if turn is not None:
        b -= round((b.real - a) / turn) * turn
    return abs(a - b) <= 1e-9 * max(1.0, abs(b))


def _is_algebraic(tree: Tree) -> bool:
    return all(
        not node.children or node.function in ("Add", "Mul") or (node.function == "Pow" and exact(node.children[1]))
        for node in tree.distinct()
    )


def _places(tree: Tree) -> tuple[bool, bool]:
    """Whether a variable is inside a function, and whether one is outside of all."""

    def of(node: Tree, parts: list[tuple[bool, bool]]) -> tuple[bool, bool]:
        if not parts:
            return False, node.function == "Symbol"
        inside, outside = (any(one) for one in zip(*parts, strict=True))
        plain = node.function in ("Add", "Mul") or (node.function == "Pow" and exact(node.children[1]) is not None)
        return (inside, outside) if plain else (inside or outside, False)

    return tree.fold(of)
