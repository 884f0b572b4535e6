"""Polynomials of written expressions, in which anything but a sum, product or whole power is a variable of its own."""

from fractions import Fraction
from math import gcd, lcm
from typing import Any

from flint import fmpq, fmpq_mpoly_ctx

from dgltree.equations.truth.exact import exact
from dgltree.trees.tree import Tree

MOST_VARIABLES = 12
MOST_TERMS = 60
"""A larger one is no polynomial here: forms such as "expanded" are asked of the answers of people."""
MAX_EXPONENT = 40
"""A whole exponent."""

Poly = Any
"""``fmpq_mpoly``"""


class Polynomials:
    """Makes polynomials of trees, with the same variable for the same part."""

    def __init__(self) -> None:
        self._context = fmpq_mpoly_ctx.get([f"v{k}" for k in range(MOST_VARIABLES)], "lex")
        self._variables: dict[Tree, int] = {}

    def of(self, tree: Tree) -> Poly | None:
        """None if it would be too large."""
        try:
            return tree.fold(self._made)
        except OverflowError:
            return None

    def product(self, factors: list[tuple[Tree, int]]) -> Poly | None:
        """Of trees to whole powers from 1; None if it would be too large."""
        found: Poly = self._context.constant(1)
        try:
            for tree, power in factors:
                found = _bounded(found * _power(tree.fold(self._made), power))
        except OverflowError:
            return None
        return found

    def _made(self, node: Tree, below: list[Poly]) -> Poly:
        number = exact(node)
        if number is not None:
            return self._context.constant(fmpq(number.numerator, number.denominator))
        if node.function == "Add":
            return _bounded(sum(below[1:], below[0]))
        if node.function == "Mul":
            product = below[0]
            for factor in below[1:]:
                product = _bounded(product * factor)
            return product
        exponent = exact(node.children[1]) if node.function == "Pow" and len(node.children) == 2 else None
        if exponent is not None and exponent.denominator == 1:
            if exponent >= 0:
                return _power(below[0], int(exponent))
            if below[0].is_constant() and not below[0].is_zero():  # the denominator of a fraction of numbers
                return _power(self._context.constant(1) / below[0], -int(exponent))
        place = self._variables.setdefault(node, len(self._variables))
        if place >= MOST_VARIABLES:
            raise OverflowError
        return self._context.gens()[place]


def content(poly: Poly) -> Fraction:
    """The greatest number by which all coefficients can be divided without new fractions; 0 for 0."""
    if poly.is_zero():
        return Fraction(0)
    tops, bottoms = zip(*((abs(int(number.p)), int(number.q)) for number in poly.coeffs()), strict=True)
    return Fraction(gcd(*tops), lcm(*bottoms))


def common_factor(poly: Poly) -> Fraction:
    """The number that all coefficients have in common as they are written: of x/2 + 1/2 a half, of x - 1/2 one."""
    tops, bottoms = zip(*((abs(int(number.p)), int(number.q)) for number in poly.coeffs()), strict=True)
    return Fraction(gcd(*tops), gcd(*bottoms))


def _power(poly: Poly, exponent: int) -> Poly:
    if exponent > MAX_EXPONENT:
        raise OverflowError
    power = poly**0
    for _ in range(exponent):
        power = _bounded(power * poly)
    return power


def _bounded(poly: Poly) -> Poly:
    if len(poly) > MOST_TERMS:
        raise OverflowError
    return poly
