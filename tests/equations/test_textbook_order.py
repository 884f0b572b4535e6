"""The printing order: as books have it, of the same canonical form, and the same for all trees that have that form."""

from random import Random

import pytest

from dgltree import Tree, read_equation, read_infix, write_infix
from dgltree.equations.expressions.canonical_form import canonical
from dgltree.equations.expressions.textbook_order import TextbookOrder, textbook_order
from dgltree.read.notation import HALF, number


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("-3 + x", "x - 3"),
        ("x*2", "2*x"),
        ("(1 + x)^2", "(x + 1)^2"),
        ("6 + x*x - x*5", "x^2 - 5*x + 6"),
        ("y*x*(1 + x)*3/4", "3/4*x*y*(x + 1)"),
        ("-1*x/2", "-x/2"),
        ("pi*5/6", "5*pi/6"),
        ("x*pi*5/6", "5*pi*x/6"),
        ("x*5/6", "5/6*x"),
        ("x*5/(6*y)", "5*x/(6*y)"),
        ("sqrt(3)*2", "2*sqrt(3)"),
        ("log(2)*x", "x*log(2)"),
        ("cos(y)*sin(x) + sin(y)*cos(x)", "sin(x)*cos(y) + cos(x)*sin(y)"),
        ("cos(x)*sin(x)*2", "2*sin(x)*cos(x)"),
        ("-4*a*c + b^2", "b^2 - 4*a*c"),
        ("-1*x^2 + 1", "1 - x^2"),
        ("2 + 3*x - x^2", "-x^2 + 3*x + 2"),
        ("cos(2*x) + 1", "1 + cos(2*x)"),
        ("-1 + 2*cos(x)^2", "2*cos(x)^2 - 1"),
        ("1 + exp(x)", "exp(x) + 1"),
        ("sqrt(5) + 1", "1 + sqrt(5)"),
        ("1/x + 1", "1 + 1/x"),
        ("y^2 + y*x*2 + x^2", "x^2 + 2*x*y + y^2"),
        ("-1/(1 + x)", "-1/(x + 1)"),
        ("0*x + 0/0", "0*x + 0/0"),
        ("7^5000*x", "7^5000*x"),
    ],
)
def test_terms_and_factors_are_in_the_order_of_books(text: str, printed: str) -> None:
    assert write_infix(textbook_order(read_infix(text))) == printed


def test_next_to_an_equation_names_and_sums_are_as_there() -> None:
    formula = read_equation("F = G*m*M/(r + h)^2")
    order = TextbookOrder(formula)
    assert write_infix(order(read_infix("M*m*G/F"))) == "G*m*M/F"
    assert write_infix(order(read_infix("(h + r)*M"))) == "M*(r + h)"
    assert write_infix(textbook_order(read_infix("(r + h)*M"))) == "M*(h + r)"


def at_random(random: Random, levels: int) -> Tree:
    if levels == 0 or random.random() < 0.2:
        return read_infix(random.choice(["x", "y", "2", "-1", "3/4", "pi", "0.5", "sqrt(2)"]))
    first, second = (at_random(random, levels - 1) for _ in range(2))
    name = random.choice(["Add", "Add", "Mul", "Mul", "Pow", "sin", "log"])
    if name == "Pow":
        return Tree(name, (first, random.choice([number("2"), number("-1"), HALF, second])))
    return Tree(name, (first,) if name == "sin" else (first, second))


def test_the_printed_tree_has_the_same_canonical_form_and_is_printed_as_it_is() -> None:
    random = Random(1)
    for _ in range(500):
        tree = at_random(random, 4)
        printed = textbook_order(tree)
        assert canonical(printed) == canonical(tree), write_infix(tree)
        assert textbook_order(printed) == printed
        assert read_infix(write_infix(printed)) == printed


def test_deep_and_shared_trees_are_printed_without_recursion() -> None:
    tree = read_infix("x + 1")
    for level in range(3000):
        tree = Tree("sin", (tree,)) if level % 2 else Tree("Add", (tree, read_infix("y")))
    assert canonical(textbook_order(tree)) == canonical(tree)
