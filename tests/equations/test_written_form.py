"""Length in symbols and sameness of form."""

import pytest

from benchmarks.school.problems import KNOWN
from dgltree import read_infix
from dgltree.equations.expressions.written_form import form, symbols

LENGTHS = {
    "x": 1,
    "27": 1,
    "0.75": 1,
    "-1": 2,
    "1/2": 3,
    "x - 3": 3,
    "-3 + x": 3,
    "-x": 2,
    "-x - y": 4,
    "-(x + y)": 4,
    "x - (y - z)": 5,
    "3*x^2*y": 7,
    "sqrt(x)": 2,
    "x^(-1/2)": 4,
    "1/x": 3,
    "x^-1": 3,
    "x/(a*b)": 5,
    "x/a/b": 5,
    "2/5*x": 5,
    "-2*x": 4,
    "log(x)": 2,
    "log(x, 2)": 3,
    "abs(x)": 2,
    "x*1": 1,
    "1*1": 1,
    "x^1": 1,
    "(2*x)^y": 5,
    "x^(-y)": 4,
}


@pytest.mark.parametrize("text", LENGTHS)
def test_length(text):
    assert symbols(read_infix(text, KNOWN)) == LENGTHS[text]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x - 3", "x + -3", True),
        ("x - 3", "-3 + x", False),
        ("x + (y + z)", "x + y + z", True),
        ("x*(y*z)", "x*y*z", True),
        ("x*y", "y*x", False),
        ("1/x^2", "x^-2", True),
        ("exp(x)/2", "1/2*exp(x)", True),
        ("sqrt(x)", "x^(1/2)", True),
        ("x - (y + z)", "x - y - z", False),
        ("2*x", "x + x", False),
        ("x", "-x", False),
    ],
)
def test_sameness(left, right, same):
    assert (form(read_infix(left)) == form(read_infix(right))) == same
