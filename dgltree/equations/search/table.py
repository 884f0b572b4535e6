"""All expressions of some leaves and operations, shortest first, each value once: as arrays, no trees.

An entry is a value at the points, with the ways in which it was met (its forms): an operation and the entries that it
is applied to. :class:`Forms` builds trees, only of what is asked for.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.points import MAX_VALUE, agree
from dgltree.equations.search.written_operations import ONE, fraction, write_operation
from dgltree.equations.truth.elementary import Array, apply, power
from dgltree.trees.tree import Tree

BINARY = ("add", "sub", "mul", "div", "pow")
COMMUTATIVE = ("add", "mul")
FORMS = 8  # ways of each value that are kept
LEAF, NUMBER = -2, -1
"""The code in place of an operation for a leaf, and for a number that operations on numbers gave."""
MAX_LEVEL = 14  # level
LONGER = 3  # levels by which a form may be longer than the shortest
MIN_VALUE = 1e-7  # smaller values at the sample points are differences of equal ones, that is rounding
ROWS = 100_000  # candidates that are taken in together: with 500,000 the table is the same, its peak 100 MB higher
PAIRS_BETWEEN_LOOKS = 100_000  # pairs whose values are computed between two looks at the clock
CHUNK = 4  # times the budget: so many candidates of a level are computed at most
DENOMINATOR = 60  # constants that are so many parts of a whole number are written as numbers
CANDIDATES = 3  # neighbours of equal key that a lookup compares
BITS = 38  # of a key that must agree: what rounding leaves of 53
OF_A_PART = 3  # forms of a part that are put into forms of the whole


class Operations(NamedTuple):
    """The operations of expressions."""

    unary: tuple[str, ...]
    """Functions of the trees, in addition to ``neg`` and ``sqrt``."""
    binary: tuple[str, ...] = BINARY


class Leaf(NamedTuple):
    """Where expressions begin: a variable, a constant, or a part of the equation."""

    tree: Tree
    values: Array
    """(P,)"""
    cost: int
    """The level at which it comes."""
    exponent: bool = False
    """Whether powers may have it for an exponent."""


class ValueTable:
    """Entries by level: a leaf's cost, or one more than those of the parts together.

    Args:
        leaves: of any cost.
        operations: what joins them.
        budget: how many values at most.
        clock: when to stop growing.

    Attributes:
        values: (N, P).
        level: (N,) int.
    """

    def __init__(self, leaves: Sequence[Leaf], operations: Operations, budget: int, clock: Clock | None = None) -> None:
        self.leaves = leaves
        self.operations = operations
        self.budget = budget
        self.clock = clock or Clock()
        self.names = (*operations.unary, *operations.binary)
        points = leaves[0].values.shape[0]
        kind = np.result_type(*(leaf.values for leaf in leaves))
        # One random sum stands for the values at all points. Two different rows of values have keys that agree to BITS
        # with probability about 2^-38: some 0.1 such pairs in a table of 200,000. Then the later value is lost, and
        # its forms are those of the earlier one: a filler may be missed, none is wrongly accepted, as each is judged.
        weights = np.random.default_rng(0).uniform(0.5, 1.5, (2, points))
        self._weights = weights[0] + 1j * weights[1] if kind.kind == "c" else weights[0]
        self.values = np.empty((0, points), kind)
        self.level = np.empty(0, np.int16)
        self.numbers: dict[int, Fraction] = {}
        """The entries that are rational numbers, in addition to leaves."""
        self._known = np.empty(0, np.int64)  # sorted keys
        self._known_id = np.empty(0, np.int32)
        self._parts = np.empty((0, 2), np.int32)  # of the first form; its own number for a leaf
        self._forms = KeptForms()
        self._order: Array | None = None
        self._exponents = np.empty(0, np.int64)
        self._one = -1
        self.tried = 0
        """Expressions whose values were computed."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        own = (self.values, self.level, self._known, self._known_id)
        return self._forms.nbytes + sum(a.nbytes for a in own)

    def fill(self, deepest: int = MAX_LEVEL) -> "ValueTable":
        """Grow level by level until the budget or the time is used up, or to the deepest level; returns itself."""
        level = 1
        while self.grow(level) and level < deepest:
            level += 1
        return self

    def grow(self, level: int) -> bool:
        """Add the entries of the next level; False when the budget or the time is used up."""
        blocks = []
        rows = 0
        for block in self._candidates(level):
            blocks.append(block)
            rows += len(block[0])
            if rows >= ROWS:
                self._insert(level, blocks)
                blocks = []
                rows = 0
            if level > 1 and self.clock.late:
                return False
        self._insert(level, blocks)
        if level == 1:
            trees = {leaf.tree: leaf for leaf in self.leaves}
            marked = [entry for entry, tree in self.leaf_trees() if trees[tree].exponent]
            self._exponents = np.array(marked, np.int64)
            self._one = next((entry for entry, tree in self.leaf_trees() if tree == ONE), -1)
        return len(self) < self.budget and not self.clock.late

    def leaf_trees(self) -> Iterator[tuple[int, Tree]]:
        """(entry, tree) of the leaves that are entries."""
        for entry, number in self._forms.of_operation(LEAF):
            yield entry, self.leaves[number].tree

    def forms(self, entry: int) -> list[tuple[int, int, int]]:
        """The ways to an entry: (operation, left entry, right entry), the shortest first."""
        return self._forms.of_entry(entry)

    def made_of(self, entries: Array) -> Array:
        """(N,) whether the first form of an entry has one of ``entries`` in it."""
        found = np.zeros(len(self), bool)
        found[entries] = True
        for level in range(int(self.level.max()) + 1):
            here = np.flatnonzero(self.level == level)
            found[here] |= found[self._parts[here]].any(1)
        return found

    def lookup(self, targets: Array) -> tuple[Array, Array]:
        """Look values (K, P) up: (which target, entry) of all that agree."""
        if self._order is None:
            keys = self._key(self.values)
            self._order = np.argsort(keys)
            self._sorted = keys[self._order]
        targets = targets.astype(self.values.dtype, copy=False)
        with np.errstate(all="ignore"):
            key = self._key(targets)
            size = self._key(np.abs(targets))
            usable = np.flatnonzero(np.isfinite(key) & (size < MAX_VALUE))
            key = key[usable]
            slack = 1e-10 * np.abs(size[usable]) + 1e-13
            left = np.searchsorted(self._sorted, key - slack)
            which = []
            entries = []
            for shift in range(CANDIDATES):
                place = left + shift
                inside = np.flatnonzero(
                    (place < len(self)) & (self._sorted[np.minimum(place, len(self) - 1)] <= key + slack)
                )
                if not len(inside):
                    break
                entry = self._order[place[inside]]
                same = agree(self.values[entry], targets[usable[inside]])
                which.append(usable[inside][same])
                entries.append(entry[same])
        if not which:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(which), np.concatenate(entries)

    def _key(self, values: Array) -> Array:
        """(..., ) one real number of the values (..., P) that differs if they do."""
        key: Array = values @ self._weights
        return key.real + 0.7 * key.imag if np.iscomplexobj(key) else key

    def _candidates(self, level: int) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Blocks of (operation, left, right, values)."""
        here = [i for i, leaf in enumerate(self.leaves) if leaf.cost == level]
        if here:
            yield _block(
                LEAF, np.array(here), np.zeros(len(here), int), np.stack([self.leaves[i].values for i in here])
            )
        room = CHUNK * self.budget
        by_level = [np.flatnonzero(self.level == at) for at in range(level)]
        for number, name in enumerate(self.operations.unary):
            source = by_level[level - 1]
            if len(source):
                values = self.values[source]
                yield _block(number, source, source, unary(name, values))
        for number, name in enumerate(self.operations.binary, start=len(self.operations.unary)):
            for a in range(1, level - 1):
                b = level - 1 - a
                if (name in COMMUTATIVE and a > b) or room <= 0:
                    continue
                second = np.intersect1d(by_level[b], self._exponents) if name == "pow" else by_level[b]
                left, right = pairs(name, by_level[a], second, room, self._one)
                room -= len(left)
                for start in range(0, len(left), PAIRS_BETWEEN_LOOKS):
                    a_ = left[start : start + PAIRS_BETWEEN_LOOKS]
                    b_ = right[start : start + PAIRS_BETWEEN_LOOKS]
                    self.tried += len(a_)
                    yield _block(number, a_, b_, binary(name, self.values[a_], self.values[b_]))

    def _insert(self, level: int, blocks: list[tuple[Array, Array, Array, Array]]) -> None:
        if not blocks:
            return
        operation, left, right, values = map(np.concatenate, zip(*blocks, strict=True))
        size = np.abs(values)
        usable = np.isfinite(size).all(1) & (size < MAX_VALUE).all(1) & (size > MIN_VALUE).all(1)
        operation, left, right, values = (column[usable] for column in (operation, left, right, values))
        q = _quantised(self._key(values))
        entry = self._find(q)
        new = np.flatnonzero(entry < 0)
        keys, first, inverse = np.unique(q[new], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))  # numbered by their first appearance, not by key
        room = max(0, self.budget - len(self))
        entry[new] = len(self) + rank[inverse]
        added = np.sort(first)[:room]
        start = len(self)
        self.values = np.concatenate([self.values, values[new[added]]])
        self.level = np.concatenate([self.level, np.full(len(added), level, np.int16)])
        first_form = np.stack([left[new[added]], right[new[added]]], 1).astype(np.int32)
        leaves = operation[new[added]] == LEAF
        first_form[leaves] = (start + np.flatnonzero(leaves))[:, None]
        self._parts = np.concatenate([self._parts, first_form])
        kept = rank < room
        ids = np.concatenate([self._known_id, (start + rank[kept]).astype(np.int32)])
        all_keys = np.concatenate([self._known, keys[kept]])
        order = np.argsort(all_keys, kind="stable")
        self._known = all_keys[order]
        self._known_id = ids[order]
        self._order = None
        inside = entry < len(self)  # and of what was known, no form that is much longer
        inside[inside] = self.level[entry[inside]] >= level - LONGER
        self._forms.add(len(self), *(column[inside] for column in (operation, left, right, entry)))
        self._name_numbers(start)

    def _name_numbers(self, start: int) -> None:
        """Remember which new entries are rational numbers."""
        values = self.values[start:]
        parts = np.round(values[:, 0].real * DENOMINATOR)
        flat = (np.abs(values - (parts / DENOMINATOR)[:, None]) < 1e-12 * np.maximum(1, np.abs(values))).all(1)
        for place in np.flatnonzero(flat):
            self.numbers[start + int(place)] = Fraction(int(parts[place]), DENOMINATOR)

    def _find(self, q: Array) -> Array:
        """The entries of keys, -1 if there is none."""
        if not len(self._known):
            return np.full(len(q), -1, np.int64)
        place = np.minimum(np.searchsorted(self._known, q), len(self._known) - 1)
        return np.where(self._known[place] == q, self._known_id[place], -1).astype(np.int64)


def _block(operation: int, left: Array, right: Array, values: Array) -> tuple[Array, Array, Array, Array]:
    return np.full(len(left), operation), left, right, values


def _quantised(key: Array) -> Array:
    """Keys as whole numbers that agree where keys do up to rounding (or, seldom, are neighbours)."""
    mantissa, exponent = np.frexp(key)
    return np.round(mantissa * 2.0**BITS).astype(np.int64) + (exponent.astype(np.int64) << (BITS + 2))


def unary(name: str, values: Array) -> Array:
    """The values of a function, ``neg`` or ``sqrt``."""
    if name == "neg":
        return -values
    if name == "sqrt":
        return np.sqrt(values)
    return np.log(values) if name == "log" else apply(name, [values])


def binary(name: str, a: Array, b: Array) -> Array:
    """The values of one of :data:`BINARY`."""
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul":
        return a * b
    return a / b if name == "div" else power(a, b)


def pairs(name: str, first: Array, second: Array, room: int, one: int) -> tuple[Array, Array]:
    """Left and right of the pairs of two levels' entries that may give something new: some ``room`` at most.

    Args:
        name: one of :data:`BINARY`.
        first: the entries of a level.
        second: those of another, or of the same.
        room: how many.
        one: the entry of the number 1, -1 if there is none.
    """
    if not len(first) or not len(second):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first = first[: max(1, room // len(second))]
    left = np.repeat(first, len(second))
    right = np.tile(second, len(first))
    if name in ("mul", "div", "pow"):  # what 1 does to nothing
        useful = (left != one) & (right != one) if name != "div" else right != one
        left = left[useful]
        right = right[useful]
    if name in COMMUTATIVE:
        ordered = left <= right if first[0] == second[0] else slice(None)
        left = left[ordered]
        right = right[ordered]
    if name in ("sub", "div"):
        differ = left != right
        left = left[differ]
        right = right[differ]
    return left, right


class KeptForms:
    """Forms of entries by number: an operation and the entries that it is applied to, in the order of adding."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Array, Array, Array, Array]] = []  # operation, left, right, entry
        self._counts = np.empty(0, np.int8)
        self._sorted: tuple[Array, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self._counts.nbytes + sum(column.nbytes for block in self._blocks for column in block)

    def add(self, entries: int, operation: Array, left: Array, right: Array, entry: Array) -> None:
        """Keep those of the forms (m,) that are among the first FORMS of their entry; there are ``entries`` by now."""
        self._counts = np.concatenate([self._counts, np.zeros(entries - len(self._counts), np.int8)])
        order = np.argsort(entry, kind="stable")
        entry = entry[order]
        first = np.searchsorted(entry, entry)
        keep = np.arange(len(entry)) - first + self._counts[entry] < FORMS
        order = order[keep]
        entry = entry[keep]
        np.add.at(self._counts, entry, 1)
        columns = (operation[order].astype(np.int8), left[order].astype(np.int32), right[order].astype(np.int32))
        self._blocks.append((*columns, entry.astype(np.int32)))
        self._sorted = None

    def of_operation(self, operation: int) -> Iterator[tuple[int, int]]:
        """(entry, left) of all forms by an operation."""
        for operations, left, _, entries in self._blocks:
            for place in np.flatnonzero(operations == operation):
                yield int(entries[place]), int(left[place])

    def of_entry(self, entry: int) -> list[tuple[int, int, int]]:
        """(operation, left, right) of an entry, in the order of adding."""
        if self._sorted is None:
            columns = [np.concatenate(column) for column in zip(*self._blocks, strict=True)]
            order = np.argsort(columns[3], kind="stable")
            self._sorted = tuple(column[order] for column in columns)
        operation, left, right, entries = self._sorted
        first, last = np.searchsorted(entries, [entry, entry + 1])
        return list(zip(*(column[first:last].tolist() for column in (operation, left, right)), strict=True))


class Forms:
    """Writes the entries of a table, remembering what it wrote; once the table grew, another one is needed."""

    def __init__(self, table: ValueTable) -> None:
        self._table = table
        self._known: dict[tuple[int, int], list[Tree]] = {}

    def shortest(self, entry: int) -> Tree:
        """The shortest form of an entry."""
        return self.of(entry, 1)[0]

    def of(self, entry: int, most: int) -> list[Tree]:
        """At most so many distinct forms of an entry, the shortest first."""
        key = entry, most
        if key not in self._known:
            self._known[key] = self._written(entry, most)
        return self._known[key]

    def _written(self, entry: int, most: int) -> list[Tree]:
        table = self._table
        found: dict[Tree, None] = {}
        if entry in table.numbers:
            return [fraction(table.numbers[entry])]
        for operation, left, right in table.forms(entry):
            if most == 1 and found:
                break
            if operation == LEAF:
                found[table.leaves[left].tree] = None
                continue
            name = table.names[operation]
            sides = (left,) if operation < len(table.operations.unary) else (left, right)
            if most <= OF_A_PART and found and max(sides) > entry:
                continue  # of a part, only what is made of earlier entries: x is not -(-x)
            for parts in product(*(self.of(side, min(most, OF_A_PART) if side < entry else 1) for side in sides)):
                found[write_operation(name, list(parts))] = None
                if name in COMMUTATIVE:
                    found[write_operation(name, list(reversed(parts)))] = None
        return sorted(found, key=symbols)[:most]
