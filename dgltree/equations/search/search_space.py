"""A search space has the variables, numbers, functions and parts that the answer of a search is likely made of.

A value may also be a sum of products of them with rational coefficients: ``2*x^2 + 5*x - 12``, ``sin(x)*cos(y) + 1/2``.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from dgltree.equations.search import written_operations
from dgltree.equations.search.points import CHECK_POINTS, Points, literal, value
from dgltree.equations.search.table import Leaf, Operations
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.read.functions import BY_NAME, INVERSE, Use, names
from dgltree.read.notation import CONSTANTS, EXP1, HALF, MINUS_ONE
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

EVERY = names(least=Use.COMMON)
_UNDONE_BY = {name: INVERSE[name] for name in EVERY if name in INVERSE} | {"log": "exp"}
CIRCULAR = {*names("circular")}
MOST_PARTS = 8  # subexpressions
LARGEST_PART = 60  # nodes of one
MOST_TERMS = 28  # fewer than points, so that an answer is no accident
DEGREES = {1: 6, 2: 4, 3: 3}  # highest degree in so many generators; 2 in more
COEFFICIENT = 200  # largest numerator and denominator
CONDITION = 1e-9  # of a term that is nearly a sum of others


class BasisFunction(NamedTuple):
    """A factor of terms: a variable or a function of one."""

    tree: Tree
    values: Array
    """(MORE,)"""


class SearchSpace(NamedTuple):
    """The vocabulary of one equation, without its blanks."""

    variables: tuple[Tree, ...]
    numbers: tuple[Tree, ...]
    functions: frozenset[str]
    """Functions that may occur, ``sqrt`` for a power of 1/2."""
    parts: tuple[Tree, ...]
    """Subexpressions, the smallest first."""
    powers: bool
    """Whether a power has a variable in its exponent."""

    def operations(self, every: bool) -> Operations:
        """The operations of the equation and of their families; with ``every``, all functions that school has."""
        known = self.functions & BY_NAME.keys()
        used = {name for function in known for name in BY_NAME[function].relatives} | self.functions
        if "sqrt" in self.functions:
            used.add("sqrt")
        used |= set(EVERY) if every else set()
        return Operations(("neg", *sorted(used)))

    def leaves(self, points: Points) -> list[Leaf]:
        """The leaves of expressions, with their values at the points."""
        early = dict.fromkeys([*self.variables, *self.numbers, fraction(2), fraction(1)])
        if self.functions & CIRCULAR:
            early[CONSTANTS["pi"]] = None
        if {"exp", "log"} & self.functions or EXP1 in self.numbers:
            early[EXP1] = None
        late = dict.fromkeys([fraction(3), HALF, fraction(4), *self.parts])
        costs = {**dict.fromkeys(late, 2), **dict.fromkeys(early, 1)}
        exponents = {*self.numbers, fraction(2), fraction(3)} - {fraction(1), fraction(0)}
        if self.powers:
            exponents |= {*self.variables, *self.parts}
        leaves = []
        for tree, cost in sorted(costs.items(), key=lambda item: item[1]):
            values = value(tree, points, {})
            leaves.append(Leaf(tree, values + points.constant(0), cost, tree in exponents))
        return leaves

    def generators(self, points: Points) -> list[list[BasisFunction]]:
        """Sets of what sums and products are made of: the variables; variables and functions of them."""
        atoms = [part for part in self.parts if _is_atom(part)]
        partners = {name: BY_NAME[name].partner for name in EVERY if BY_NAME[name].partner in EVERY}
        atoms += [atom.replace(function=partners[atom.function]) for atom in atoms if atom.function in partners]
        atoms = list(dict.fromkeys(atoms))
        sets = [list(self.variables), atoms, [*self.variables, *atoms]] if atoms else [list(self.variables)]
        return [[BasisFunction(tree, value(tree, points, {})) for tree in trees] for trees in sets if trees]


def search_space(equation: Equation) -> SearchSpace:
    """Look through an equation."""
    nodes = [node for side in equation for node in side.distinct_preorder()]
    filled = {id(node) for node in nodes if node.function == BLANK.function}
    for side in equation:
        for node in side.distinct():
            if any(id(child) in filled for child in node.children):
                filled.add(id(node))
    leaves = [node for node in nodes if not node.children]
    variables = dict.fromkeys(leaf for leaf in leaves if leaf.function == "Symbol")
    numbers = dict.fromkeys(leaf for leaf in leaves if literal(leaf) is not None and leaf != MINUS_ONE)
    numbers |= dict.fromkeys(leaf for leaf in leaves if leaf.function in ("Pi", "Exp1"))
    functions = {node.function for node in nodes if node.children} - {"Add", "Mul", "Pow", "binomial"}
    powers = [node for node in nodes if node.function == "Pow"]
    if any(_is_half(node.children[1]) for node in powers):
        functions.add("sqrt")
    above = [node for node in nodes if any(id(child) in filled for child in node.children)]
    functions |= {_UNDONE_BY[node.function] for node in above if node.function in _UNDONE_BY}
    if any(node.function == "Pow" and id(node.children[1]) in filled for node in above):
        functions.add("log")
    inner = (node for node in nodes if node.children and node.size <= LARGEST_PART and id(node) not in filled)
    parts = dict.fromkeys(node for node in inner if not _is_sign(node))
    return SearchSpace(
        tuple(variables),
        tuple(numbers),
        frozenset(functions - {BLANK.function}),
        tuple(sorted(parts, key=lambda part: part.size)[:MOST_PARTS]),
        any(_has_variable(node.children[1]) or id(node.children[1]) in filled for node in powers),
    )


def _has_variable(tree: Tree) -> bool:
    return any(node.function == "Symbol" for node in tree.distinct())


def _is_half(tree: Tree) -> bool:
    number = literal(tree)
    return number is not None and number % 1 == 0.5


def _is_sign(node: Tree) -> bool:
    """The -y of x - y and the 1/y of x/y, which are no parts by themselves."""
    return MINUS_ONE in (node.children[0], node.children[-1])


def _is_atom(part: Tree) -> bool:
    return len(part.children) == 1 or part.function == "log" or _is_power(part)


def _is_power(part: Tree) -> bool:
    """Whether it is a power whose exponent is not a whole number."""
    return part.function == "Pow" and not float(literal(part.children[1]) or 0.5).is_integer()


def fit_sums(target: Array, generators: Sequence[BasisFunction]) -> Iterator[Tree]:
    """Sums of products of the generators that have the values ``target`` (MORE,), of low degree first.

    Each comes in falling and in rising powers. Call it with numpy's floating-point warnings off.
    """
    if not generators or not np.isfinite(target).all():
        return
    highest = DEGREES.get(len(generators), 2)
    for degree in range(1, highest + 1):
        terms = list(_terms(len(generators), degree))
        if len(terms) > MOST_TERMS:
            return
        columns = np.stack(
            [
                np.prod([generators[i].values for i in term], axis=0) if term else np.ones(CHECK_POINTS)
                for term in terms
            ],
            1,
        )
        coefficients = _solved(columns, target)
        if coefficients is not None:
            kept = [(term, c) for term, c in zip(terms, coefficients, strict=True) if c]
            trees = [generator.tree for generator in generators]
            for order in (kept, kept[::-1]):
                yield _sum(order, trees)
            return


def _terms(generators: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Products as the generators' places, those of the highest degree first."""
    for total in range(degree, -1, -1):
        yield from combinations_with_replacement(range(generators), total)


