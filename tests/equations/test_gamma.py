"""Factorials and binomial coefficients, compared with mpmath."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import acb, ctx, fmpq

from dgltree import verify
from dgltree.equations.truth.elementary import binomial, factorial
from dgltree.equations.truth.evaluator import Evaluator
from dgltree.read.infix import read_infix

NUMBERS = [0, 1, 2, 5, -1, -4, Fraction(1, 2), Fraction(-7, 3), 2.5 + 1j, -0.25 - 3j]


def numbers(number: Any) -> tuple[Any, Any]:
    """For python-flint and for mpmath."""
    if isinstance(number, complex):
        return acb(number), mpmath.mpc(number)
    exact = Fraction(number)
    return fmpq(exact.numerator, exact.denominator), mpmath.mpf(exact.numerator) / exact.denominator


def close(found: Any, wanted: Any) -> bool:
    ball = acb(found)
    difference = mpmath.mpc(*(mpmath.mpf(part.str(60, radius=False)) for part in (ball.real, ball.imag))) - wanted
    return bool(abs(difference) < mpmath.mpf(10) ** -40 * (1 + abs(wanted)))


@pytest.mark.parametrize("n", NUMBERS)
def test_a_factorial_is_that_of_mpmath_and_has_no_value_at_poles(n: Any) -> None:
    with ctx.workprec(256), mpmath.workdps(60):
        ours, theirs = numbers(n)
        if n in (-1, -4):
            assert factorial(ours) is None
        else:
            assert close(factorial(ours), mpmath.factorial(theirs))


@pytest.mark.parametrize("k", NUMBERS)
@pytest.mark.parametrize("n", NUMBERS)
def test_a_binomial_coefficient_is_that_of_mpmath_where_it_has_a_value(n: Any, k: Any) -> None:
    with ctx.workprec(256), mpmath.workdps(60):
        (our_n, their_n), (our_k, their_k) = numbers(n), numbers(k)
        found = binomial(our_n, our_k)
        if k in (-1, -4):
            assert found == 0
        elif n in (-1, -4) and not isinstance(k, int):
            assert found is None
        else:
            assert close(found, mpmath.binomial(their_n, their_k))


def test_whole_numbers_stay_exact() -> None:
    assert factorial(fmpq(20)) == fmpq(2432902008176640000)
    assert binomial(fmpq(1, 2), fmpq(3)) == fmpq(1, 16)
    assert str(verify("5! = 120")) == str(verify("10!/8! = 90")) == "holds everywhere (proved)"


AT_POINTS = {
    "factorial(x)": lambda x, y: mpmath.factorial(x),
    "binomial(x, y)": mpmath.binomial,
    "factorial(x*y + 1)": lambda x, y: mpmath.factorial(x * y + 1),
    "binomial(3*x, x - 1/3)": lambda x, y: mpmath.binomial(3 * x, x - mpmath.mpf(1) / 3),
}


@pytest.mark.parametrize("text", AT_POINTS)
def test_floating_point_values_are_within_their_error_bounds(text: str) -> None:
    evaluator = Evaluator()
    with np.errstate(all="ignore"):
        x, y = (evaluator.value(read_infix(name))[0] for name in ("x", "y"))
        values, _, errors = evaluator.value(read_infix(text))
    usable = np.flatnonzero(np.isfinite(errors))
    assert len(usable) > 20
    for place in usable:
        with mpmath.workdps(40):
            wanted = AT_POINTS[text](mpmath.mpc(complex(x[place])), mpmath.mpc(complex(y[place])))
            assert abs(mpmath.mpc(complex(values[place])) - wanted) <= errors[place]


def test_identities_of_textbooks_hold_and_false_ones_are_refuted() -> None:
    assert str(verify(r"\binom{n}{k} = \frac{n!}{k!(n-k)!}")).startswith("holds everywhere")
    assert str(verify("n! = n (n-1)!")).startswith("holds everywhere (tested)")
    assert str(verify(r"\binom{n}{k} = \frac{n!}{k!(n-k+1)!}")).startswith("does not hold: at")
    assert str(verify("n! = n^2")) == "does not hold: at n = 2 left is 2, right is 4"
