"""All real roots of an equation, against decimals of another library, and proofs that there are none."""

import csv
import math
import random
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from flint import fmpq

from dgltree import complete, read_equation
from dgltree.equations.truth.periods import Period, period
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.enclosure import enclosure
from dgltree.equations.truth.proofs.expression import ENCLOSED, X, derivative, domain, from_tree
from dgltree.equations.truth.solutions.isolation import WORK, Isolating, Isolation, loose, narrow, span
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.truth.verdict import Grade
from dgltree.equations.typed import read_typed
from dgltree.read.infix import read_infix
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.tree import Tree

with (Path(__file__).parent / "no_answer.tsv").open(encoding="utf-8") as opened:
    LINES = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
"""60 equations without a solution or without a closed form, labelled by mpmath before the code."""


TURN = "so is x + 2*pi*k for each whole k"


def isolated(text: str) -> tuple[list[float], Isolation]:
    equation = read_equation(text)
    program, turn = Program(equation, school=True), period(equation)
    difference = Tree("Add", (equation.left, Tree("Mul", (MINUS_ONE, equation.right))))
    t = from_tree(difference, {"x": X})
    found = Isolating(t, t, program, "x", None if turn is None else turn.value).run()
    return [float(narrow(program, "x", *bracket, 200).mid()) for bracket in found.brackets], found


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["line"], marks=pytest.mark.slow if k % 5 else ()) for k, row in enumerate(LINES)]
)
def test_an_equation_without_an_answer_says_so_or_has_all_roots_as_numbers(row: dict[str, str]) -> None:
    found = complete(row["line"])
    assert all(filler.verdict.grade is not Grade.REFUTED for filler in found.fillers)
    if row["roots"] == "none":
        assert found.reason == "there is no real solution (proved)"
        assert all("i" in str(filler) for filler in found.fillers)
        return
    assert not found.reason
    wanted = [float(root) for root in row["roots"].split(" ; ")]
    assert sorted(float(str(filler)) for filler in found.fillers) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("exp(x) = 3*x", [0.619061286736, 1.51213455166]),
        ("sin(x) = x/2", [-1.89549426703, 0, 1.89549426703]),
        ("x*(x - 3) = 0", [0, 3]),
        ("x*log(x) = 3", [2.85739078351]),
        ("sin(x) + cos(x) = 1", [0, math.pi / 2]),
        ("sin(2*x) = sin(3*x/2)", [2 * math.pi * k / 7 for k in (-5, -3, -1, 0, 1, 3, 5, 7)]),
    ],
)
def test_the_roots_are_all_there_are(text: str, roots: list[float]) -> None:
    found, known = isolated(text)
    assert known.whole
    assert found == pytest.approx(roots, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(
    "text", ["(x - 1)^2 = 0", "x + cos(x)^2 = x + 1 - sin(x)^2", "abs(x) = x", "sin(x) = sin(1/x)"]
)
def test_what_is_not_proved_is_not_said_to_be_whole(text: str) -> None:
    _, known = isolated(text)
    assert not known.whole or known.doubtful


@pytest.mark.parametrize(
    "text",
    [
        *("exp(x) = x", "log(x) = x", "asin(x) = 2", "2^x + 3^x = 0", "cos(x) = x^2 + 2", "tanh(x) = 2"),
        "sqrt(x)^2 = -4",  # the square of a root that is not real
    ],
)
def test_that_there_is_no_root_is_proved(text: str) -> None:
    assert solve(read_equation(text), "x").are_none


@pytest.mark.parametrize(
    "text",
    [
        *("exp(x) = 3*x", "log(x) + log(-x) = pi*sqrt(-1)", "x^x = -1", "1/x = 1/x", "cos(x) = 1"),
        "asin(x^2 + 2) + asin(-x^2 - 2) = sin(x)*0 + factorial(x)*0",  # a function that is not enclosed
    ],
)
def test_where_there_is_a_root_or_may_be_one_nothing_is_proved(text: str) -> None:
    assert not solve(read_equation(text), "x").are_none


@pytest.mark.parametrize(
    "text",
    [
        *("exp(x) - x^3", "x^(1/3)*abs(x)", "sqrt(x)/(x - 1)", "log(x^2)*sin(x)", "atan(1/x)", "x^x", "acos(x)"),
        *("sec(x)", "tanh(x)", "asinh(2*x)", "acosh(x + 1)"),
    ],
)
def test_values_are_in_their_enclosures(text: str) -> None:
    t = loose(from_tree(read_infix(text), {"x": X}, functions=ENCLOSED))
    program = Program(read_equation(f"{text} = 0*x"), school=True)
    for low, high in ((-3.0, -1.0), (-0.5, 0.25), (0.1, 0.2), (0.5, 4.0), (2.0, math.inf), (-math.inf, -1.5)):
        found = enclosure(t, span(low, high))
        for share in (0.01, 0.3, 0.5, 0.77):
            x = max(low, -50.0) + share * (min(high, 50.0) - max(low, -50.0))
            value = program.at({"x": fmpq(*x.as_integer_ratio())}, 200)[0]
            if value is None:
                continue
            number = complex(value) if not isinstance(value, fmpq) else complex(int(value.p) / int(value.q))
            if not number.imag:
                slack = 1e-12 * abs(number.real) + 1e-15
                assert float(found.low) - slack <= number.real <= float(found.high) + slack


@pytest.mark.parametrize("name", ["tanh", "asinh", "acosh"])
def test_a_function_with_an_enclosure_has_its_derivative_and_domain(name: str) -> None:
    t = from_tree(read_infix(f"{name}(x^2)"), {"x": X}, functions=ENCLOSED)
    at = 1.25
    slope = enclosure(derivative(t), span(at, at))
    assert float(slope.low) == pytest.approx(float(mpmath.diff(lambda x: getattr(mpmath, name)(x**2), at)), rel=1e-9)
    outside = any(not enclosure(u, span(0.5, 0.5)).signs & signs for u, signs in domain(t))
    assert outside == bool(getattr(mpmath, name)(0.25).imag)


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("sin(x) = 1/2", (2, 1)),
        ("tan(x) = 1", (1, 1)),
        ("sin(2*x) = cos(3*x)", (2, 1)),
        ("sin(x/2) + tan(x/3) = 0", (12, 1)),
        ("cos(pi*x) = sin(2*pi*x + 1)", (2, 0)),
        ("sin(3*x + pi/6) = 0", (Fraction(2, 3), 1)),
        ("sin(x/pi) = 0", (2, 2)),
        ("cos(-3*x) = 1/2", (Fraction(2, 3), 1)),
        ("sin(x) = x", None),
        ("sin(x^2) = 0", None),
        ("sin(x) = sin(pi*x)", None),
        ("exp(x) = 1", None),
    ],
)
def test_the_period_is_that_of_all_functions(text: str, turn: tuple[float, int] | None) -> None:
    found = period(read_equation(text))
    assert (found and found[:2]) == turn


