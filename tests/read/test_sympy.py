import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.infix import read_equation, read_infix
from dgltree.read.notation import FUNCTIONS
from dgltree.read.sympy import from_sympy, to_sympy
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

X, Y, Z = sympy.symbols("x y z")

KEPT = {
    "x + y + z": None,
    "y + x": sympy.Add(Y, X, evaluate=False),
    "x + x": sympy.Add(X, X, evaluate=False),
    "x + (y + z)": sympy.Add(X, sympy.Add(Y, Z, evaluate=False), evaluate=False),
    "x*0": sympy.Mul(X, 0, evaluate=False),
    "1*x": sympy.Mul(1, X, evaluate=False),
    "2/0": sympy.Mul(2, sympy.Pow(0, -1, evaluate=False), evaluate=False),
    "x - y": sympy.Add(X, sympy.Mul(-1, Y, evaluate=False), evaluate=False),
    "1*2^-1": None,
    "-(2)": None,
    "sqrt(x)": sympy.Pow(X, sympy.S.Half, evaluate=False),
    "sqrt(4)": sympy.Pow(4, sympy.S.Half, evaluate=False),
    "sin(0)": sympy.sin(0, evaluate=False),
    "sin(x + y) + sin(y + x)": None,
    "sin(2) + sin(2.0)": None,
    "exp(x)": sympy.exp(X, evaluate=False),
    "exp(1)": sympy.exp(1, evaluate=False),
    "e^x": sympy.Pow(sympy.E, X, evaluate=False),
    "log(x)": sympy.log(X),
    "log(e)": sympy.log(sympy.E, evaluate=False),
    "log(x, 2)": sympy.log(X, 2, evaluate=False),
    "log(x, x)": None,
    "x": X,
    "_": sympy.Symbol("_"),
    "_1 + _2": sympy.Add(sympy.Symbol("_1"), sympy.Symbol("_2"), evaluate=False),
    "abs(x - 1)": None,
    "abs(x)": sympy.Abs(X),
    "-1": sympy.S.NegativeOne,
    "0": sympy.S.Zero,
    "1": sympy.S.One,
    "-2": sympy.Integer(-2),
    "1/2": sympy.S.Half,
    "-2/5": sympy.Rational(-2, 5),
    "0.7": sympy.Float("0.7"),
    "sin(0.5) + sin(0.50000000000000000000)": None,
    "0.12345678901234567890": sympy.Float("0.12345678901234567890"),
    "0.30000000000000004": sympy.Float("0.30000000000000004"),
    "-2.5": sympy.Float("-2.5"),
    "pi": sympy.pi,
    "e": sympy.E,
    "oo": sympy.oo,
    "nan": sympy.nan,
    "oo - oo": None,
    "nan*0 + sin(nan)": None,
}


@pytest.mark.parametrize("text", KEPT)
def test_a_tree_survives_sympy_and_nothing_is_evaluated(text):
    tree, expected = read_infix(text), KEPT[text]
    expr = to_sympy(tree)
    assert from_sympy(expr) == tree
    if expected is not None:
        assert type(expr) is type(expected)
        assert sympy.srepr(expr) == sympy.srepr(expected)


NUMBERS = ["0", "1", "2", "3", "-1", "-1", "-2", "1/2", "1/3", "-2/5", "0.7", "-0.5", "2.0", "1.0"]
LEAVES = [read_infix(text) for text in ["x", "y", "_", "pi", "e", "oo", "nan", *NUMBERS]]
NODES = [("Add", 2), ("Mul", 2), ("Pow", 2)] * 4 + [("log", 2), ("sin", 1), ("exp", 1), ("cot", 1), ("acoth", 1)]


@st.composite
def trees(draw):
    stack = [Tree("Symbol", token="x")]
    for item in draw(st.lists(st.sampled_from(LEAVES) | st.sampled_from(NODES), max_size=30)):
        if isinstance(item, Tree):
            stack.append(item)
        elif len(stack) >= item[1]:
            stack[-item[1] :] = [Tree(item[0], stack[-item[1] :])]
    while len(stack) > 1:
        stack[-2:] = [Tree("Add", stack[-2:])]
    return stack[0]


@given(trees())
def test_every_binary_tree_comes_back_from_sympy(tree):
    assert from_sympy(to_sympy(tree)) == tree


@given(trees(), trees())
def test_every_equation_comes_back_from_sympy(left, right):
    expr = to_sympy(Equation(left, right))
    assert type(expr) is sympy.Eq
    assert from_sympy(expr) == Equation(left, right)


@given(st.from_regex(r"-?[0-9]{1,3}\.[0-9]{0,25}(e[+-]?[0-9]{1,2})?", fullmatch=True))
def test_a_float_keeps_its_text_or_is_refused(text):
    tree = read_infix(f"sin({text}) + {text}")
    try:
        expr = to_sympy(tree)
    except ValueError as error:
        assert repr(text) in str(error)
    else:
        assert from_sympy(expr) == tree


@pytest.mark.parametrize("x", [0.1, 0.1 + 0.2, 1e22, 5e-324, -1 / 3])
def test_a_double_is_read_from_sympy_with_every_digit(x):
    assert from_sympy(sympy.Float(x)) == Tree("Float", token=repr(x))


