"""Error bounds of values, and what is decided from them: how far a difference, and a point, is trusted."""

from collections import Counter
from itertools import product

import mpmath
import numpy as np
import pytest

from dgltree import Equation, Tree, read_equation
from dgltree.equations.truth.elementary import ELEMENTARY, Array
from dgltree.equations.truth.evaluator import (
    EPS,
    MAX_MAGNITUDE,
    MIN_MAGNITUDE,
    POINTS,
    Truth,
    Value,
    apply,
    decide,
    numeric_truth,
    variable_values,
)

TURNS = np.exp(2j * np.pi * np.arange(16) / 16)
"""Directions in which a value may be off."""

CIRCULAR_AND_HYPERBOLIC = sorted(name for name in ELEMENTARY if f"a{name}" in ELEMENTARY)


@pytest.mark.parametrize("name", ["x", "y", "var_3", "phi"])
def test_values_are_spread_over_quadrants_signs_and_sizes_alike(name: str) -> None:
    for domain, low, high in (("complex", 0.4, 2.5), ("wide", 2.5, 7)):
        values = variable_values(name, domain)
        quadrants = Counter(zip(values.real > 0, values.imag > 0, strict=True))
        assert set(quadrants.values()) == {POINTS // 4} and len(quadrants) == 4
        assert ((np.abs(values) >= low) & (np.abs(values) <= high)).all()
    for domain, negative in (("real", POINTS // 2), ("positive", 0)):
        values = variable_values(name, domain)
        assert not values.imag.any() and (values.real < 0).sum() == negative
        assert (np.abs(values) < 1).sum() == POINTS // 2


def known(value: complex | Array, error: float | Array = 0.0) -> Value:
    """A value at all points that is off by at most ``error``."""
    values = np.broadcast_to(np.asarray(value, complex), POINTS)
    return values, np.abs(values), np.broadcast_to(np.asarray(error, float), POINTS)


def decided(left: Value, right: Value) -> Truth:
    with np.errstate(all="ignore"):
        return Truth(int(decide(left, right)))


def worst(function: str, values: list[Array], errors: list[float]) -> Array:
    """How far a function is off, at each point, where its arguments are off by ``errors`` in the worst direction."""
    exact = apply(function, list(map(known, values)))[0]
    off = [
        np.abs(
            apply(function, [known(v + e * turn) for v, e, turn in zip(values, errors, turns, strict=True)])[0] - exact
        )
        for turns in product(TURNS, repeat=len(values))
    ]
    return np.max(off, axis=0)


@pytest.mark.parametrize("errors", [(1e-6, 0.0), (0.0, 1e-6), (1e-6, 1e-6), (1e-4, 1e-9)])
@pytest.mark.parametrize("function", ["Add", "Mul", "Pow", "log"])
def test_the_bound_of_two_arguments_holds_the_errors_of_both(function: str, errors: tuple[float, float]) -> None:
    values = [3 * variable_values("x"), variable_values("y") / 3 + 0.9]
    _, _, bound = apply(function, [known(v, e) for v, e in zip(values, errors, strict=True)])
    off = worst(function, values, list(errors))
    there = np.isfinite(bound)
    assert there.sum() > POINTS - 4
    assert (off <= bound * (1 + 1e-3))[there].all()
    if function != "log":  # a product of two bounds
        assert (bound <= off * (1 + 1e-2) + 1e-12)[there].all(), "nor is a bound so wide that nothing is decided"


@pytest.mark.parametrize("error", [1e-5, 1e-7])
@pytest.mark.parametrize(
    "function",
    sorted(ELEMENTARY),
)
def test_the_bound_of_a_function_holds_the_error_of_its_argument(function: str, error: float) -> None:
    value = variable_values("x")
    _, size, bound = apply(function, [known(value, error)])
    off = worst(function, [value], [error])
    there = np.isfinite(bound)
    assert there.sum() > POINTS - 2, "almost every point is far from a cut"
    assert (off <= bound * (1 + 1e-3))[there].all()
    assert (bound <= 10 * error * (1 + size) ** 2)[there].all(), "nor is a bound so wide that nothing is decided"


@pytest.mark.parametrize("name", sorted(ELEMENTARY))
def test_the_value_of_a_function_is_that_of_mpmath_within_its_bound(name: str) -> None:
    """At points on all sides of every cut."""
    points = 2 * variable_values("x")
    reference = getattr(mpmath, {"abs": "fabs"}.get(name, name))
    with mpmath.workdps(40):
        exact = np.array([complex(reference(mpmath.mpc(point))) for point in points.tolist()])
    value, _, bound = apply(name, [known(points)])
    assert np.isfinite(bound).all()
    assert (np.abs(value - exact) <= bound).all()
    assert np.abs(ELEMENTARY[name](points) - exact).max() < 1e-12
    assert ELEMENTARY[name](points.reshape(4, -1)).dtype == complex


@pytest.mark.parametrize(
    ("name", "cut", "beside"),
    [
        *[(name, point, 1j) for name in ("asin", "acos", "atanh") for point in (2, -3, 1.0001)],
        *[(name, point, 1) for name in ("atan", "asinh") for point in (2j, -1.5j)],
        *[("acosh", point, 1j) for point in (0.5, -2)],
        *[("acot", 0.5j, 1), ("asec", 0.5, 1j), ("acsc", -0.5, 1j), ("acsch", 0.5j, 1), ("asech", 2, 1j)],
        ("acoth", 0.5, 1j),
    ],
)
def test_a_point_at_a_branch_cut_says_nothing(name: str, cut: complex, beside: complex) -> None:
    for off in (0, 1e-12, -1e-12):
        assert not np.isfinite(apply(name, [known(cut + off * beside, 1e-13)])[2]).any()
        assert not np.isfinite(apply(name, [known(cut + off * beside * 1e4, 1e-7)])[2]).any(), "its error reaches it"
    for off in (1e-3, -1e-3):
        assert np.isfinite(apply(name, [known(cut + off * beside, 1e-13)])[2]).all()


@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_an_argument_that_may_be_a_branch_point_says_nothing(name: str) -> None:
    point = 1j if name in ("atan", "asinh") else 1.0
    assert not np.isfinite(apply(name, [known(point + 1e-9 * (1 + 1j), 1e-8)])[2]).any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[(f"{f}(a{f}(x)) = x", Truth.TRUE) for f in CIRCULAR_AND_HYPERBOLIC],
        *[(f"a{f}({f}(x)) = x", Truth.FALSE) for f in CIRCULAR_AND_HYPERBOLIC],
        ("cos(asin(x)) = sqrt(1 - x^2)", Truth.TRUE),
        ("asin(x) + acos(x) = pi/2", Truth.TRUE),
        ("atan(x) + acot(x) = pi/2", Truth.FALSE),
        ("asinh(x) = log(x + sqrt(x^2 + 1))", Truth.TRUE),
        ("acosh(x) = log(x + sqrt(x^2 - 1))", Truth.FALSE),
        ("atanh(x) = (log(1 + x) - log(1 - x))/2", Truth.TRUE),
        ("abs(x*y) = abs(x)*abs(y)", Truth.TRUE),
        ("abs(x)^2 = x^2", Truth.FALSE),
        ("exp(log(x)) = x", Truth.TRUE),
        ("log(x*y) = log(x) + log(y)", Truth.FALSE),
        ("10^log(x, 10) = x", Truth.TRUE),
        ("log(100, 10) = 2", Truth.TRUE),
        ("asin(1) = pi/2", Truth.TRUE),
        ("asin(1/2) = pi/6", Truth.TRUE),
        ("acosh(1) = 0", Truth.TRUE),
        ("atan(1) = pi/3", Truth.FALSE),
        ("asin(2) = x", Truth.UNDECIDED),
        ("acosh(1/2) = x", Truth.UNDECIDED),
    ],
)
def test_equations_of_elementary_functions_are_decided(text: str, expected: Truth) -> None:
    assert numeric_truth(read_equation(text)) is expected


@pytest.mark.parametrize(("leaf", "value"), [("123456", 123456), ("-17", -17), ("22/7", 22 / 7), ("3.25", 3.25)])
def test_any_number_is_a_leaf(leaf: str, value: float) -> None:
    number = Tree("Float", token=repr(value))
    assert numeric_truth(Equation(read_equation(f"{leaf} = x").left, number)) is Truth.TRUE


@pytest.mark.parametrize("exponent", [3, 2, 1, -1, -2, -5])
def test_the_bound_of_a_whole_power_holds_the_error_of_its_base(exponent: int) -> None:
    value, error = variable_values("x") * 2, 1e-6
    _, _, bound = apply("Pow", [known(value, error), known(exponent)])
    off = worst("Pow", [value, known(exponent)[0]], [error, 0.0])
    assert (off <= bound * (1 + 1e-3)).all()
    assert (bound <= off * (1 + 1e-2)).all()


def test_the_bound_of_a_product_is_each_factor_times_the_error_of_the_other() -> None:
    _, _, bound = apply("Mul", [known(1000, 1e-3), known(5, 1e-2)])
    assert bound == pytest.approx(1000 * 1e-2 + 5 * 1e-3 + 1e-3 * 1e-2)
    _, _, bound = apply("Mul", [known(0, 1e-3), known(0, 1e-2)])
    assert bound == pytest.approx(1e-3 * 1e-2), "errors multiply where both factors vanish"


@pytest.mark.parametrize("function", ["Add", "Mul", "Pow", "log"])
def test_a_result_of_exact_arguments_is_off_by_its_rounding(function: str) -> None:
    value, size, bound = apply(function, [known(variable_values("x")), known(variable_values("y"))])
    there = np.isfinite(bound)
    assert (bound >= EPS * size * 0.99)[there].all()
    assert (bound <= 40 * EPS * (1 + size))[there].all()
    assert np.isfinite(value[there]).all()


@pytest.mark.parametrize(
    ("value", "error", "found", "usable"),
    [
        (MAX_MAGNITUDE, 1e-9, MAX_MAGNITUDE, True),
        (2 * MAX_MAGNITUDE, 1e-9, 2 * MAX_MAGNITUDE, False),
        (MIN_MAGNITUDE, 1e-9, MIN_MAGNITUDE, True),
        (MIN_MAGNITUDE / 2, 1e-9, MIN_MAGNITUDE / 2, False),
        (MIN_MAGNITUDE / 2, MIN_MAGNITUDE / 6, 0, True),
        (0, 1e-9, 0, True),
    ],
)
def test_a_value_is_used_within_the_range_and_nothing_where_its_error_swallows_it(
    value: float, error: float, found: float, usable: bool
) -> None:
    """At one point; the others have a value in the middle."""
    values, errors = np.ones(POINTS), np.full(POINTS, 1e-12)
    values[3], errors[3] = value, error
    settled, size, bound = apply("Add", [known(values, errors), known(0)])
    assert (settled[3], size[3], bool(np.isfinite(bound[3]))) == (found, found, usable)
    assert (settled[:3] == 1).all()
    assert np.isfinite(bound[:3]).all()


def at_some(number: int, one: float, other: float) -> Array:
    """One number at so many points and another one at the rest."""
    return np.where(np.arange(POINTS) < number, one, other)


@pytest.mark.parametrize("right", [5.0, 6.0])
def test_twelve_usable_points_decide_and_eleven_do_not(right: float) -> None:
    for usable, expected in ((12, Truth(int(right == 5))), (11, Truth.UNDECIDED)):
        assert decided(known(5, at_some(usable, 1e-15, np.inf)), known(right)) is expected
        assert decided(known(5), known(right, at_some(usable, 1e-15, np.inf))) is expected


def test_a_point_is_usable_where_the_error_is_small_against_one_or_the_larger_side() -> None:
    error = 1e-6
    for one, other in ((1e5, 1e5), (1e5, 3.0), (3.0, 1e5), (1e5, 0.0), (0.0, 1e5)):
        expected = Truth.TRUE if one == other else Truth.FALSE
        assert decided(known(one, error), known(other)) is expected
        assert decided(known(one), known(other, error)) is expected
    assert decided(known(10, error), known(10)) is Truth.UNDECIDED, "1e-7 of the larger side"
    assert decided(known(0, 5e-10), known(0)) is Truth.TRUE
    assert decided(known(0, 2e-9), known(0)) is Truth.UNDECIDED


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [(10, Truth.TRUE), (30, Truth.UNDECIDED), (3e4, Truth.UNDECIDED), (3e5, Truth.FALSE)],
)
def test_a_difference_is_judged_by_the_error_of_either_side(bounds: float, expected: Truth) -> None:
    error = 1e-11
    for left, right in ((error, 0.0), (0.0, error), (error / 2, error / 2)):
        assert decided(known(1, left), known(1 + bounds * error, right)) is expected
        assert decided(known(1 + bounds * error, left), known(1, right)) is expected


def test_sides_that_differ_by_rounding_alone_are_equal() -> None:
    assert decided(known(1.0), known(1 + EPS)) is Truth.TRUE
    assert decided(known(3e5), known(3e5 * (1 + EPS))) is Truth.TRUE


def test_a_point_that_is_not_usable_says_nothing() -> None:
    right = at_some(1, 1e9, 1.0)
    assert decided(known(1, at_some(1, 1e3, 0.0)), known(right)) is Truth.TRUE
    doubtful = np.where(np.arange(POINTS) == 5, 1 + 1e-9, right)
    assert decided(known(1, at_some(1, 1e3, 1e-12)), known(doubtful)) is Truth.UNDECIDED


def test_one_usable_point_that_differs_is_enough() -> None:
    assert decided(known(1), known(at_some(1, 1.1, 1.0))) is Truth.FALSE