@pytest.mark.parametrize(
    ("factor", "power", "text"),
    [("1", 0, "1"), ("2", 0, "2"), ("1/2", 0, "1/2"), ("1", 1, "pi"), ("2/3", 1, "2*pi/3"), ("2", 2, "2*pi^2")],
)
def test_a_period_is_written(factor: str, power: int, text: str) -> None:
    assert str(Period(Fraction(factor), power)) == text


@pytest.mark.parametrize(
    ("line", "found", "remarks"),
    [
        ("sin(x) = 1/2", ["pi/6", "5*pi/6"], ["so is x + 2*pi*k for each whole k"]),
        (
            "-0.4sin(x) + 0.25sin(2x) = 0",
            ["0", "pi", "acos(4/5)", "-acos(4/5)"],
            ["so is x + 2*pi*k for each whole k"],
        ),
        ("sin(x) + cos(x) = 1", ["0", "pi/2"], ["so is x + 2*pi*k for each whole k"]),
        ("sin(pi x) = 1/2", ["1/6", "5/6"], ["so is x + 2*k for each whole k"]),
        ("sin(3x) = cos(3x)", ["pi/12", "-pi/4"], ["so is x + (2*pi/3)*k for each whole k"]),
        (
            "x^3 - 3x + 1 = 0",
            ["2*cos(2*pi/9)", "2*cos(4*pi/9)", "2*cos(8*pi/9)"],
            ["x = 2*cos(2*pi/9) or x = 2*cos(4*pi/9) or x = 2*cos(8*pi/9): all real solutions"],
        ),
        ("x^2 = 4", ["2", "-2"], ["x = 2 or x = -2: all real solutions"]),
        ("exp(x) = 2", ["log(2)"], ["x = log(2): the only real solution"]),
    ],
)
def test_periodic_equations_have_the_solutions_of_one_period(line: str, found: list[str], remarks: list[str]) -> None:
    answer = complete(f"{line}, x = _")
    assert [str(filler) for filler in answer.fillers] == found
    assert answer.remarks() == remarks


@pytest.mark.parametrize("seed", range(20))
def test_the_solutions_that_are_said_to_be_all_are_those_that_an_equation_was_made_of(seed: int) -> None:
    rng = random.Random(seed)
    roots = rng.sample(range(-9, 10), rng.choice((1, 2, 3)))
    factors = [f"(x - ({root}))" for root in roots] + ["(x^2 + 1)"] * rng.choice((0, 1))
    left = "*".join(rng.sample(factors, len(factors)))
    if rng.random() < 0.5:  # exp is 1 at 0 alone
        left = f"exp({left}) - 1"
    [said] = [remark for remark in complete(f"{left} = 0, x = _").remarks() if "real solution" in remark]
    listed, _, claim = said.partition(": ")
    assert sorted(int(each.removeprefix("x = ")) for each in listed.split(" or ")) == sorted(roots)
    assert claim == ("the only real solution" if len(roots) == 1 else "all real solutions")


def test_that_more_solutions_may_exist_is_said() -> None:
    assert complete("tan(x) = x, x = _").remarks() == ["there may be more solutions"]


@pytest.mark.slow
def test_a_root_of_a_polynomial_of_other_letters_is_said_to_be_one() -> None:
    welch = "n = (s1^2/n1 + s2^2/n2)^2/((s1^2/n1)^2/(n1 - 1) + (s2^2/n2)^2/(n2 - 1)), n1 = _"
    found = complete(welch)
    assert (found.fillers, found.reason) == (
        (),
        "n1 is a root of a polynomial of degree 3 whose coefficients have the other letters",
    )


def test_a_tower_of_powers_is_looked_at_less_often() -> None:
    """Its slope has many parts, of which each costs as much as a plain expression."""
    plain, tower = (
        from_tree(read_typed(text).equation.left, {"x": X}) for text in ("e^x = 3", f"e^{{5x}}{'^{5x}' * 40} = 3")
    )
    program = Program(read_equation("exp(x) = 3"), school=True)
    assert Isolating(plain, plain, program, "x").work == WORK
    assert Isolating(tower, tower, program, "x").work < WORK / 2


@pytest.mark.parametrize(
    ("text", "count"),
    [("cbrt(x) + exp(x) = 1/3", 1), ("cbrt(x - 1) + atan(x) = 0", 1)],
)
def test_an_expression_rises_across_a_corner_and_a_vertical_tangent(text: str, count: int) -> None:
    found = solve(read_typed(text).equation, "x")
    assert (len(found.roots), found.are_all) == (count, True)
