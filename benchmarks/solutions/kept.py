"""Five families of equations that were written before the solving code was read, and run when it was done."""

from collections.abc import Mapping
from fractions import Fraction
from random import Random

from benchmarks.solutions.drawn import (
    CIRCULAR,
    ZERO,
    Family,
    Sides,
    add,
    coefficients,
    line,
    over,
    polynomial,
    quadratic,
    times,
    whole,
)
from benchmarks.verdicts.shapes import X, minus, number, power


def _substituted(random: Random) -> Sides:
    """A polynomial of a function of x."""
    g = random.choice(
        (power(X, 2), power(X, 3), ("sqrt", X), ("log", X), ("abs", X), power(X, Fraction(1, 3)), over(number(1), X))
    )
    inner = random.choice((g, g, add(g, X), over(X, add(X, number(whole(random))))))
    return polynomial(coefficients(random, random.choice((2, 2, 3)), 5), inner), ZERO


def _sum_of_roots(random: Random) -> Sides:
    sign = number(random.choice((1, 1, -1)))
    left = add(("sqrt", line(random)), times(sign, ("sqrt", line(random))))
    right = random.choice((("sqrt", line(random)), number(random.randint(1, 5)), line(random), ("abs", line(random))))
    return left, right


def _factors_of_different_kinds(random: Random) -> Sides:
    kinds = [
        minus(("exp", X), number(random.randint(1, 6))),
        minus(("log", line(random)), number(random.choice((0, 1, -1)))),
        minus(("sqrt", line(random)), number(random.randint(0, 3))),
        polynomial(coefficients(random, 3)),
        minus(("abs", line(random)), number(random.randint(0, 4))),
        add((random.choice(CIRCULAR), X), number(random.choice((0, 1, -1)))),
        over(quadratic(random), line(random)),
    ]
    return times(*random.sample(kinds, random.choice((2, 2, 3)))), ZERO


def _crossed(random: Random) -> Sides:
    """Fractions on both sides whose denominators share a factor with each other or with a numerator."""
    shared, other = line(random), line(random)
    left = over(random.choice((shared, line(random), quadratic(random))), times(shared, other))
    right = add(over(number(whole(random)), shared), random.choice((ZERO, over(line(random), other), line(random))))
    return left, right


def _curves_that_meet(random: Random) -> Sides:
    """Two curves of different kinds, without a closed form as a rule."""
    curves = [
        ("exp", times(number(random.choice((1, -1, 2))), X)),
        ("log", random.choice((X, line(random)))),
        quadratic(random),
        ("atan", line(random)),
        ("asin", over(X, number(random.randint(1, 5)))),
        ("abs", quadratic(random)),
        times(number(whole(random, 4)), ("sqrt", line(random))),
        power(X, 3),
        over(number(whole(random)), line(random)),
        ("acos", over(X, number(random.randint(1, 5)))),
        ("tanh", X),
        ("cosh", X),
    ]
    first, second = random.sample(curves, 2)
    return first, second


KEPT: Mapping[str, Family] = {
    "p(g(x))": _substituted, "sqrt ± sqrt": _sum_of_roots, "f*g of kinds": _factors_of_different_kinds,
    "a/b = c/d": _crossed, "f = g of kinds": _curves_that_meet,
}  # fmt: skip
