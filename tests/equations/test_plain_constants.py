"""Constants in other words are the numbers that they are worth, where real and principal values say so."""

import random
from fractions import Fraction

import pytest

from dgltree import read_equation, verify, write_equation
from dgltree.equations.truth.judged_equation import plain_constants


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("x^sqrt(4) = x", "x^2 = x"),
        ("x^(2*pi/pi) = sqrt(16)", "x^2 = 4"),
        ("x*(2 + sin(pi)) = x^(1/3 + pi - pi)", "x*2 = x^(1/3)"),
        ("x^(log(9)/log(3)) = x*sin(pi/6)", "x^2 = x*(1/2)"),
        ("x*((-8)^(1/3 + pi - pi)) = 1", "x*(-8)^(1/3) = 1"),
        ("x + exp(-log(3)) = 1", "x + 1/3 = 1"),
    ],
)
def test_a_constant_becomes_its_number(text: str, plain: str) -> None:
    assert write_equation(plain_constants(read_equation(text))) == plain


@pytest.mark.parametrize(
    "text",
    [
        "x + log(-1)/log(-1) = x",  # 1, but not by real values
        "x^(0/0) = x",
        "x*(-8)^(1/3) = x",  # by real values -2, by principal values another
        "x*sin(2*pi/7) = 1",
        "x*(sqrt(5) + 1)/2 = 1",
        "x*exp(pi*sqrt(163)) = 1",  # 262537412640768743.99999999999925
        "x*(9^9^9/9^9^9) = x",  # too large for a proof
        "x*exp(-9^9) = x",
        "x*i^2 = -x",
        "2*pi/pi = 2",  # without a variable values are compared
    ],
)
def test_anything_else_stays_as_it_is_written(text: str) -> None:
    equation = read_equation(text)
    assert plain_constants(equation) == equation


def test_a_verdict_does_not_depend_on_the_words_of_a_constant() -> None:
    plain = "abs(x^2 - 4)*x = x^3 - 4*x"
    words = "abs(x^(2*pi/pi) - sqrt(16))*x = x^(1 + log(exp(2))) - (4 + sin(pi))*x"
    assert verify(words).verdict.place == verify(plain).verdict.place


def test_drawn_numbers_come_back() -> None:
    draw = random.Random(0)
    for _ in range(40):
        q = Fraction(draw.randrange(-99, 99), draw.randrange(1, 99))
        m = draw.randrange(2, 9)
        logarithm = f"log(exp({q.numerator}))/{q.denominator}"
        words = draw.choice([f"({q}*{m})*pi/({m}*pi)", logarithm, f"({q} + pi) - pi", f"({q})*cos(2*pi)"])
        found = plain_constants(read_equation(f"x + ({words}) = x"))
        plain = plain_constants(read_equation(f"x + ({q}) = x"))
        assert write_equation(found) == write_equation(plain)
