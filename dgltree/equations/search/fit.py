"""A value as a sum of simple terms with rational coefficients: ``2*x^2 + 5*x - 12``, ``sin(x)*cos(y) + 1/2``."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from dgltree.equations.search import written_operations
from dgltree.equations.search.points import CHECK_POINTS
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.trees.tree import Tree

MOST_TERMS = 28  # fewer than points, so that an answer is no accident
DEGREES = {1: 6, 2: 4, 3: 3}  # highest degree in so many generators; 2 in more
COEFFICIENT = 200  # largest numerator and denominator
CONDITION = 1e-9  # of a term that is nearly a sum of others


class BasisFunction(NamedTuple):
    """A factor of terms: a variable or a function of one."""

    tree: Tree
    values: Array
    """(MORE,)"""


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