def test_every_known_function_comes_back_from_sympy():
    for name, arities in FUNCTIONS.items():
        for arity in arities:
            tree = read_infix(f"{name}({', '.join('xyz'[:arity])})")
            assert from_sympy(to_sympy(tree)) == tree


def test_an_equation_is_an_unevaluated_eq():
    equation = read_equation("x = x")
    assert to_sympy(equation) == sympy.Eq(X, X, evaluate=False)
    assert from_sympy(to_sympy(equation)) == equation


def test_sums_and_products_of_many_terms_become_left_associative():
    assert from_sympy(sympy.Add(X, Y, Z, 1, evaluate=False)) == read_infix("x + y + z + 1")
    assert from_sympy(sympy.Mul(Z, Y, X, evaluate=False)) == read_infix("z*y*x")


def test_evaluated_expressions_are_read_as_they_stand():
    assert from_sympy(sympy.E**X) == read_infix("exp(x)")  # SymPy's choice
    assert from_sympy(-sympy.oo) == read_infix("-oo")
    assert from_sympy(sympy.Symbol("_")) == BLANK
    assert from_sympy(sympy.Function("sin")(X)) == read_infix("sin(x)")
    assert from_sympy(X**2 / 3) == read_infix("(1/3)*x^2")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (read_infix("Add(x, y, z)"), "cannot keep Add with 3 children, only 2"),
        (read_infix("Mul(x)"), "cannot keep Mul with 1 children, only 2"),
        (read_infix("sin(x, y)", functions=None), "cannot keep sin with 2 children, only 1"),
        (read_infix("sine(x)", functions=None), r"cannot keep the function 'sine' \(nearest known: sin, sinh, asin\)"),
        (Tree("sqrt", (read_infix("x"),)), "cannot keep the function 'sqrt'"),
        (Tree("log", (read_infix("x"),)), "cannot keep log with 1 children, only 2"),
        (Tree("sin", (read_infix("x"),), label=1), "cannot keep a token, value or label on an inner node: .*label=1"),
        (Tree("Symbol", token="x", label=1), "no text reads as the leaf .*label=1"),
        (Tree("Symbol", token="pi"), "no text reads as the leaf .*'pi'"),
        (Tree("Integer", token="abc"), "no text reads as the leaf .*'abc'"),
        (Tree("Number", value=2.0), "no text reads as the leaf .*value=2.0"),
        (read_infix("0.70"), "a float's value, not its text: '0.70' would become '0.7'"),
        (read_infix("1e5"), "'1e5' would become '100000.0'"),
        (read_infix("-0.0"), "'-0.0' would become '0.0'"),
    ],
)
def test_what_sympy_cannot_keep_is_refused(tree, message):
    for whole in (tree, Tree("exp", (tree,))):
        with pytest.raises(ValueError, match=message):
            to_sympy(whole)


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (sympy.sinc(X), r"SymPy's sinc \(nearest known: sin, sinh, asin\)"),
        (sympy.Function("f")(X), r"SymPy's f \(known: Add, "),
        (sympy.Function("sin")(X, Y), "SymPy's sin of 2 arguments"),
        (sympy.Sum(X, (X, 1, 2)), r"SymPy's Sum \("),
        (sympy.Derivative(sympy.sin(X), X), r"SymPy's Derivative \("),
        (sympy.Eq(sympy.Eq(X, Y, evaluate=False), Z, evaluate=False), r"SymPy's Equality \("),
        (sympy.Lt(X, Y), r"SymPy's StrictLessThan \("),
        (sympy.zoo, "SymPy's ComplexInfinity zoo"),
        (sympy.I + 1, "SymPy's ImaginaryUnit I"),
        (sympy.true, "SymPy's BooleanTrue True"),
        (sympy.Dummy("x"), "SymPy's Dummy _x"),
        (sympy.Symbol("pi"), "no text reads as the leaf .*'pi'"),
        (sympy.Symbol("a b") + 1, "no text reads as the leaf .*'a b'"),
    ],
)
def test_what_no_tree_stands_for_is_refused_by_name(expr, message):
    with pytest.raises(ValueError, match=message):
        from_sympy(expr)


def test_text_is_never_parsed():
    with pytest.raises(TypeError, match="'x' is not a SymPy expression"):
        from_sympy("x")


@pytest.mark.parametrize("text", ["sin(" * 3000 + "x" + ")" * 3000, "x + " * 3000 + "y"])
def test_deep_trees_come_back_from_sympy(text):
    tree = read_infix(text)
    assert from_sympy(to_sympy(tree)) == tree


def test_a_float_may_have_an_exponent_of_four_digits():
    tree = Tree("Float", token="1.00000000000000e+9999")
    assert from_sympy(to_sympy(tree)) == tree


@pytest.mark.parametrize("text", ["1e10000", "1e10000000", "1.5E-99999999", "1e+0099999"])
def test_a_float_whose_exponent_takes_very_long_is_refused(text):
    with pytest.raises(ValueError, match="would take very long"):
        to_sympy(Tree("Float", token=text))
