"""Which fillers have one value."""

import pytest

from dgltree import read_infix
from dgltree.equations.completion.lines import Values


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("x - 3", "(x^2 - 9)/(x + 3)", True),
        ("1 - sin(x)^2", "cos(x)^2", True),
        ("sqrt(x^2)", "abs(x)", True),
        ("log(x*y) - log(x)", "log(y)", True),
        ("sqrt(-4)", "2*sqrt(-1)", True),
        ("1/cos(atan(x))^2", "x^2 + 1", True),
        ("x", "abs(x)", False),
        ("4 - x", "abs(x - 4)", False),
        ("2000 - x", "abs(x - 2000)", False),
        ("-2", "(-8)^(1/3)", False),
        ("x", "x + 1/10^6", False),
        ("2", "3", False),
    ],
)
def test_values_agree_wherever_both_are_real(a: str, b: str, same: bool) -> None:
    values = Values(["x", "y"])
    assert values.same(read_infix(a), read_infix(b)) == same
    assert values.same(read_infix(b), read_infix(a)) == same


def test_what_is_equal_on_a_part_overlaps() -> None:
    values = Values(["x"])
    assert values.overlap(read_infix("x"), read_infix("abs(x)"))
    assert not values.overlap(read_infix("x"), read_infix("x + 1"))
    assert values.is_real(read_infix("log(x)")) and not values.is_real(read_infix("sqrt(-1 - x^2)"))
