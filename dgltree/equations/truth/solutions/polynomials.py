"""All real roots of polynomials, isolated by Arb."""

from collections.abc import Sequence
from contextlib import suppress
from math import lcm
from typing import Any

from flint import acb_poly, arb, ctx, fmpq, fmpz_poly

BITS = 768
"""Of all numbers."""
NARROW = arb(2) ** -300
"""Largest radius of a number, as a share."""
LARGEST_DEGREE = 400
"""Arb isolates all complex roots at once and cannot be stopped; beyond this degree an equation is unsolved."""
Real = Any
"""An ``arb``."""


class Unsolved(Exception):  # noqa: N818 - an answer: this is not solved by elimination
    """An expression whose zeros elimination does not give."""


def whole_polynomial(coefficients: Sequence[Any]) -> fmpz_poly:
    """With whole coefficients."""
    scale = lcm(*(int(fmpq(c).q) for c in coefficients))
    return fmpz_poly([int(fmpq(c).p) * (scale // int(fmpq(c).q)) for c in coefficients])


def real_roots(p: fmpz_poly) -> list[Real]:
    """All real roots of a polynomial, in order: Arb isolates each complex one, and tells which are real."""
    if p.degree() > LARGEST_DEGREE:
        raise Unsolved
    if p.degree() < 1:
        return []
    with ctx.workprec(BITS):
        if p.degree() == 1:
            return [arb(fmpq(-int(p[0]), int(p[1])))]
        roots: Any = p.complex_roots()
    return sorted((root.real for root, _ in roots if root.imag.is_zero()), key=lambda x: float(x.mid()))


def real_roots_of_balls(coefficients: Sequence[Real]) -> list[Real]:
    """All real roots of a polynomial whose coefficients are balls. Raises ``Unsolved`` if two are not told apart."""
    coefficients = list(coefficients)
    with ctx.workprec(BITS):
        while coefficients and coefficients[-1].is_zero():
            coefficients.pop()
        if len(coefficients) < 2:
            raise Unsolved
        if coefficients[-1].contains(0):
            raise Unsolved
        if len(coefficients) == 2:
            return [-coefficients[0] / coefficients[1]]
        try:
            p: Any = acb_poly(coefficients)
            found = p.roots()
        except ValueError as error:
            raise Unsolved from error
        real = [_polished(coefficients, z.real) for z in found if z.imag.contains(0)]
        return sorted(real, key=lambda x: float(x.mid()))


def _polished(coefficients: Sequence[Any], root: Any) -> Any:
    """A smaller ball around the one root in a ball, by Newton's method for intervals."""
    for _ in range(14):
        value, slope, middle = arb(0), arb(0), root.mid()
        for c in reversed(coefficients):
            value = value * middle + c
        for k in range(len(coefficients) - 1, 0, -1):
            slope = slope * root + k * coefficients[k]
        if slope.contains(0):
            raise Unsolved
        with suppress(ValueError):
            root = root.intersection(middle - value / slope)
        if root.rad() < NARROW:
            return root
    raise Unsolved
