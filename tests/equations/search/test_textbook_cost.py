"""What textbooks avoid costs more than its length."""

import pytest

from dgltree import read_equation, read_infix
from dgltree.equations.expressions.variables import find_blank
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.textbook_cost import is_plain_term, textbook_cost


@pytest.mark.parametrize(
    ("textbooks", "other"),
    [
        ("4*m^2*n^2", "(2*m*n)^2"),
        ("x^2 - 2*x + 2", "2 - x*(2 - x)"),
        ("x^2 - 2*x + 2", "(x - 1)^2 + 1"),
        ("sqrt(1 - x^2)", "sin(acos(x))"),
        ("sqrt(x^2 + 1)", "exp(asinh(x)) - x"),
        ("x + sqrt(x^2 - 1)", "exp(x)^(acosh(x)/x)"),
        ("abs(x)", "sqrt(x^2)"),
        ("pi/2 - x", "asin(1) - x"),
        ("2*sqrt(-1)", "sqrt(-4)"),
        ("a*b/(a + b)", "a/(1 + a/b)"),
        ("1/(1/a + 1/b + 1/c)", "c/(1 + c/a + c/b)"),
    ],
)
def test_the_textbooks_form_costs_less(textbooks: str, other: str) -> None:
    assert textbook_cost(read_infix(textbooks)) < textbook_cost(read_infix(other))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("(x + y)^3 = x^3 + _ + y^3", True),
        ("(a + b + c)^2 = a^2 + b^2 + c^2 + 2*_", True),
        ("2*x^2 - 12*x + 7 = 2*_ - 11", False),
        ("x^2 - 1 = (x - 1)*_", False),
        ("x^2 + 6*x = (x + 3)^2 - _", False),
        ("x = _", False),
    ],
)
def test_a_blank_among_plain_terms_has_no_brackets(text: str, plain: bool) -> None:
    assert is_plain_term(find_blank(read_equation(text))) == plain
    factored, expanded = read_infix("p*q*(p - q)"), read_infix("p^2*q - p*q^2")
    assert (textbook_cost(expanded, plain) < textbook_cost(factored, plain)) == plain


@pytest.mark.parametrize(
    ("text", "more"),
    [("x + (x + 1)^2", 3), ("x + 1/(x + 1)", 0), ("x + 2*(x + 1)", 3), ("x + sqrt(x + 1)", 0), ("(2*x)^2", 3)],
)
def test_brackets_in_a_sum_cost_more_and_those_below_a_fraction_do_not(text: str, more: float) -> None:
    tree = read_infix(text)
    assert textbook_cost(tree) - symbols(tree) == more
