"""S-expressions: read, written and refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.sexpr import read_sexpr, write_sexpr
from dgltree.trees.tree import Tree


def atom(token):
    return Tree("atom", token=token)


def string(token):
    return Tree("string", token=token)


a, b, c = map(atom, "abc")

SAME = {
    "a": a,
    "(f)": Tree("f"),
    "(f a)": Tree("f", (a,)),
    "(f a (g b c))": Tree("f", (a, Tree("g", (b, c)))),
    "(atom)": Tree("atom"),
    "(string a)": Tree("string", (a,)),
    "(list (a b) c)": Tree("list", (Tree("a", (b,)), c)),
    '(f "" "a (b; c")': Tree("f", (string(""), string("a (b; c"))),
    r'"\"\\"': string('"\\'),
    '"two\nlines"': string("two\nlines"),
    "(f 'a [b {c} #t |d| -1.5e3)": Tree("f", tuple(map(atom, ["'a", "[b", "{c}", "#t", "|d|", "-1.5e3"]))),
    "(f a\xa0b\u2028c\x1cd)": Tree("f", (atom("a\xa0b\u2028c\x1cd"),)),
}
ALSO = {
    "()": Tree("list"),
    "(())": Tree("list", (Tree("list"),)),
    "((a b) c)": Tree("list", (Tree("a", (b,)), c)),
    '("a" b)': Tree("list", (string("a"), b)),
    "(f a())": Tree("f", (a, Tree("list"))),
    '(f a"b"c)': Tree("f", (a, string("b"), c)),
    "\t(\n f\r\na)\f": Tree("f", (a,)),
    "; one\n(f ; two (\n a;three\n);": Tree("f", (a,)),
    "(; one\n f a)": Tree("f", (a,)),
    "(; one\n)": Tree("list"),
    "((a) ; one\n b)": Tree("list", (Tree("a"), b)),
    r'"\n\d"': string(r"\n\d"),
    r'"\\n"': string(r"\n"),
}


@pytest.mark.parametrize(("text", "tree"), SAME.items())
def test_text_and_tree_say_the_same(text, tree):
    assert read_sexpr(text) == tree
    assert write_sexpr(tree) == text


@pytest.mark.parametrize(("text", "tree"), ALSO.items())
def test_text_may_be_nameless_spaced_and_commented(text, tree):
    assert read_sexpr(text) == tree
    assert read_sexpr(write_sexpr(tree)) == tree


BAD = {
    "": "line 1, column 1: found no expression; expected one, as in (+ x (sin y))",
    " ; (a)\n ": "line 1, column 1: found no expression",
    "(f\n (g a)": "line 1, column 1: found no end of the list that opens here; expected ')'",
    "(f\n (g a": "line 2, column 2: found no end of the list that opens here",
    "(f a))": "line 1, column 6: found ')' where no list is open; expected the end of the text",
    ")": "line 1, column 1: found ')' where no list is open; expected '('",
    "a b": "line 1, column 3: found a second expression; expected the end of the text",
    "(f a)\n(g)": "line 2, column 1: found a second expression",
    '(f)"a"': "line 1, column 4: found a second expression",
    '(f "a)': "line 1, column 4: found no end of the string that begins here; expected '\"'",
    '(f)\n"a': "line 2, column 1: found no end of the string that begins here",
    r'"\n\"': "line 1, column 1: found no end of the string that begins here",
}


@pytest.mark.parametrize(("text", "message"), BAD.items())
def test_bad_text_is_refused_where_it_goes_wrong(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_sexpr(text)


@pytest.mark.parametrize(
    "node",
    [
        Tree("f g"),
        Tree("f("),
        Tree('f"'),
        Tree("f;"),
        Tree("f", token="a"),
        Tree("f", (a,), token="a"),
        Tree("f", (a,), value=1.0),
        Tree("f", (a,), label=1),
        Tree("atom", (b,), token="a"),
        Tree("string", (b,), token="a"),
        Tree("string", token="a", label="b"),
        Tree("atom", token="a", value=1.0),
        atom(""),
        atom("a b"),
        atom(")"),
        atom(";"),
        atom('"'),
    ],
)
def test_a_tree_that_the_form_cannot_say_is_refused_with_the_node(node):
    at = f"{node.replace(children=())} with {len(node.children)} children cannot be written as an S-expression"
    for tree in (node, Tree("f", (a, node))):
        with pytest.raises(ValueError, match=re.escape(at)):
            write_sexpr(tree)


words = st.text(st.characters(codec="utf-8", exclude_characters='();" \t\n\r\f\v'), min_size=1)
leaves = st.builds(atom, words) | st.builds(string, st.text(st.sampled_from('a "\\()\n;') | st.characters()))
trees = st.recursive(
    leaves | st.builds(Tree, words),
    lambda below: st.builds(Tree, words | st.just("list"), st.lists(below, max_size=4)),
    max_leaves=20,
)


@given(trees)
def test_trees_survive_writing_and_reading(tree):
    assert read_sexpr(write_sexpr(tree)) == tree


@given(st.lists(st.sampled_from(["(", ")", " ", "\n", "a", '"', ";", "\\", "(f "])).map("".join))
def test_any_text_is_read_or_refused_and_what_is_read_survives_writing(text):
    try:
        tree = read_sexpr(text)
    except ValueError as error:
        assert str(error).startswith("line ")
    else:
        assert read_sexpr(write_sexpr(tree)) == tree


def test_a_deep_chain_is_read_and_written():
    text = "(f " * 20_000 + "a" + ")" * 20_000
    tree = read_sexpr(text)
    assert tree.depth == 20_000
    assert write_sexpr(tree) == text
    assert read_sexpr("(" * 20_000 + ")" * 20_000).depth == 19_999


def test_deep_open_lists_and_a_long_open_string_are_refused():
    with pytest.raises(ValueError, match="line 1, column 299998: found no end of the list"):
        read_sexpr("(f " * 100_000)
    with pytest.raises(ValueError, match="line 1, column 1: found no end of the string that begins here"):
        read_sexpr('"' + r"a\"" * 300_000)
