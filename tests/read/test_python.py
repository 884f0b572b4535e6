"""Python source: trees of modules and functions, and what is no Python."""

import ast
import re
import tokenize
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.python import TOKEN_LIMIT, iter_functions, read_python
from dgltree.support.refusal import Refusal
from dgltree.trees.tree import Tree


def name(token):
    return Tree("Name", (identifier(token),))


def identifier(token):
    return Tree("identifier", token=token)


def body(*statements):
    return Tree("body", statements)


def expression(source):
    """The tree of a module's only expression."""
    ((statement,),) = (part.children for part in read_python(source).children)
    assert statement.function == "Expr"
    return statement.children[0]


x, y, one = name("x"), name("y"), Tree("int", token="1")

EXPRESSIONS = {
    "x": x,
    "x + 1": Tree("BinOp", (x, Tree("Add"), one)),
    "f()": Tree("Call", (name("f"),)),
    "f(x, k=1)": Tree(
        "Call",
        (name("f"), Tree("args", (x,)), Tree("keywords", (Tree("keyword", (identifier("k"), one)),))),
    ),
    "x.real": Tree("Attribute", (x, identifier("real"))),
    "x < y != 1": Tree("Compare", (x, Tree("ops", (Tree("Lt"), Tree("NotEq"))), Tree("comparators", (y, one)))),
    "{**x, y: 1}": Tree("Dict", (Tree("keys", (Tree("None"), y)), Tree("values", (x, one)))),
    "x[1:]": Tree("Subscript", (x, Tree("Slice", (one,)))),
    "lambda: x": Tree("Lambda", (Tree("arguments"), x)),
    "lambda *, a, b=1: x": Tree(
        "Lambda",
        (
            Tree(
                "arguments",
                (
                    Tree("kwonlyargs", (Tree("arg", (identifier("a"),)), Tree("arg", (identifier("b"),)))),
                    Tree("kw_defaults", (Tree("None"), one)),
                ),
            ),
            x,
        ),
    ),
    "[]": Tree("List"),
    "u'a'": Tree("str", token="'a'"),
}


@pytest.mark.parametrize(("source", "tree"), EXPRESSIONS.items())
def test_an_expression_is_read(source, tree):
    assert expression(source) == tree


CONSTANTS = {
    "'a\\n\"'": ("str", "'a\\n\"'"),
    "b'a'": ("bytes", "b'a'"),
    "0x10": ("int", "16"),
    "1.50": ("float", "1.5"),
    "1e999": ("float", "inf"),
    "2j": ("complex", "2j"),
    "True": ("bool", "True"),
    "None": ("NoneType", "None"),
    "...": ("ellipsis", "Ellipsis"),
    "'\\ud800'": ("str", "'\\ud800'"),
}


@pytest.mark.parametrize(("source", "leaf"), CONSTANTS.items())
def test_a_constant_is_a_leaf_named_after_its_type(source, leaf):
    function, token = leaf
    assert expression(source) == Tree(function, token=token)


def test_a_long_constant_is_cut():
    assert expression(repr("a" * 1000)).token == "'" + "a" * (TOKEN_LIMIT - 1)
    assert expression("7" * 1000).token == "7" * TOKEN_LIMIT
    assert expression("0x" + "f" * 10_000).token == "0x" + "f" * (TOKEN_LIMIT - 2)


STATEMENTS = {
    "def f(x): return x": Tree(
        "FunctionDef",
        (
            identifier("f"),
            Tree("arguments", (Tree("args", (Tree("arg", (identifier("x"),)),)),)),
            body(Tree("Return", (x,))),
        ),
    ),
    "x = 1  # type: int": Tree("Assign", (Tree("targets", (x,)), one)),
    "global a, b": Tree("Global", (Tree("names", (identifier("a"), identifier("b"))),)),
    "from .a import b as c": Tree(
        "ImportFrom",
        (
            identifier("a"),
            Tree("names", (Tree("alias", (identifier("b"), identifier("c"))),)),
            one,
        ),
    ),
    "match x:\n case None: pass": Tree(
        "Match",
        (
            x,
            Tree(
                "cases",
                (
                    Tree(
                        "match_case",
                        (Tree("MatchSingleton", (Tree("NoneType", token="None"),)), body(Tree("Pass"))),
                    ),
                ),
            ),
        ),
    ),
}


