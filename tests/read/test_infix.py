import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from infix_cases import (
    READINGS,
    add,
    decimal,
    half,
    inverse,
    minus_one,
    minus_two,
    mul,
    one,
    power,
    rational,
    symbol,
    trees,
    two,
    x,
    y,
)

from dgltree.read.infix import SPECIAL_FUNCTIONS, read_equation, read_infix
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.notation import FUNCTIONS
from dgltree.read.notations import NOTATIONS
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree


@pytest.mark.parametrize("text", READINGS)
def test_infix_reads_to_the_letter(text):
    assert read_infix(text) == READINGS[text]


@pytest.mark.parametrize("tree", READINGS.values(), ids=READINGS)
def test_every_tree_of_the_table_is_written_and_read_back(tree):
    assert read_infix(write_infix(tree)) == tree


PRETTY = (
    "x + y + z",
    "x - y",
    "x - y*z",
    "x - (y + z)",
    "x - 2",
    "x - 1/2",
    "x + -2",
    "-x + y",
    "-x",
    "-2^x",
    "-2^-1",
    "-(2)",
    "-(1/2)",
    "-1/x",
    "(-2)^x",
    "-1/2*x",
    "x*(1/2)",
    "x*(y*z)",
    "x/y",
    "1/x",
    "x/(1/2)",
    "1*2^-1",
    "-(x*y)",
    "2*x",
    "2^3^x",
    "(2^3)^x",
    "x^-1",
    "x^(1/3)",
    "2^-x",
    "sin(x)^2 + cos(x)^2",
    "sqrt(x + 1)",
    "log(x)",
    "log(x, 2)",
    "Add(x + y, y, _)",
    "Mul(x)",
)


@pytest.mark.parametrize("text", PRETTY)
def test_the_writer_is_pretty_and_brackets_no_more_than_it_must(text):
    assert write_infix(read_infix(text)) == text


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (mul(one, inverse(two)), "1*2^-1"),
        (mul(minus_one, two), "-(2)"),
        (mul(minus_one, one), "-(1)"),
        (mul(minus_one, minus_one), "-(-1)"),
        (mul(minus_one, half), "-(1/2)"),
        (mul(minus_one, inverse(two)), "-2^-1"),
        (mul(rational("2/5"), inverse(two)), "2/5/2"),
        (power(rational("-1/2"), minus_two), "(-1/2)^-2"),
        (power(decimal("-0.5"), x), "(-0.5)^x"),
        (Tree("Add", (x,)), "Add(x)"),
        (Tree("f", (x, y)), "f(x, y)"),
    ],
)
def test_lookalikes_are_written_apart(tree, text):
    assert write_infix(tree) == text
    assert read_infix(text, functions=None) == tree


NODES = [("Add", 2), ("Mul", 2), ("Pow", 2), ("log", 2), ("sin", 1), ("exp", 1), ("Add", 3), ("Mul", 1), ("Pow", 1)]
UNKNOWN = [("f", 1), ("f", 3), ("sqrt", 2), ("sin", 2), ("log", 3), ("Symbol", 1), ("Integer", 2)]


@given(trees(NODES))
def test_reading_undoes_writing(tree):
    assert read_infix(write_infix(tree)) == tree


@given(trees(NODES + UNKNOWN))
def test_reading_any_function_undoes_writing(tree):
    assert read_infix(write_infix(tree), functions=None) == tree


@given(trees(NODES), trees(NODES))
def test_reading_an_equation_undoes_writing(left, right):
    assert read_equation(write_equation(Equation(left, right))) == Equation(left, right)


@given(st.text("xe2.1 ()+-*/^=,_α²'?\n") | st.text())
def test_any_text_is_read_or_refused_with_its_place(text):
    for read in (read_infix, read_equation):
        try:
            read(text, functions=None)
        except ValueError as error:
            assert re.match(r"line \d+, column \d+: ", str(error))


def test_an_equation_has_two_sides():
    assert read_equation("x + _ = 1/2") == Equation(add(x, BLANK), half)
    assert read_equation("1 = x") == Equation(one, x)
    assert write_equation(Equation(add(x, BLANK), half)) == "x + _ = 1/2"


