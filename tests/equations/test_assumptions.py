"""Assumptions about variables: where a length or a time is positive, and an angle within a turn."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import fmpq

from dgltree import check, complete, read_equation, verify, write_infix
from dgltree.commands.main import main
from dgltree.equations.completion.assumptions import read_assumption, read_assumptions, verdict_under
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain


@pytest.mark.parametrize(
    ("question", "answer", "assume", "mark"),
    [
        ("a² + b² = c², c = _", "√(a²+b²)", [], "positive"),
        ("a² + b² = c², c = _", "√(a²+b²)", ["c > 0"], "right"),
        ("a² + b² = c², c = _", "-√(a²+b²)", ["c > 0"], "wrong"),
        ("a² + b² = c², c = _", "±√(a²+b²)", ["c > 0"], "wrong"),
        ("a² + b² = c², c = _", "±√(a²+b²)", [], "right"),
        ("a² + b² = c², c = _", "a + b", ["c > 0"], "wrong"),
        ("T^2 = 4pi^2 L/g, T = _", "2pi sqrt(L/g)", [], "positive"),
        ("T^2 = 4pi^2 L/g, T = _", "2pi sqrt(L/g)", ["T > 0"], "right"),
        ("T = 2pi sqrt(L/g), L = _", "g T^2/(4pi^2)", ["T > 0 and g > 0"], "right"),
        ("sqrt(x^2) = _", "x", [], "part"),
        ("sqrt(x^2) = _", "x", ["x > 0"], "right"),
        ("sqrt(x^2) = _", "x", ["x in [1, 2]"], "right"),
        ("sqrt(x^2) = _", "x", ["x in [-1, 2]"], "part"),
        ("sqrt(x^2) = _", "-x", ["x > 0"], "wrong"),
        ("ln(x*y) = _", "ln x + ln y", ["x > 0", "y > 0"], "right"),
        ("sqrt(a^2 b) = _", "a sqrt(b)", ["a > 0"], "right"),
        ("sqrt(a^2 b^2) = _", "a b", ["a > 0"], "part"),
        ("sqrt(a^2 b^2) = _", "a |b|", ["a > 0"], "right"),
        ("x^2 = 4, x = _", "2", ["x > 0"], "right"),
        ("x^2 = 4, x = _", "±2", ["x > 0"], "wrong"),
        ("x^2 = 4, x = _", "no solution", ["x > 0"], "wrong"),
        ("x^2 = 4, x = _", "no solution", ["x > 5"], "right"),
        ("sin(x) = 1/2, x = _", "pi/6, 5pi/6", ["x in [0, 2π)"], "right"),
        ("sin(x) = 1/2, x = _", "30°, 150°", ["0 <= x < 2π"], "right"),
        ("sin(x) = 1/2, x = _", "pi/6", ["x in [0, 2π)"], "incomplete"),
        ("sin(x) = 1/2, x = _", "13pi/6, 5pi/6", ["x in [0, 2π)"], "wrong"),
        ("sin(x) = 0, x = _", "0, π", ["x in [0, 2π)"], "right"),
        ("sin(x) = 0, x = _", "0, π, 2π", ["x in [0, 2π)"], "wrong"),
        ("sin(x) = 0, x = _", "0, π, 2π", ["x in [0, 2π]"], "right"),
        ("sin(x) = 0, x = _", "0, π", ["x in [0, 2π]"], "incomplete"),
        ("tan(x) = 1, x = _", "pi/4", ["x ∈ [0; 2π["], "incomplete"),
        ("tan(x) = 1, x = _", "pi/4, 5pi/4", ["x ∈ [0; 2π["], "right"),
        ("x/3 = 4/9, x = _", "4/3", ["x integer"], "wrong"),
        ("\\theta^2 = 4, \\theta = _", "2", ["θ > 0"], "right"),
    ],
)
def test_marks_where_it_is_assumed(question: str, answer: str, assume: list[str], mark: str) -> None:
    assert check(question, answer, assume=assume).mark.value == mark


def test_counts_are_those_of_the_solutions_that_are_as_assumed() -> None:
    found = check("tan(x) = 1, x = _", "pi/4", assume=["x in [0, 2π)"])
    assert found.counts == (1, 1, 2) and found.missing == ("pi/4 + pi",)
    assert check("x^2 = 4, x = _", "2", assume=["x > 0"]).counts == (1, 1, 1)


def test_solutions_and_equations_are_judged_where_it_is_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [write_infix(one.trees[0]) for one in complete("x^2 = 4, x = _", assume=["x > 0"]).fillers] == ["2"]
    assert str(verify("log(x^2) = 2log(x)", assume=["x > 0"])) == "holds where x > 0 (proved)"
    assert verify("sqrt(x^2) = x", assume=["x > 0"]).holds_as_assumed
    assert not verify("sqrt(x^2) = x", assume=["x > -1"]).holds_as_assumed
    assert main(["verify", "sqrt(x^2) = x", "--assume", "x > 0", "--json"]) == 0
    assert '"holds_as_assumed": true' in capsys.readouterr().out
    assert main(["complete", "x^2 = 4, x = _", "--assume", "x < 0"]) == 0
    assert "x = -2" in capsys.readouterr().out
    assert main(["check", "x^2 = 4, x = _", "2", "--assume", "x > 0"]) == 0
    assert "right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["x >> 0"], "cannot be read; expected T > 0"),
        (["x"], "cannot be read"),
        (["x > y"], "the equation does not contain y"),
        (["x > 2, x < 1"], "x > 2 and x < 1 contradict each other"),
        (["x > 2", "x < 1"], "x > 2 and x < 1 contradict each other"),
        (["x > 2", "x <= 2"], "contradict each other"),
        (["x integer", "1/3 < x < 2/3"], "contradict each other"),
        (["x > x"], "the assumption about x depends on itself"),
        (["y > 0"], "y > 0 is assumed, but the equation does not contain y"),
    ],
)
def test_what_is_no_assumption_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check("x^2 = 4, x = _", "2", assume=texts)


def test_a_number_is_in_an_interval_as_fractions_say() -> None:
    draw = random.Random(7)
    for _ in range(200):
        low, high = sorted(Fraction(draw.randint(-9, 9), draw.randint(1, 4)) for _ in range(2))
        value = draw.choice([low, high, Fraction(draw.randint(-40, 40), 4)])
        left, right = draw.choice("[]("), draw.choice("[])")
        inside = (low < value or (low == value and left == "[")) and (value < high or (value == high and right == "]"))
        assumption = read_assumption(f"x in {left}{low}; {high}{right}")
        assert assumption.allows(fmpq(value.numerator, value.denominator)) is inside


VALUES: dict[str, Callable[[float, float], complex]] = {
    "sqrt(x^2*y)": lambda x, y: complex(x * x * y) ** 0.5,
    "x*sqrt(y)": lambda x, y: x * complex(y) ** 0.5,
    "abs(x)*sqrt(y)": lambda x, y: abs(x) * complex(y) ** 0.5,
    "sqrt(x^2)*abs(y)": lambda x, y: abs(x) * abs(y),
    "x*y": lambda x, y: x * y,
    "x*abs(y)": lambda x, y: x * abs(y),
    "abs(x*y)": lambda x, y: abs(x * y),
    "-(x*y)": lambda x, y: -(x * y),
    "x^2*y/x": lambda x, y: x * y,
    "y*sqrt(x^4)/x": lambda x, y: y * abs(x * x) / x,
    "sqrt(x^2*y^2)": lambda x, y: abs(x * y),
}


@pytest.mark.slow
def test_what_holds_where_it_is_assumed_holds_at_points_by_complex_numbers_and_what_does_not_has_one() -> None:
    draw, judge = random.Random(3), Judge()
    outcomes = set()
    for left in VALUES:
        for right in VALUES:
            for texts in (["x > 0"], ["x > 0", "y > 0"]):
                equation = read_equation(f"{left} = {right}")
                verdict, holds = verdict_under(judge, equation, read_assumptions(texts))
                points = [(draw.uniform(0.1, 9), draw.uniform(0.1, 9) * (1 if len(texts) > 1 else draw.choice((1, -1))))
                          for _ in range(20)]  # fmt: skip
                sides = [(VALUES[left](*point), VALUES[right](*point)) for point in points]
                real = [pair for pair in sides if all(abs(complex(side).imag) < 1e-9 for side in pair)]
                agree = all(math.isclose(complex(a).real, complex(b).real, abs_tol=1e-9) for a, b in real)
                outcomes.add(holds)
                assert agree if holds else (not agree or verdict.domain is not Domain.NONE), (left, right, texts)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("question", "answer", "assume", "mark"),
    [
        ("cos(n*pi) = _", "(-1)^n", ["n integer"], "right"),
        ("cos(n*pi) = _", "1", ["n integer"], "wrong"),
        ("sin(n*pi/3) = _", "0", ["n integer"], "wrong"),
        ("(-1)^(2n) = _", "1", ["n integer"], "right"),
        ("(-1)^(3n) = _", "1", ["n integer"], "wrong"),
        ("tan(x+n*pi) = _", "tan(x)", ["n integer"], "right"),
        ("sin(x+n*pi) = _", "sin(x)", ["n integer"], "wrong"),
        ("i^(4n) = _", "1", ["n integer"], "right"),
        ("i^(2n) = _", "1", ["n integer"], "wrong"),
        ("(x^2)^n = _", "x^(2n)", ["n integer"], "right"),
        ("|n| = _", "n", ["n integer", "n > -1"], "right"),
        ("|n| = _", "n", ["n integer", "n >= -1"], "wrong"),
        ("|n-3|+|n-4| = _", "1", ["n integer", "3 <= n <= 4"], "right"),
        ("alpha = acos(b/c), b = _", "c*cos(alpha)", ["0 <= alpha <= pi"], "right"),
        ("alpha = acos(b/c), b = _", "c*cos(alpha)", ["0 <= alpha <= 4"], "right"),  # none beyond pi
        ("alpha = acos(b/c), b = _", "-c*cos(alpha)", ["0 <= alpha <= 4"], "wrong"),
        ("sqrt((a-b)^2) = _", "a-b", ["a > b"], "right"),
        ("sqrt((a-b)^2) = _", "a-b", ["a < b"], "wrong"),
        ("|a-2|+b = _", "2-a+b", ["a <= 2"], "right"),
        ("|a-2|+b = _", "2-a+b", ["a <= 2.01"], "wrong"),
        ("sqrt(x^2) = _", "x", ["x < 0"], "wrong"),
        ("sqrt(x^2)*b = _", "x*b", ["x in [0, 1]"], "right"),
        ("|x-1|*b = _", "(1-x)*b", ["x in [0, 1]"], "right"),
        ("|x-1|*b = _", "(1-x)*b", ["x in [0, 1.001]"], "wrong"),
    ],
)
def test_whole_numbers_and_ends_are_the_domain_of_the_judge(
    question: str, answer: str, assume: list[str], mark: str
) -> None:
    assert check(question, answer, assume=assume).mark.value == mark


@pytest.mark.parametrize(
    ("equation", "assume", "grade"),
    [
        ("cos(n*pi) = (-1)^n", ["n integer"], "proved"),
        ("sin(x + 2*n*pi) = sin(x)", ["n integer"], "proved"),
        ("(a*b)^n = a^n*b^n", ["n integer"], "proved"),
        ("abs(a - 2) + b = 2 - a + b", ["a <= 2"], "proved"),
        ("sqrt((a - b)^2) = a - b", ["a > b"], "proved"),
        ("acos(cos(t))*r = r*t", ["0 <= t <= pi"], "tested"),
    ],
)
def test_what_is_proved_of_parameters_is_proved_as_assumed(equation: str, assume: list[str], grade: str) -> None:
    found = verify(equation, assume=assume)
    assert found.holds_as_assumed and found.verdict.grade.value == grade


def test_a_closed_end_counts_and_an_open_one_does_not() -> None:
    assert verify("abs(x - 1)*y/(x - 1) = -y", assume=["x < 1"]).holds_as_assumed
    found = verify("asin(sin(x))*y + abs(cos(x))*y = x*y + cos(x)*y", assume=["-pi/2 <= x <= pi/2"])
    assert found.holds_as_assumed