@pytest.mark.parametrize(("source", "tree"), STATEMENTS.items())
def test_a_statement_is_read(source, tree):
    assert read_python(source) == Tree("Module", (body(tree),))


def test_an_empty_module_is_a_leaf():
    assert read_python("") == read_python("# nothing\n") == Tree("Module")


NESTED = """
import a

@decorated
def f(x):
    if x:
        class C:
            async def m(self): pass
        def g(): return lambda: x
    return 1

class A:
    class B:
        def n(self): pass
    try:
        def o(self): pass
    finally:
        def o(self): pass
"""


def test_functions_are_found_wherever_they_are():
    found = list(iter_functions(NESTED))
    assert [(name, line) for name, line, _ in found] == [
        ("f", 5),
        ("f.<locals>.C.m", 8),
        ("f.<locals>.g", 9),
        ("A.B.n", 14),
        ("A.o", 16),
        ("A.o", 18),
    ]
    assert [tree.function for _, _, tree in found] == ["FunctionDef", "AsyncFunctionDef", *["FunctionDef"] * 4]
    assert found[2][2] == read_python("def g(): return lambda: x").children[0].children[0]
    assert any(node is found[0][2] for node in read_python(NESTED).preorder()) is False
    assert any(node is found[2][2] for node in found[0][2].preorder())


def test_a_list_field_is_not_taken_for_a_class_or_function():
    assert list(iter_functions("FunctionDef = ClassDef(x)")) == []


def test_the_tree_has_every_node_that_ast_has():
    with tokenize.open(ast.__file__) as file:
        source = file.read()
    kept = [
        node
        for node in ast.walk(ast.parse(source))
        if not isinstance(node, ast.expr_context | ast.TypeIgnore | ast.Constant)
    ]
    classes = [type(node).__name__ for node in kept]
    functions = [node.function for node in read_python(source).preorder()]
    assert sorted(name for name in functions if name in {*classes}) == sorted(classes)
    definitions = ast.FunctionDef | ast.AsyncFunctionDef
    names = [name.rpartition(".")[2] for name, _, _ in iter_functions(source)]
    assert sorted(names) == sorted(node.name for node in kept if isinstance(node, definitions))


@given(
    st.recursive(
        st.sampled_from(["x", "1", "'a'", "f()"]),
        lambda below: st.lists(below, min_size=1).map(lambda parts: "[" + ", ".join(parts) + "]"),
        max_leaves=20,
    )
)
def test_random_lists_are_read(source):
    def write(node, children):
        match node.function:
            case "List":
                return children[0]
            case "elts":
                return f"[{', '.join(children)}]"
            case "Call":
                return "f()"
            case "Name":
                return node.children[0].token
        return node.token

    assert expression(source).fold(write) == source


def test_warnings_about_the_source_are_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert expression(r"'\d'").token == r"'\\d'"
        assert read_python("1 is 1").size > 1


BAD = {
    "x = 1\ny = (": "line 2, column 5: '(' was never closed; expected Python source",
    "def f():\n  é = 1\n   b": "line 3, column 3: unexpected indent; expected Python source",
    "print 1": "line 1, column 1: Missing parentheses in call to 'print'",
    "a\n\0b": "line 2, column 1: found a NUL character; expected Python source",
    "a = 1\nb = '\ud800'": r"line 2, column 6: found '\ud800'; expected text that UTF-8 can encode",
    "7" * 5000: "line 1, column 1: Exceeds the limit",
    "(" * 100_000: "line 1, column 201: too many nested parentheses",
    "x" + ".a" * 100_000: "the source is nested too deeply for Python's parser; reduce the depth",
    "x" + "+a" * 100_000: "the source is nested too deeply",
    "-" * 100_000 + "x": "the source is nested too deeply for Python's parser; reduce the depth",
}


@pytest.mark.parametrize("read", [read_python, iter_functions])
@pytest.mark.parametrize(("source", "message"), BAD.items(), ids=range(len(BAD)))
def test_what_is_not_python_is_refused_at_once(read, source, message):
    with pytest.raises(ValueError, match=re.escape(message)) as info:
        read(source)
    assert info.type in (ValueError, Refusal)


def test_a_deep_expression_that_python_parses_is_read():
    assert expression("x" + "+a" * 400).depth == 401


def test_a_long_module_is_read():
    assert read_python("x\n" * 20_000).size == 2 + 3 * 20_000
