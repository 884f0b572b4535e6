"""Rational functions of generators with relations: what is left of a polynomial is the same whatever the order."""

from collections.abc import Callable
from random import Random

import pytest
from flint import fmpq

from dgltree.equations.truth.identities.rational_functions import NoValue, RationalFunction, Relation, Ring


def tower() -> Ring:
    """Generators a, b, c of which a^2 = 2, b^2 = a + 1, c^3 = a*b."""
    ring = Ring()
    a, b, c = (ring.generator() for _ in range(3))
    g = ring.generators
    ring.relations += [Relation(a, 2, ring.context.constant(2)), Relation(b, 2, g[a] + 1), Relation(c, 3, g[a] * g[b])]
    return ring


VALUES = [2**0.5, (2**0.5 + 1) ** 0.5, (2**0.5 * (2**0.5 + 1) ** 0.5) ** (1 / 3)]


def at(poly: object, values: list[float]) -> float:
    """The value of a polynomial of three generators."""
    total = 0.0
    for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):  # type: ignore[attr-defined]
        term = int(coefficient.p) / int(coefficient.q)
        for value, exponent in zip(values, monomial, strict=False):
            term *= value ** int(exponent)
        total += term
    return total


def worth(a: RationalFunction) -> float:
    return at(a.num, VALUES) / at(a.den, VALUES)


def test_a_remainder_has_no_power_that_a_relation_reaches_and_the_same_value() -> None:
    ring = tower()
    for exponents in ((0, 4, 0), (0, 0, 6), (3, 5, 7), (0, 2, 3), (1, 3, 11)):
        poly = ring.context.constant(1)
        for generator, exponent in zip(ring.generators, exponents, strict=False):
            poly *= generator**exponent
        left = ring.reduce(poly)
        assert all(int(d) < limit for d, limit in zip(left.degrees(), (2, 2, 3), strict=False))
        assert at(left, VALUES) == pytest.approx(at(poly, VALUES), rel=1e-12)


OPERATIONS: dict[str, Callable[[Ring, RationalFunction, RationalFunction], RationalFunction]] = {
    "add": Ring.add,
    "sub": Ring.sub,
    "mul": Ring.mul,
    "div": Ring.div,
}


@pytest.mark.parametrize("seed", range(3))
def test_arithmetic_has_the_values_of_numbers(seed: int) -> None:
    ring, random = tower(), Random(seed)
    known = [ring.of(k) for k in range(3)] + [ring.number(fmpq(-3, 2)), ring.number(5)]
    for _ in range(12):
        name = random.choice(list(OPERATIONS))
        a, b = random.choice(known[-7:]), random.choice(known[:5])
        found = OPERATIONS[name](ring, a, b)
        x, y = worth(a), worth(b)
        assert worth(found) == pytest.approx({"add": x + y, "sub": x - y, "mul": x * y, "div": x / y}[name], rel=1e-9)
        known.append(found)
    for exponent in (-3, -1, 0, 1, 2, 5):
        assert worth(ring.power(known[0], exponent)) == pytest.approx(VALUES[0] ** exponent, rel=1e-12)


def test_nothing_is_divided_by_what_is_zero_by_a_relation() -> None:
    ring = tower()
    nothing = ring.sub(ring.mul(ring.of(1), ring.of(1)), ring.add(ring.of(0), ring.one))
    assert nothing.num.is_zero()
    with pytest.raises(NoValue):
        ring.div(ring.one, nothing)
    assert ring.constant(ring.mul(ring.of(0), ring.of(0))) == 2
    assert ring.constant(ring.of(0)) is None