OPERAND = "a number, a name, '(' or '-'"
REFUSED = {
    "": (1, 1, f"unexpected end of the text; expected {OPERAND}"),
    " \n ": (1, 1, f"unexpected end of the text; expected {OPERAND}"),
    "x +": (1, 4, f"unexpected end of the text; expected {OPERAND}"),
    "x + )": (1, 5, f"unexpected ')'; expected {OPERAND}"),
    "x\n  + * y": (2, 5, f"unexpected '*'; expected {OPERAND}"),
    "+x": (1, 1, f"unexpected '+'; expected {OPERAND}"),
    "()": (1, 2, f"unexpected ')'; expected {OPERAND}"),
    "Add()": (1, 5, f"unexpected ')'; expected {OPERAND}"),
    "x)": (1, 2, "unexpected ')'; expected an operator or the end of the text"),
    "(x": (1, 3, "unexpected end of the text; expected an operator or ')'"),
    "(x, y)": (1, 3, "unexpected ','; expected an operator or ')'"),
    "log(x": (1, 6, "unexpected end of the text; expected an operator or ',' or ')'"),
    "x ? y": (1, 3, "unexpected '?'; expected an operator or the end of the text"),
    "$": (1, 1, f"unexpected '$'; expected {OPERAND}"),
    "x − y": (1, 3, "unexpected '−'; expected an operator or the end of the text"),
    "__import__('os').system('true')": (1, 12, f'unexpected "\'"; expected {OPERAND}'),
    "x.y": (1, 2, "unexpected '.'; expected an operator or the end of the text"),
    "2x": (1, 2, "unexpected 'x' with no operator before it; write 2*x"),
    "2(x)": (1, 2, "unexpected '(' with no operator before it; write 2*(...)"),
    "x y": (1, 3, "unexpected 'y' with no operator before it; write x*y"),
    "(x)(y)": (1, 4, "unexpected '(' with no operator before it; write (...)*(...)"),
    "sin(x)2": (1, 7, "unexpected '2' with no operator before it; write (...)*2"),
    "sin x": (1, 5, "unexpected 'x' with no operator before it; write sin(x)"),
    "1.5.3": (1, 4, "unexpected '.3' with no operator before it; write 1.5*.3"),
    "sin + 1": (1, 1, "'sin' is a function, not a variable; write sin(...)"),
    "x*Add": (1, 3, "'Add' is a function, not a variable; write Add(...)"),
    "pi(x)": (1, 1, "'pi' is a constant; for a product write pi*(...)"),
    "1 + _(x)": (1, 5, "'_' is the blank; for a product write _*(...)"),
    "x +\n sine(x)": (
        2,
        2,
        "unknown function 'sine' (nearest known: sin, sinh, asin); for a product write sine*(...)",
    ),
    "sin(x, y)": (1, 1, "'sin' takes 1 argument, not 2"),
    "1 - log(x, y, z)": (1, 5, "'log' takes 1 or 2 arguments, not 3"),
    "x²": (1, 1, "'x²' is not a name; a name is made of letters, digits and '_'"),
    "1 + " + 4301 * "1": (1, 5, "a number of 4301 characters; at most 4300 are read"),
    "x = y": (1, 3, "unexpected '=' in an expression; use read_equation for equations"),
}


@pytest.mark.parametrize("text", REFUSED, ids=[text[:20] for text in REFUSED])
def test_a_refusal_says_where_what_and_what_instead(text):
    line, column, message = REFUSED[text]
    with pytest.raises(ValueError) as error:
        read_infix(text)
    assert str(error.value) == f"line {line}, column {column}: {message}"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, f"unexpected end of the text; expected {OPERAND}"),
        ("x + y", 6, "the text ends without '='; write an equation as left = right"),
        ("x = y = z", 7, "unexpected second '='; write an equation as left = right"),
        ("x == y", 4, f"unexpected '='; expected {OPERAND}"),
        ("= x", 1, f"unexpected '='; expected {OPERAND}"),
        ("x =", 4, f"unexpected end of the text; expected {OPERAND}"),
        ("(x = y)", 4, "unexpected '='; expected an operator or ')'"),
        ("x = y)", 6, "unexpected ')'; expected an operator or the end of the text"),
        ("x) = y", 2, "unexpected ')'; expected an operator or '='"),
    ],
)
def test_a_refused_equation_says_what_is_wrong(text, column, message):
    with pytest.raises(ValueError) as error:
        read_equation(text)
    assert str(error.value) == f"line 1, column {column}: {message}"


def test_an_unknown_function_unlike_any_other_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown function 'qqq' \(known: Add, Mul, Pow, abs, acos, .*, tanh\)"):
        read_infix("qqq(x)")


def test_the_known_functions_can_be_chosen():
    functions = {"f": (1, 3)}
    assert read_infix("f(x, sin, 1) + Mul(x)", functions) == add(Tree("f", (x, symbol("sin"), one)), Tree("Mul", (x,)))
    with pytest.raises(ValueError, match=r"^line 1, column 1: 'f' takes 1 or 3 arguments, not 2$"):
        read_infix("f(x, y)", functions)
    with pytest.raises(ValueError, match=r"^line 1, column 5: unknown function 'sin' \(known: Add, Mul, Pow, f\)"):
        read_infix("1 + sin(x)", functions)
    with pytest.raises(ValueError, match="'f' is a function, not a variable"):
        read_infix("f + 1", functions)
    assert read_infix("f(f, y)", functions=None) == Tree("f", (symbol("f"), y))


