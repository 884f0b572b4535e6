"""Steps of an elimination: resultants, common multiples, half angles and inverse functions."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from flint import arb, fmpq_poly

from dgltree.equations.truth.proofs.expression import Expression, X, minus, negative, number, subexpressions
from dgltree.equations.truth.proofs.fractions import Poly, ValueRing, product
from dgltree.equations.truth.solutions.polynomials import LARGEST_DEGREE, NARROW, Real, Unsolved

MOST_TERMS = 2000
"""The square of it bounds the terms of a resultant, which flint does not stop once it has begun."""


def line_parts(ring: ValueRing, t: Expression) -> tuple[Poly, Poly]:
    """The slope and the value at 0, polynomials in constants, of what is linear in x. Raises ``Unsolved``."""
    top, bottom = ring.quotient(t)
    if int(top.degrees()[-1]) != 1 or not bottom.is_constant():
        raise Unsolved
    parts = [ring.context.constant(0), ring.context.constant(0)]
    for monomial, c in zip(top.monoms(), top.coeffs(), strict=True):
        rest = (*map(int, monomial[:-1]), 0)
        parts[int(monomial[-1])] += ring.context.from_dict({rest: c / bottom.leading_coefficient()})
    if any(X in subexpressions(ring.expression(part)) for part in parts):
        raise Unsolved
    return parts[1], parts[0]


def is_linear(p: Poly, functions: dict[int, Expression]) -> bool:
    """Whether each term has one function at most, to the first power, with a rational factor."""
    return all(
        sum(int(m[k]) for k in functions) == 0 or (sum(int(m[k]) for k in functions) == 1 and sum(map(int, m)) == 1)
        for m in p.monoms()
    )


def without_root(ring: ValueRing, p: Poly, place: int, meaning: Expression) -> Poly:
    """The resultant of a polynomial and the equation of a root or an absolute value in it."""
    g = ring.context.gens()[place]
    top, bottom = ring.quotient(meaning[1])
    n = meaning[2] if meaning[0] == "root" else 2
    if meaning[0] == "abs":
        top, bottom = top**2, bottom**2
    if int(p.degrees()[place]) * n > LARGEST_DEGREE or comb(len(p) + n, n) > MOST_TERMS**2:
        raise Unsolved
    found = p.resultant(bottom * g**n - top, place)
    if found.is_zero():
        raise Unsolved
    return found


def multiples(ring: ValueRing, arguments: Sequence[Expression]) -> list[Fraction]:
    """How many times the first argument each one is. Raises ``Unsolved``."""
    tops = [ring.quotient(t) for t in arguments]
    found = []
    for top, bottom in tops:
        quotient = (top * tops[0].bottom, bottom * tops[0].top)
        common = quotient[0].gcd(quotient[1])
        a, b = quotient[0] / common, quotient[1] / common
        if not (a.is_constant() and b.is_constant()):
            raise Unsolved
        ratio = a.leading_coefficient() / b.leading_coefficient()
        found.append(Fraction(int(ratio.p), int(ratio.q)))
    return found


def by_half_angle(function: str, n: int) -> Any:
    """(1 + t^2)^|n| times the sine or the cosine of n*u, a polynomial in t = tan(u/2)."""
    cosine, sine = [0] * (2 * abs(n) + 1), [0] * (2 * abs(n) + 1)
    for k in range(2 * abs(n) + 1):  # (1 + i t)^(2 |n|)
        (cosine, sine)[k % 2][k] = (-1) ** (k // 2) * comb(2 * abs(n), k)
    return fmpq_poly(cosine if function == "cos" else sine if n >= 0 else [-c for c in sine])


def roots_of_quadratic(c: Expression, b: Expression, a: Expression) -> list[Expression]:
    """Of coefficients that are expressions of numbers."""
    square = minus(("^", b, 2), product([number(4), a, c]))
    below = ("^", product([number(2), a]), -1)
    return [("*", ("+", negative(b), product([number(sign), ("sqrt", square)])), below) for sign in (1, -1)]


def exact_argument(function: str, value: Expression) -> Expression:
    match function, value:
        case "log", ("number", _):
            return ("exp", value)
        case "atan", _:
            return ("*", ("sin", value), ("^", ("cos", value), -1))
    return ({"exp": "log", "log": "exp", "asin": "sin", "acos": "cos"}[function], value)


def argument_at(function: str, value: Real) -> Real | None:
    """Where a function that rises or falls all the way has a value; None if nowhere. Raises ``Unsolved``."""
    inverse, low, high = _INVERSES.get(function, (None, None, None))
    if inverse is None:
        raise Unsolved
    for end, sign in ((low, 1), (high, -1)):
        if end is None:
            continue
        beyond = sign * (value - end())
        if beyond < 0:
            return None
        if not beyond > 0:
            if function in ("asin", "acos") and abs(beyond) < NARROW:
                continue
            raise Unsolved
    return inverse(value)


_INVERSES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "exp": (lambda v: v.log(), lambda: arb(0), None),
    "log": (lambda v: v.exp(), None, None),
    "asin": (lambda v: v.sin(), lambda: -arb.pi() / 2, lambda: arb.pi() / 2),
    "acos": (lambda v: v.cos(), lambda: arb(0), lambda: arb.pi()),
    "atan": (lambda v: v.tan(), lambda: -arb.pi() / 2, lambda: arb.pi() / 2),
}
"""The inverse of a function, and between which values it is."""
