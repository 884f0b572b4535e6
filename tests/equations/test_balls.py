"""Values of functions at their exact limits: what is exact, what has no value, and what is open."""

import mpmath
import pytest
from flint import acb, arb, fmpq

from dgltree.equations.truth.balls import MAX_EXACT_BITS, OPERATIONS, ball, log, power, root_of, sign, snap, whole

NOTHING = [
    ("log", 0),
    ("log", 5, 1),
    ("log", 5, 0),
    ("log", 0, 2),
    ("atanh", 1),
    ("atanh", -1),
    *((name, 0) for name in ("csc", "cot", "csch", "coth")),
    *((name, 0) for name in ("acsc", "asec", "acot", "acsch", "asech", "acoth")),
]
EXACT = [
    *((name, 0, 0) for name in ("sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh")),
    ("log", 1, 0),
    ("abs", -3, 3),
]
OPEN = acb(arb(0, 1))
"""Somewhere from -1 to 1."""


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, *given in NOTHING])
def test_a_pole_has_no_value(name: str, given: list[int]) -> None:
    assert OPERATIONS[name](*map(fmpq, given)) is None


@pytest.mark.parametrize(("name", "given", "expected"), EXACT)
def test_what_is_rational_is_exact(name: str, given: int, expected: int) -> None:
    found = OPERATIONS[name](fmpq(given))
    assert isinstance(found, fmpq) and found == expected


def test_powers_of_zero() -> None:
    zero = fmpq(0)
    for base in (zero, acb(0)):
        assert [power(base, fmpq(n, 2)) for n in (1, 2, 3, 4)] == [zero] * 4
        assert [power(base, fmpq(n, 2)) for n in (0, -1, -2)] == [None] * 3
        for exponent in (OPEN, acb(0, 1), acb(1, arb(0, 1))):
            assert not power(base, exponent).is_finite()
    assert [root_of(n, 2, True)(zero) for n in (1, 0, -1)] == [zero, None, None]


@pytest.mark.parametrize("base", [-8, -1, 1, 4, 8, 27])
@pytest.mark.parametrize("bottom", [1, 2, 3, 5])
@pytest.mark.parametrize("top", [-3, -2, -1, 1, 2, 3])
def test_roots_are_those_of_another_library(top: int, bottom: int, base: int) -> None:
    """The principal value; by the reading of schools an odd root of a negative number is the negative one."""
    exponent = mpmath.mpf(top) / bottom
    if top % bottom or bottom == 1:
        found = complex(ball(power(fmpq(base), fmpq(top, bottom))))
        assert found == pytest.approx(complex(mpmath.power(base, exponent)), rel=1e-12)
    if bottom % 2 or base > 0:
        size = float(mpmath.power(abs(base), exponent))
        expected = -size if base < 0 and top % 2 else size
        assert complex(ball(root_of(top, bottom, True)(fmpq(base)))) == pytest.approx(expected, rel=1e-12)


def test_rational_roots_are_exact_and_others_balls() -> None:
    for found, expected in (
        (power(fmpq(9, 4), fmpq(-3, 2)), fmpq(8, 27)),
        (root_of(1, 3, True)(fmpq(-8, 27)), fmpq(-2, 3)),
        (root_of(2, 3, True)(fmpq(-8)), fmpq(4)),
    ):
        assert isinstance(found, fmpq) and found == expected
    assert isinstance(power(fmpq(2), fmpq(1, 2)), acb)


@pytest.mark.parametrize("turned", [False, True])
def test_a_rational_is_exact_up_to_its_limit_of_bits_above_and_below_the_line(turned: bool) -> None:
    add, multiply = OPERATIONS["Add"], OPERATIONS["Mul"]
    for bits, exact in ((MAX_EXACT_BITS, True), (MAX_EXACT_BITS + 1, False)):
        number = fmpq(1, 2 ** (bits - 1)) if turned else fmpq(2 ** (bits - 1))
        for found in (add(number, fmpq(0)), multiply(number, fmpq(1))):
            assert isinstance(found, fmpq) == exact
            assert bool(ball(found).real.overlaps(arb(number)))


def test_signs() -> None:
    assert [sign(fmpq(n)) for n in (-2, 0, 2)] == [-1, 0, 1]
    assert [sign(value) for value in (acb(-2), acb(0), acb(2), OPEN, acb(0, 1))] == [-1, 0, 1, None, None]


def test_a_logarithm_by_a_base_is_a_quotient() -> None:
    assert complex(log(fmpq(8), fmpq(2))) == pytest.approx(3, abs=1e-12)
    assert complex(log(fmpq(-1))) == pytest.approx(complex(mpmath.log(-1)), abs=1e-12)


def test_an_integer_that_fills_the_memory_is_not_asked_for() -> None:
    """FLINT would end the process."""
    for huge in (arb(2) ** 10**15, -(arb(2) ** 10**15), acb(2) ** 10**15, arb("inf")):
        assert whole(huge) is None
        assert snap(huge) is huge
    assert (whole(arb(3)), whole(arb(2) ** (MAX_EXACT_BITS - 1)), whole(arb(2) ** MAX_EXACT_BITS)) == (
        3,
        2 ** (MAX_EXACT_BITS - 1),
        None,
    )
    assert (whole(arb(0.5)), whole(arb(0, 1))) == (None, None)
    assert snap(acb(3)) == 3
