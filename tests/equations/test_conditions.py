"""Where a side may have no value, as it is written."""

import pytest

from dgltree import Equation, read_equation, read_infix
from dgltree.equations.truth.conditions import MAX_CONDITION_LENGTH, MAX_CONDITIONS, conditions
from dgltree.equations.truth.program import Program


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/x = y", ["x = 0"]),
        ("x^(-2) + x^-1/2 = x^-1", ["x = 0"]),
        ("1/cosh(x) + 1/exp(x) + 1/2^x = 1/sinh(x)", ["sinh(x) = 0"]),
        ("tan(x) + tanh(y) = sec(2*x)", ["cos(x) = 0", "cos(2*x) = 0"]),
        ("cot(x)*csc(y) = coth(z) + csch(x)", ["sin(x) = 0", "sin(y) = 0", "sinh(z) = 0", "sinh(x) = 0"]),
        ("log(x + 1, y) = log(exp(x), 2)", ["x + 1 = 0", "y = 1"]),
        ("tan(1) + log(2) + 1/3 = x^2 + x^y", []),
    ],
)
def test_conditions_are_those_of_denominators_and_logarithms(text: str, expected: list[str]) -> None:
    assert list(conditions(read_equation(text))) == expected


def test_conditions_are_few_and_short() -> None:
    many = read_equation(" + ".join(f"1/x_{k}" for k in range(MAX_CONDITIONS + 1)) + " = 0")
    assert list(conditions(many)) == [f"x_{k} = 0" for k in range(MAX_CONDITIONS)]
    for length, told in ((MAX_CONDITION_LENGTH, True), (MAX_CONDITION_LENGTH + 1, False)):
        name = "x" * (length - len("1 + "))
        found = conditions(Equation(read_infix(f"1/(1 + {name})"), read_infix("y")))
        assert found == ((f"1 + {name} = 0",) if told else ())


@pytest.mark.parametrize("text", ["x^(1/3) + x^(1/2) = y", "x^(1/2) + x^(1/3) = y", "y = x^(2/5)*x^(1/4)"])
def test_one_odd_root_makes_the_reading_of_roots_matter_wherever_it_is(text: str) -> None:
    assert Program(read_equation(text), school=True).odd_roots
    assert not Program(read_equation("x^(1/2) = x^(3/4)*x^3"), school=True).odd_roots
