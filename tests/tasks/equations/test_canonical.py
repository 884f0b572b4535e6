"""The digests of equations."""

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.read.infix import read_equation
from tasks.equations.canonical import canonical_key


def test_keys_are_the_same_up_to_names_and_sides_and_else_different():
    def key(text):
        return canonical_key(read_equation(text))

    assert key("x + y = y + x") == key("b + a = a + b") == key("var_1 + var_0 = var_0 + var_1")
    assert key("sin(x)^2 + cos(x)^2 = 1") == key("1 = sin(y)^2 + cos(y)^2")
    assert key("x = y") == key("y = x")
    different = [
        "x + y = x",
        "y + x = x",
        "x + x = x",
        "x*y = x",
        "x + 2 = x",
        "x + (-2) = x",
        "x = x + y + y",
        "x = y",
    ]
    assert len({key(text) for text in different}) == len(different)
    assert key("x + pi = x") != key("x + y = x")
