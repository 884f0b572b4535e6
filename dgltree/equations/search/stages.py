"""Expressions of a value that a blank must have are found stage by stage, from a table of the equation's search space.

A value may be a number, an entry of the table, two entries joined, a fitted sum, or a function of one of these.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dgltree.equations.search import written_operations
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.inverse import arguments
from dgltree.equations.search.numbers import (
    complex_constant,
    constant,
    decimal,
    multiples,
    name_complex,
    name_number,
    ratio,
)
from dgltree.equations.search.points import TABLE_POINTS, Points, agree, rows_at_once, value
from dgltree.equations.search.search_space import SearchSpace, fit_sums
from dgltree.equations.search.table import Forms, Operations, ValueTable
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.read.functions import RECORDS
from dgltree.read.notation import EXP1, HALF
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

LOOKED_THROUGH = 16_000  # entries that are joined with others
MOST_OF_A_TABLE = 40  # entries of a part of a table that are taken
MOST_FORMS = 24  # of one entry
PAIRS = 24  # pairs of entries that are written for each operation, the shortest


class Stages:
    """Hands what it finds to ``take``, with where it comes from.

    Args:
        world: of the equation.
        clock: after which no stage begins.
        take: of a source and fillers.
    """

    def __init__(self, world: SearchSpace, clock: Clock, take: Callable[[str, Iterable[Tree]], None]) -> None:
        self.world = world
        self.clock = clock
        self._take = take
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
        number = constant(target)
        if number is not None:
            self._take("a number", [*self.decimal(number), *name_number(number)])
        elif (not_real := complex_constant(target)) is not None:
            self._take("a number", name_complex(not_real))
        self._take("search", entries(few, table, forms))
        if number is None:
            self._fit(target, many, lambda tree: tree)
            self._take("an expression and a number", with_number(few, table, forms, LOOKED_THROUGH))

    def joined(self, target: Array, table: ValueTable, forms: Forms, many: Points) -> None:
        """Two entries."""
        self._take("two expressions", pairs(target[:TABLE_POINTS], table, forms, LOOKED_THROUGH))

    def wrapped(self, target: Array, table: ValueTable, forms: Forms, many: Points) -> None:
        """A function of an entry, of two entries or of a fitted sum."""
        names = ["square", "sqrt", "reciprocal", *(name for name in table.operations.unary if name in WRAPS)]
        for name in dict.fromkeys(names):
            wrap = WRAPS[name]
            inner = wrap.argument(target)
            if not np.isfinite(inner).all() or self.clock.late:
                continue
            few = inner[:TABLE_POINTS]
            self._take("search", map(wrap.written, entries(few, table, forms)))
            self._take("two expressions", map(wrap.written, pairs(few, table, forms, LOOKED_THROUGH, 8)))
            self._fit(inner, many, wrap.written)

    def _fit(self, target: Array, many: Points, written: Callable[[Tree], Tree]) -> None:
        for generators in [] if self.clock.late else self.world.generators(many):
            self._take("a fitted sum", map(written, fit_sums(target, generators)))

    def try_all(self, equation: Equation, table: ValueTable, few: Points) -> None:
        """Each entry put into the blank."""
        forms = Forms(table)
        rows = rows_at_once(equation)
        for start in range(0, len(table), rows):
            values = table.values[start : start + rows]
            left, right = (value(side, few, {BLANK: values}) for side in equation)
            self.tried += len(values)
            for entry in np.flatnonzero(np.broadcast_to(agree(left, right), len(values)))[:MOST_OF_A_TABLE].tolist():
                self._take("search", forms.of(start + entry, MOST_FORMS))
            if self.clock.late:
                return


def entries(target: Array, table: ValueTable, forms: Forms) -> Iterator[Tree]:
    """Entries of the value."""
    for entry in table.lookup(target[None])[1].tolist():
        yield from forms.of(entry, MOST_FORMS)


def with_number(target: Array, table: ValueTable, forms: Forms, first: int) -> Iterator[Tree]:
    """A number times one of the first entries, a number added to one, or a number for an exponent."""
    values = table.values[:first]
    for difference, join in (
        (target / values, _scaled),
        (target - values, _shifted),
        (_exponent(target, values), _raised),
    ):
        flat = np.abs(difference - difference[:, :1]) <= 1e-10 * np.abs(difference[:, :1])
        for entry in np.flatnonzero(flat.all(1) & (np.abs(difference[:, 0]) > 1e-9))[:PAIRS].tolist():
            if entry not in table.numbers and (number := constant(difference[entry])) is not None:
                yield from join(number, forms.shortest(entry))


def pairs(target: Array, table: ValueTable, forms: Forms, first: int, most: int = PAIRS) -> Iterator[Tree]:
    """One of the first entries joined with another by an operation, the shortest pairs of each operation first."""
    if constant(target) is not None:
        return  # x - (x - 3), and thousands more
    values = table.values[:first]
    around = table.made_of(table.lookup(target[None])[1])  # x + (y - x), if y is wanted
    ways = (
        ("add", target - values, False),
        ("sub", target + values, True),
        ("mul", target / values, False),
        ("div", target * values, True),
        ("pow", _exponent(target, values), False),
    )
    for name, others, other_first in ways:
        which, entry = table.lookup(others)
        if name == "add":
            half = which <= entry
            which = which[half]
            entry = entry[half]
        useful = ~(around[which] | around[entry])
        which = which[useful]
        entry = entry[useful]
        plain = np.array(
            [not table.numbers.keys() & {a, b} for a, b in zip(which.tolist(), entry.tolist(), strict=True)], bool
        )
        which = which[plain]
        entry = entry[plain]
        order = np.argsort(table.level[which].astype(int) + table.level[entry], kind="stable")[:most]
        for a, b in zip(which[order].tolist(), entry[order].tolist(), strict=True):
            left, right = (b, a) if other_first else (a, b)
            for x in forms.of(left, 2):
                for y in forms.of(right, 2):
                    yield written_operations.BINARY[name](x, y)
                    if name in ("add", "mul"):
                        yield written_operations.BINARY[name](y, x)


def _exponent(target: Array, values: Array) -> Array:
    exponent: Array = np.log(target) / np.log(values)
    return exponent


def _scaled(number: float, tree: Tree) -> Iterator[Tree]:
    for factor in name_number(number):
        if factor != written_operations.ONE:
            yield written_operations.multiply(factor, tree)
    exact = ratio(number, 60)
    if exact is not None and exact.denominator > 1:
        yield from multiples(exact, tree)


def _shifted(number: float, tree: Tree) -> Iterator[Tree]:
    for term in name_number(number):
        yield written_operations.add(tree, term)
        yield written_operations.add(term, tree)


def _raised(number: float, tree: Tree) -> Iterator[Tree]:
    exact = ratio(number, 24)
    if exact is not None and exact not in (0, 1):
        yield written_operations.power(tree, fraction(exact))
        if exact < 0 and exact != -1:
            yield written_operations.divide(written_operations.ONE, written_operations.power(tree, fraction(-exact)))


class Wrap(NamedTuple):
    """A function that may be outermost in an answer."""

    argument: Callable[[Array], Array]
    """The value of the argument from the value that is wanted."""
    written: Callable[[Tree], Tree]


def _wrap(name: str) -> Wrap:
    """A function of the trees, undone by the first branch of its inverse."""
    return Wrap(lambda target: arguments(name, target)[0], lambda argument: Tree(name, (argument,)))


PLAIN = [record.name for record in RECORDS if record.numpy]
WRAPS = {
    "square": Wrap(np.sqrt, lambda a: Tree("Pow", (a, fraction(2)))),
    "sqrt": Wrap(lambda t: np.where(np.real(t) >= 0, t * t, np.nan), lambda a: Tree("Pow", (a, HALF))),
    "reciprocal": Wrap(lambda t: 1 / t, lambda a: written_operations.divide(written_operations.ONE, a)),
    "neg": Wrap(np.negative, written_operations.negate),
    "log": Wrap(np.exp, lambda a: Tree("log", (a, EXP1))),
    "abs": Wrap(np.negative, lambda a: Tree("abs", (a,))),
    **{name: _wrap(name) for name in PLAIN},
}
"""The outermost functions by name."""
