"""The canonical form: what is the same when rearranged and collected, and how large it may become."""

import pytest

from dgltree import Tree, read_infix
from dgltree.equations.expressions.canonical_form import canonical, restates
from dgltree.equations.expressions.written_form import symbols


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x^2 - 5*x + 6", "6 + (x*x - x*5)", True),
        ("x + x", "2*x", True),
        ("x + 2 - 5", "-3 + x", True),
        ("x*x*x", "x^3", True),
        ("((x)^6)^6", "x^36", True),
        ("sin(x + x)", "sin(2*x)", True),
        ("y/(a*b)", "y/a/b", True),
        ("x^(-1/2)", "1/sqrt(x)", True),
        ("x^(-y)", "1/x^y", True),
        ("-0.5*x", "x*(-1*0.5)", True),
        ("7^5000*x", "x*7^5000", True),
        ("x", "-x", False),
        ("(x + y)^2", "x^2 + 2*x*y + y^2", False),
        ("(x*y)^2", "x^2*y^2", False),
        ("2*(x + y)", "2*x + 2*y", False),
        ("1/sqrt(2)", "sqrt(2)/2", False),
        ("0^0", "1", False),
        ("0/0 + x", "x", False),
        ("x^y", "y^x", False),
    ],
)
def test_what_is_the_same_when_rearranged_and_collected(left: str, right: str, same: bool) -> None:
    assert (canonical(read_infix(left)) == canonical(read_infix(right))) == same


def nested(function: str, levels: int) -> Tree:
    tree = read_infix("x")
    for _ in range(levels):
        tree = Tree(function, (tree, read_infix("6") if function == "Pow" else tree))
    return tree


def test_nested_powers_and_shared_parts_are_counted_not_written_out() -> None:
    power = canonical(nested("Pow", 200))
    assert [part.text for part in power.parts] == ["x"]
    assert power.counts == (6**200,)
    assert canonical(nested("Mul", 300)).counts == (2**300,)
    assert canonical(nested("Add", 300)).value == 2**300
    assert symbols(nested("Mul", 300)) == 2**301 - 1


def test_large_numbers_are_not_worked_out() -> None:
    large = canonical(read_infix("7^5000"))
    assert (large.function, large.parts[0].value, large.counts) == ("Mul", 7, (5000,))
    assert canonical(read_infix("7^500")).value == 7**500


def test_a_plainer_form_of_a_side_does_not_restate_it() -> None:
    assert restates(read_infix("1 + sin(y + x)"), read_infix("sin(x + y)"))
    assert restates(read_infix("1/(1 - x^5)"), read_infix("x^5 - 1"))
    assert not restates(read_infix("2*x"), read_infix("x + x"))
    assert not restates(read_infix("6*x"), read_infix("2*x*3"))
    assert not restates(read_infix("x"), read_infix("x"))