def test_every_known_function_is_written_and_read_back():
    for name, arities in FUNCTIONS.items():
        for arity in arities:
            tree = read_infix(f"{name}({', '.join('xyz'[:arity])})")
            assert read_infix(write_infix(tree)) == tree


@pytest.mark.parametrize(
    "node",
    [
        symbol("pi"),
        symbol("sin"),
        symbol("Add"),
        symbol("_"),
        symbol("x y"),
        symbol("x²"),
        symbol("2"),
        symbol("x\n"),
        symbol(""),
        Tree("Symbol"),
        Tree("Symbol", token="x", label=1),
        Tree("Symbol", token="x", value=1.0),
        Tree("Number", value=2.0),
        Tree("NP", token="x"),
        Tree("sin"),
        Tree("_", token="_"),
        Tree("Pi", token="3"),
        Tree("Integer", token="abc"),
        Tree("Integer", token="-1"),
        Tree("Integer", token="1/2"),
        Tree("Integer", token="٣"),
        Tree("Integer", token="02"),
        Tree("Integer", token="--2"),
        Tree("Integer", token=5000 * "1"),
        Tree("NegativeOne", token="1"),
        Tree("Half", token="0.5"),
        rational("2/4"),
        rational("1/2"),
        rational("1/0"),
        rational("1/-3"),
        decimal("7"),
        decimal("1e"),
        decimal("inf"),
        decimal("+0.5"),
        Tree("sin", (x,), token="x"),
        Tree("Add", (x, y), label=3),
        Tree("Mul", (minus_one, x), label=3),
        Tree("Pow", (x, minus_one), value=3),
        minus_one.replace(label="a"),
        Tree("pi", (x,)),
        Tree("_", (x,)),
        Tree("a b", (x,)),
        Tree("sqrt", (x,)),
        Tree("log", (x,)),
    ],
)
def test_a_tree_that_infix_cannot_say_is_refused_by_naming_the_node(node):
    places = [node, add(x, node), mul(x, node), mul(node, x), mul(minus_one, node), add(x, mul(node, y))]
    for tree in (*places, power(x, node), mul(x, inverse(node)), mul(x, power(y, node))):
        with pytest.raises(ValueError, match=re.escape(repr(node))):
            write_infix(tree)


def test_nested_brackets_are_read_at_any_depth():
    n = 20_000
    assert read_infix("(" * n + "x" + ")" * n) == x
    with pytest.raises(ValueError, match=f"^line 1, column {n + 2}: unexpected end of the text; expected an operator"):
        read_infix("(" * n + "x")


def test_deep_calls_are_read_and_written():
    n = 10**4
    text = "sin(" * n + "x" + ")" * n
    tree = read_infix(text)
    assert tree.depth == n
    assert write_infix(tree) == text


@pytest.mark.parametrize("head", ["x + ", "-", "x^", "x/", "x - "])
def test_long_chains_are_read_and_written(head):
    text = head * 10**4 + "y"
    tree = read_infix(text)
    assert tree.depth >= 10**4
    assert write_infix(tree) == text


def test_a_deep_tree_is_written_and_a_wide_one_too():
    deep = x
    for _ in range(20_000):
        deep = mul(x, deep)
    assert write_infix(deep) == "x*(" * 19_999 + "x*x" + ")" * 19_999
    wide = Tree("Add", [x] * 10**4)
    assert read_infix(write_infix(wide)) == wide


def test_tables_have_special_functions_that_nothing_judges() -> None:
    read, x = NOTATIONS["infix"].read, Tree("Symbol", token="x")
    assert read("erf(x)") == read("Erf(x)") == Tree("erf", [x])
    assert read("gamma*gamma(x) + Li") == read_infix("gamma*exp(x) + Li").fold(
        lambda node, children: node.replace(
            function="gamma" if node.function == "exp" else node.function, children=children
        )
    )
    assert read("PolyLog(2, x)").function == "polylog"
    for name, (_, arities) in SPECIAL_FUNCTIONS.items():
        for count in range(4):
            text = f"{name}({', '.join('x' * count)})" if count else name
            if count in arities:
                assert read(text).children == (x,) * count
            elif count:
                with pytest.raises(ValueError, match=f"line 1, column 1: '{name}' takes"):
                    read(text)
            else:
                assert read(text) == Tree("Symbol", token=name)
    for text in ("erf(x)", "gamma(x)"):
        with pytest.raises(ValueError, match="unknown function"):
            read_infix(text)
    with pytest.raises(ValueError, match="unknown function 'foo'"):
        read("foo(x)")
