"""What belongs to one argument in a typed text: what a bracket holds, and a fraction with its sign."""

import pytest

from dgltree import read_infix
from dgltree.equations.typed import read_typed_expression
from dgltree.equations.typed.tokens import arguments


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("(a)", 1),
        ("(a, b)", 2),
        ("[a; b, c]", 3),
        ("(f(a, b))", 1),
        ("(f(a, b), c)", 2),
        ("({a, b}; [c, d])", 2),
        ("(a), b", 1),
        ("(a, b", 0),
        ("a, b", 0),
        ("", 0),
    ],
)
def test_arguments_are_counted_in_their_own_bracket_alone(text: str, count: int) -> None:
    assert arguments(text, 0) == count
    assert arguments(f"f{text}", 1) == count


@pytest.mark.parametrize(
    ("typed", "strict"),
    [
        ("\\frac{-1}{2}^2", "(-1/2)^2"),
        ("\\frac{1}{2}^2", "(1/2)^2"),
        ("x\\frac{-2}{3}", "x*(-2/3)"),
        ("x - \\frac{-1}{2}", "x - (-1/2)"),
        ("2^\\frac{-1}{2}", "2^(-1/2)"),
        ("\\frac{-1}{2}x^2", "(-1/2)*x^2"),
        ("2\\frac{-1}{2}", "2*(-1/2)"),
        ("-\\frac{-1}{2}", "-(-1/2)"),
    ],
)
def test_a_fraction_is_one_value_whatever_its_sign(typed: str, strict: str) -> None:
    assert read_typed_expression(typed) == read_infix(strict)
