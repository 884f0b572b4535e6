"""The parts of a search: what is written, numbers by value, fitted sums, exact numbers, the path walked back."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dgltree import BLANK, Equation, Tree, read_equation, read_infix, write_infix
from dgltree.equations.expressions.variables import find_blank
from dgltree.equations.search import written_operations
from dgltree.equations.search.inverse import solve_for_blank
from dgltree.equations.search.numbers import constant, name_number, ratio
from dgltree.equations.search.points import CHECK_POINTS, agree, points, value
from dgltree.equations.search.search_space import DEGREES, MOST_TERMS, BasisFunction, fit_sums
from dgltree.equations.truth.elementary import ELEMENTARY, apply
from dgltree.equations.truth.exact import exact_blank, exact_value

X = Tree("Symbol", token="x")
JOINED = [
    ("add", "x", "-3", "x - 3"),
    ("add", "x", "-2*y", "x - 2*y"),
    ("sub", "x", "-y", "x + y"),
    ("sub", "x", "y", "x - y"),
    ("mul", "1", "x", "x"),
    ("mul", "x", "-1", "-x"),
    ("mul", "x", "-2", "-(x*2)"),
    ("mul", "x", "1/y", "x/y"),
    ("div", "6", "4", "3/2"),
    ("div", "x", "1", "x"),
    ("div", "x", "-y", "-(x/y)"),
    ("div", "-1", "-x", "1/x"),
    ("div", "x", "1/2", "2*x"),
    ("div", "x", "y/z", "x*z/y"),
    ("div", "x/y", "z", "x/(y*z)"),
    ("pow", "x", "-1", "1/x"),
    ("pow", "e", "x", "exp(x)"),
    ("pow", "x", "1/2", "sqrt(x)"),
    ("cos", "-x", None, "cos(x)"),
    ("sin", "-x", None, "-sin(x)"),
    ("exp", "-x", None, "exp(-x)"),
    ("log", "x", None, "log(x)"),
    ("sqrt", "x", None, "sqrt(x)"),
    ("neg", "-x", None, "x"),
    ("neg", "-3", None, "3"),
]


@pytest.mark.parametrize(("operation", "left", "right", "expected"), JOINED)
def test_parts_are_joined_as_a_person_writes_them(operation: str, left: str, right: str | None, expected: str) -> None:
    parts = [read_infix(part) for part in (left, right) if part is not None]
    assert write_infix(written_operations.write_operation(operation, parts)) == expected


@pytest.mark.parametrize(("function", "count"), [("sin", 2), ("log", 3), ("Pow", 1), ("f", 1)])
def test_a_function_of_another_number_of_arguments_has_no_value(function: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"no value for function '{function}' of {count} arguments"):
        apply(function, [np.ones(3)] * count)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (3.0, "3"),
        (-0.75, "-3/4"),
        (1 / 3, "1/3"),
        (math.pi / 4, "pi/4"),
        (-2 * math.pi, "-(2*pi)"),
        (math.e, "e"),
        (math.sqrt(2) / 2, "sqrt(2)/2"),
        (2 * math.sqrt(3), "2*sqrt(3)"),
        (math.exp(2), "exp(2)"),
        (math.log(7), "log(7)"),
    ],
)
def test_a_number_is_named_by_its_value(number: float, expected: str) -> None:
    names = [write_infix(tree) for tree in name_number(number)]
    assert names[0] == expected
    for tree in name_number(number):
        assert float(value(tree, points("mixed", [], 1), {})[0]) == pytest.approx(number, rel=1e-12)


def test_a_number_without_a_name_has_none() -> None:
    assert list(name_number(0.1234567890123)) == []
    assert ratio(math.nan) is None and ratio(math.inf) is None and ratio(1e300) is None


def test_a_constant_is_told_from_what_varies() -> None:
    assert constant(np.full(5, 0.5)) == 0.5
    assert constant(np.full(5, 0.5 + 0.1j)) is None
    assert constant(np.array([0.5, 0.5, 0.5001])) is None
    assert constant(np.array([0.5, np.nan])) is None


@pytest.mark.parametrize("text", ["2*x^2 + 5*x - 12", "x^3 - 3/2*x", "7", "1 - x^4"])
def test_a_polynomial_is_fitted_in_falling_and_rising_powers(text: str) -> None:
    at = points("mixed", ["x"], CHECK_POINTS)
    tree = read_infix(text)
    target = np.broadcast_to(value(tree, at, {}), (CHECK_POINTS,))
    found = [write_infix(found) for found in fit_sums(target, [BasisFunction(X, at.values["x"])])]
    assert text in found or write_infix(tree) in found


def test_what_is_no_polynomial_is_not_fitted() -> None:
    at = points("mixed", ["x"], CHECK_POINTS)
    for text in ("sin(x)", "1/(x + 3)", "abs(x)"):
        target = value(read_infix(text), at, {})
        assert list(fit_sums(target, [BasisFunction(X, at.values["x"])])) == []
    assert list(fit_sums(np.full(CHECK_POINTS, np.nan), [BasisFunction(X, at.values["x"])])) == []
    assert list(fit_sums(np.ones(CHECK_POINTS), [])) == []


@pytest.mark.parametrize("count", range(1, 8))
def test_sums_of_as_many_terms_as_the_limit_are_fitted_and_no_more(count: int) -> None:
    """Six generators have just as many terms of degree 2 as the limit, and seven have more."""
    random = np.random.default_rng(count)
    names = [Tree("Symbol", token=f"x{number}") for number in range(count)]
    values = random.uniform(0.5, 2, (count, CHECK_POINTS)) * np.exp(1j * random.uniform(-3, 3, (count, CHECK_POINTS)))
    generators = [BasisFunction(*each) for each in zip(names, values, strict=True)]
    most = DEGREES.get(count, 2)
    for degree in range(1, most + 2):
        found = [write_infix(tree) for tree in fit_sums(2 * values[-1] ** degree + values[0], generators)]
        fits = degree <= most and math.comb(count + degree, degree) <= MOST_TERMS
        power = f"x{count - 1}^{degree}" if degree > 1 else f"x{count - 1}"
        if fits and degree > 1:
            assert found == [f"2*{power} + x0", f"x0 + 2*{power}"]
        assert bool(found) == fits
    assert (math.comb(6 + 2, 2), MOST_TERMS) == (28, 28)


def test_generators_that_depend_on_each_other_still_fit() -> None:
    at = points("mixed", ["x"], CHECK_POINTS)
    waves = [BasisFunction(read_infix(text), value(read_infix(text), at, {})) for text in ("sin(x)", "cos(x)")]
    found = [write_infix(tree) for tree in fit_sums(value(read_infix("cos(x)^2"), at, {}), waves)]
    assert found
    assert all(agree(value(read_infix(text), at, {}), value(read_infix("cos(x)^2"), at, {})) for text in found)


EXACT = {
    "1/3 + 2^10": Fraction(3073, 3),
    "0.3 + 0.45": Fraction(3, 4),
    "2^-3": Fraction(1, 8),
    "10^99*10^99": Fraction(10**198),
    "0*5": Fraction(0),
    "1e3": Fraction(1000),
    "2.5e-1": Fraction(1, 4),
    **dict.fromkeys(["9^9^9^9", "0^0", "0^-1", "4^(1/2)", "x", "10^300*10^300", "sin(0)", "1e999"]),
}


@pytest.mark.parametrize(("text", "expected"), EXACT.items())
def test_exact_numbers(text: str, expected: Fraction | None) -> None:
    assert exact_value(read_infix(text)) == expected


EXACT_BLANKS = {
    "3 + _ = 10": 7,
    "123456789*_ = 121932631112635269": 987654321,
    "10 = 4 - 2*_": -3,
    **dict.fromkeys(["0*_ = 0", "_^2 = 4", "x*_ = 2"]),
}


@pytest.mark.parametrize(("text", "expected"), EXACT_BLANKS.items())
def test_an_exact_blank(text: str, expected: int | None) -> None:
    equation = read_equation(text)
    assert exact_blank(equation, find_blank(equation)) == expected


@pytest.mark.parametrize("region", ["below one", "above one", "complex"])
@pytest.mark.parametrize("function", [*ELEMENTARY, "square", "cube", "root", "log", "base", "exponent"])
def test_the_path_is_walked_back_through_every_function(function: str, region: str) -> None:
    other = {"square": "_^2", "cube": "_^3", "root": "sqrt(_)", "log": "log(_)", "base": "log(3, _)", "exponent": "3^_"}
    left = read_infix(other.get(function, "exp(_)"))
    if function in ELEMENTARY:
        left = Tree(function, (BLANK,))
    at = points(region, ["x"], CHECK_POINTS)
    with np.errstate(all="ignore"):
        blank = at.values["x"] * 0.7
        target = value(left, at, {BLANK: blank})
        usable = np.isfinite(target)
        equation = Equation(left, Tree("Symbol", token="t"))
        at.values["t"] = target
        branches = solve_for_blank(equation, find_blank(equation), at, {})
        solved = [value(left, at, {BLANK: branch}) for branch in branches]
    assert branches
    if usable.any():
        assert any(agree(found[usable], target[usable]) for found in solved)


def test_what_cannot_be_walked_back_gives_nothing() -> None:
    equation = read_equation("f(_) = x", functions=None)
    assert solve_for_blank(equation, find_blank(equation), points("mixed", ["x"], CHECK_POINTS), {}) == []