def _solved(columns: Array, target: Array) -> list[Fraction] | None:
    scale = np.abs(columns).max(0)
    if not np.isfinite(scale).all():
        return None
    chosen = _independent(columns / scale)
    found, _, _, _ = np.linalg.lstsq(columns[:, chosen] / scale[chosen], target, rcond=None)
    coefficients = [Fraction(0)] * columns.shape[1]
    for place, c in zip(chosen, found / scale[chosen], strict=True):
        exact = _simple(complex(c))
        if exact is None:
            return None
        coefficients[place] = exact
    again = columns @ np.array([float(c) for c in coefficients])
    close = np.abs(again - target) <= 1e-9 * np.maximum(np.abs(columns).max(1), np.abs(target))
    return coefficients if close.all() else None


def _simple(c: complex) -> Fraction | None:
    if abs(c) < 1e-8:
        return Fraction(0)
    exact = Fraction(c.real).limit_denominator(COEFFICIENT) if abs(c.imag) < 1e-7 * abs(c) else None
    return exact if exact is not None and abs(float(exact) - c.real) < 1e-6 * max(1.0, abs(c)) else None


def _independent(columns: Array) -> list[int]:
    """The columns that are not sums of columns before the later ones: simple terms come last and are kept."""
    basis: list[Array] = []
    chosen = []
    for place in range(columns.shape[1] - 1, -1, -1):
        rest = columns[:, place].astype(columns.dtype)
        # Twice is enough (Giraud, Langou and Rozloznik 2005): rounding in the first round leaves 1e-16 times the norm
        # over that of the rest, which at CONDITION is 1e-7 of it along the basis; the second takes that away.
        for _ in range(2):
            for b in basis:
                rest = rest - b * (b.conj() @ rest)
        size = np.linalg.norm(rest)
        if size > CONDITION * np.linalg.norm(columns[:, place]):
            basis.append(rest / size)
            chosen.append(place)
    return chosen[::-1]


def _sum(terms: list[tuple[tuple[int, ...], Fraction]], generators: list[Tree]) -> Tree:
    if not terms:
        return written_operations.ZERO
    total: Tree | None = None
    for term, c in terms:
        product = _product(term, generators)
        part = fraction(abs(c)) if product is None else written_operations.multiply(fraction(abs(c)), product)
        if total is None:
            total = written_operations.negate(part) if c < 0 else part
        else:
            total = written_operations.subtract(total, part) if c < 0 else written_operations.add(total, part)
    assert total is not None
    return total


def _product(term: tuple[int, ...], generators: list[Tree]) -> Tree | None:
    """``x^2*y``; None for the term without generators."""
    product: Tree | None = None
    for place in dict.fromkeys(term):
        power = term.count(place)
        factor = generators[place] if power == 1 else Tree("Pow", (generators[place], fraction(power)))
        product = factor if product is None else Tree("Mul", (product, factor))
    return product
