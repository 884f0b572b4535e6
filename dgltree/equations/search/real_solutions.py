"""What is known of the real solutions of an equation for one unknown before anything is searched."""

from functools import cached_property

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.isolation import Isolation, isolation
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.real_roots import isolated_root, real_roots
from dgltree.equations.truth.verdict import Domain, Grade
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

NONE = "there is no real solution (proved)"


class RealSolutions:
    """Of one equation.

    Args:
        equation: with the blank, and without other variables.
        unknown: the variable that the blank replaces; None where a blank was asked for, whose fillers need not be all.
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
        return Isolation([], False) if self._program is None else isolation(self.equation, self._program)

    @property
    def all_known(self) -> bool:
        """Whether all real solutions are known, as points or between two numbers."""
        return self._complete or self.isolated.whole

    @cached_property
    def roots(self) -> list[str]:
        """As decimals of 12 digits: all of them, or those that a grid shows."""
        if self._program is None:
            return []
        if self.isolated.whole:
            return [isolated_root(self._program, self.name, *bracket) for bracket in self.isolated.brackets]
        return real_roots(self._program, self.name)

    @cached_property
    def _program(self) -> Program | None:
        try:
            return Program(self.equation, school=True)
        except Unjudged:
            return None


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
