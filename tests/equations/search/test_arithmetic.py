"""Values as arrays, by which a search finds: against the bounded values of the judge, and at exact limits."""

import math

import numpy as np
import pytest

from dgltree.equations.search import points
from dgltree.equations.search.points import ROWS, TOGETHER, TOLERANCE, Points, agree, rows_at_once, value
from dgltree.equations.truth.elementary import power
from dgltree.read.infix import read_equation, read_infix
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def at(**values: float) -> Points:
    return Points("mixed", {name: np.array([number], float) for name, number in values.items()}, 1)


def test_a_power_of_zero_has_the_value_that_a_textbook_gives_it() -> None:
    with np.errstate(all="ignore"):
        base, exponent = np.array([0.0, 0.0, 0.0, 2.0, -8.0]), np.array([0.0, 2.0, -1.0, 0.0, 1 / 3])
        found = power(base, exponent)
    assert [math.isnan(number) for number in found] == [True, False, False, False, True]
    assert found[1:4].tolist() == [0.0, math.inf, 1.0]


def test_values_agree_up_to_their_relative_limit_at_all_points_and_nan_with_nothing() -> None:
    one = np.array([1.0, 1e8])
    for factor, close in ((1 + 0.9 * TOLERANCE, True), (1 + 1.2 * TOLERANCE, False)):
        assert bool(agree(one, one * factor)) == close
        assert bool(agree(one, one * [1, factor])) == close
    nothing = np.array([1.0, math.nan])
    assert not agree(nothing, nothing)
    assert agree(np.zeros(2), np.array([0.0, 0.9e-13])) and not agree(np.zeros(2), np.array([0.0, 1.2e-13]))
    assert agree(np.stack([one, one]), np.stack([one, 2 * one])).tolist() == [True, False]


def test_fewer_rows_are_put_into_a_blank_on_which_many_nodes_depend(monkeypatch: pytest.MonkeyPatch) -> None:
    few = read_equation("_ + sin(x)^2*cos(x) = 1")
    assert rows_at_once(few) == min(ROWS, TOGETHER // 2)  # the blank and its sum
    tree = Tree("_")
    for _ in range(400):
        tree = Tree("sin", [tree])
    assert rows_at_once(Equation(tree, read_infix("x"))) == TOGETHER // 401
    assert rows_at_once(Equation(tree, tree)) == TOGETHER // 401  # one object, worked out once
    monkeypatch.setattr(points, "TOGETHER", 300)
    assert rows_at_once(Equation(tree, tree)) == 1


@pytest.mark.parametrize(
    "text", ["log(x, y)", "x^y - y^x", "sec(x) + csc(y)*cot(x)", "asinh(x)/acosh(y + 1)", "abs(-x)"]
)
def test_a_value_is_that_of_the_standard_library(text: str) -> None:
    x, y = 0.7, 1.3
    expected = {
        "log(x, y)": math.log(x, y),
        "x^y - y^x": x**y - y**x,
        "sec(x) + csc(y)*cot(x)": 1 / math.cos(x) + 1 / math.sin(y) / math.tan(x),
        "asinh(x)/acosh(y + 1)": math.asinh(x) / math.acosh(y + 1),
        "abs(-x)": x,
    }[text]
    [found] = value(read_infix(text), at(x=x, y=y), {})
    assert complex(found).real == pytest.approx(expected, rel=1e-14)
