"""Real roots as decimals, against mpmath."""

import mpmath
import pytest
from flint import fmpq

from dgltree.equations.truth.balls import ball
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.solutions.isolation import narrow, sign_changes
from dgltree.read.infix import read_equation


def roots(text: str) -> list[float]:
    program = Program(read_equation(text), school=True)
    brackets = sign_changes(program, "x")
    return sorted(float(narrow(program, "x", *bracket, 200).mid()) for bracket in brackets)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("cos(x) = x", [0.7]),
        ("x^5 - x - 1 = 0", [1.2]),
        ("exp(x) = 3*x", [0.6, 1.5]),
        ("x*log(x) = 2", [2.3]),
        ("exp(x) = 1000000*x", [1e-6, 17.0]),
        ("x^(1/3) = x^2 - 5", [2.5, -1.9]),
    ],
)
def test_roots_are_those_of_another_library(text: str, near: list[float]) -> None:
    equation = read_equation(text)
    program = Program(equation, school=True)
    found = roots(text)
    assert len(found) == len(near)
    for root, start in zip(sorted(found), sorted(near), strict=True):
        left, right = map(ball, program.at({"x": fmpq(*root.as_integer_ratio())}, 200))
        assert abs(complex(left - right)) < 1e-9 * max(1.0, abs(complex(left)))
        assert root == pytest.approx(start, rel=0.2)


def test_a_pole_and_a_jump_are_no_roots() -> None:
    assert roots("1/x = 0") == []
    assert roots("tan(x) = 0.5")[:2] == pytest.approx(
        [float(mpmath.atan(0.5)) - k * mpmath.pi for k in (4, 3)], rel=1e-9
    )
    assert roots("abs(x)/x = 1/2") == []
    assert roots("sqrt(x) = -1") == []
