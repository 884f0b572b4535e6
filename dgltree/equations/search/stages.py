"""Expressions of a value that a blank must have, stage by stage, from a table of what the equation's world has."""

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from dgltree.equations.search import finders
from dgltree.equations.search.arithmetic import agree, rows_at_once, value
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.fit import fit_sums
from dgltree.equations.search.forms import Forms
from dgltree.equations.search.numbers import complex_constant, decimal, name_complex, name_number
from dgltree.equations.search.operations import Operations
from dgltree.equations.search.points import TABLE_POINTS, Points
from dgltree.equations.search.search_space import SearchSpace
from dgltree.equations.search.table import ValueTable
from dgltree.equations.truth.elementary import Array
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

LOOKED_THROUGH = 16_000  # entries that are joined with others
MOST_OF_A_TABLE = 40  # entries of a part of a table that are taken


class Stages:
    """Hands what it finds to ``take``, with where it comes from.

    Args:
        world: of the equation.
        clock: after which no stage begins.
        take: of a source and fillers.
    """

    def __init__(self, world: SearchSpace, clock: Clock, take: Callable[[str, Iterable[Tree]], None]) -> None:
        self.world, self.clock, self._take = world, clock, take
        self.tried = self.memory = 0
        """Expressions whose values were looked at, and bytes of the largest table."""

    def decimal(self, number: float | Fraction) -> list[Tree]:
        """A number as a decimal, in an equation that has decimals."""
        if not -1e15 < number < 1e15:
            return []
        written = decimal(float(number)) if any(tree.function == "Float" for tree in self.world.numbers) else None
        return [] if written is None else [written]

    def table(self, at: Points, operations: Operations, budget: int) -> ValueTable:
        """The expressions of the equation's world, short ones first."""
        table = ValueTable(self.world.leaves(at), operations, budget, self.clock).fill()
        self.tried += table.tried
        self.memory = max(self.memory, table.nbytes)
        return table

    def short(self, target: Array, table: ValueTable, forms: Forms, many: Points) -> None:
        """A number, an entry, an entry and a number, a fitted sum."""
        few = target[:TABLE_POINTS]
        number = finders.constant(target)
        if number is not None:
            self._take("a number", [*self.decimal(number), *name_number(number)])
        elif (not_real := complex_constant(target)) is not None:
            self._take("a number", name_complex(not_real))
        self._take("search", finders.entries(few, table, forms))
        if number is None:
            self._fit(target, many, lambda tree: tree)
            self._take("an expression and a number", finders.with_number(few, table, forms, LOOKED_THROUGH))

    def joined(self, target: Array, table: ValueTable, forms: Forms, many: Points) -> None:
        """Two entries."""
        self._take("two expressions", finders.pairs(target[:TABLE_POINTS], table, forms, LOOKED_THROUGH))

    def wrapped(self, target: Array, table: ValueTable, forms: Forms, many: Points) -> None:
        """A function of an entry, of two entries or of a fitted sum."""
        names = ["square", "sqrt", "reciprocal", *(name for name in table.operations.unary if name in finders.WRAPS)]
        for name in dict.fromkeys(names):
            wrap = finders.WRAPS[name]
            inner = wrap.argument(target)
            if not np.isfinite(inner).all() or self.clock.late:
                continue
            few = inner[:TABLE_POINTS]
            self._take("search", map(wrap.written, finders.entries(few, table, forms)))
            self._take("two expressions", map(wrap.written, finders.pairs(few, table, forms, LOOKED_THROUGH, 8)))
            self._fit(inner, many, wrap.written)

    def _fit(self, target: Array, many: Points, written: Callable[[Tree], Tree]) -> None:
        for generators in [] if self.clock.late else self.world.generators(many):
            self._take("a fitted sum", map(written, fit_sums(target, generators)))

    def try_all(self, equation: Equation, table: ValueTable, few: Points) -> None:
        """Each entry put into the blank."""
        forms, rows = Forms(table), rows_at_once(equation)
        for start in range(0, len(table), rows):
            values = table.values[start : start + rows]
            left, right = (value(side, few, {BLANK: values}) for side in equation)
            self.tried += len(values)
            for entry in np.flatnonzero(np.broadcast_to(agree(left, right), len(values)))[:MOST_OF_A_TABLE].tolist():
                self._take("search", forms.of(start + entry, finders.MOST_FORMS))
            if self.clock.late:
                return
