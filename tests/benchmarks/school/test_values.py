"""Which fillers have the value of the answer."""

import numpy as np
import pytest

from benchmarks.school.problems import KNOWN, read_problems
from benchmarks.school.values import DOMAINS, common_points, points, same_value, value
from dgltree import Tree, read_equation, read_infix


@pytest.mark.parametrize(
    ("equation", "answer", "filler", "same"),
    [
        ("x^2 - 9 = (x + 3)*_", "x - 3", "(x^2 - 9)/(x + 3)", True),
        ("x^2 - 9 = (x + 3)*_", "x - 3", "3 - x", False),
        ("x^2 - 9 = (x + 3)*_", "x - 3", "y", False),
        ("sqrt(x^2) = _", "abs(x)", "x", False),  # so it is for positive x alone
        ("sqrt(x^2) = _", "abs(x)", "sqrt(x^2)", True),
        ("exp(_) = x^y", "y*log(x)", "log(x^y)", True),  # equal at real points, not at all complex ones
        ("log(x*y) = log(x) + _", "log(y)", "log(x*y) - log(x)", True),
        ("sqrt(_) = x + 1", "(x + 1)^2", "x^2 + 2*x + 1", True),  # holds at positive points alone
        ("sqrt(_) = x + 1", "(x + 1)^2", "x^2 + 1", False),
        ("atan(_) = pi/2 - atan(x)", "1/x", "tan(acot(x))", True),
        ("sin(x)*_ = 1", "csc(x)", "1/0*x", False),
        ("sin(x)*_ = 1", "csc(x)", "csc(x) + 10^-3", False),
        ("sin(x)*_ = 1", "csc(x)", "foo(x)", False),
        ("sin(x)*_ = 1", "csc(x)", "oo", False),
        ("x*_ = 1", "x", "x", False),  # an answer that does not hold makes nothing right
    ],
)
def test_same_value(equation, answer, filler, same):
    assert same_value(read_infix(filler, None), read_infix(answer, KNOWN), read_equation(equation, KNOWN)) == same


@pytest.mark.parametrize("problem", read_problems(), ids=lambda problem: problem.text)
def test_every_answer_has_its_own_value(problem):
    assert same_value(problem.answer, problem.answer, problem.equation)


def test_points_depend_on_the_name_and_the_domain():
    assert np.array_equal(points("x", "real"), points("x", "real"))
    assert not np.array_equal(points("x", "real"), points("y", "real"))
    assert {len(set(points("x", domain))) for domain in DOMAINS} == {256}
    assert (points("x", "real").imag == 0).all() and (points("x", "real").real < 0).any()
    assert (points("x", "positive").real > 0).all()


def test_parts_of_a_real_equation_are_real():
    usable = common_points(read_equation("sqrt(x*y) = sqrt(x)*sqrt(y)"), "real")
    both = (points("x", "real").real > 0) & (points("y", "real").real > 0)
    assert usable is not None and np.array_equal(usable, both)
    assert common_points(read_equation("sqrt(-1 - x^2) = sqrt(-1 - x^2)"), "real") is None


@pytest.mark.parametrize("name", ["sec", "asec", "acsch", "coth", "acot"])
def test_reciprocals(name):
    inverse = name.removeprefix("a") if name[0] == "a" else f"a{name}"
    there_and_back = value(read_infix(f"{name}({inverse}(x))"), "positive")
    inside = value(read_infix(f"{inverse}({name}(x))"), "positive")
    x = points("x", "positive")
    outer = (there_and_back if name[0] != "a" else inside)[0]
    assert np.allclose(outer[np.isfinite(outer)], x[np.isfinite(outer)])


def test_what_has_no_value():
    with pytest.raises(ValueError, match="no value for function 'sin' of 2 arguments"):
        value(Tree("sin", (read_infix("x"), read_infix("y"))), "real")
    with pytest.raises(ValueError, match="has no value; use variables, numbers, pi and e"):
        value(read_infix("_"), "real")
