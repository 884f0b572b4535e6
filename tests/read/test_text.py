"""What all readers' errors have in common, and JSON without NaN."""

import json

import pytest

from dgltree.read.bracket import write_sst, write_treebank, write_unlabelled
from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.json_text import write_json
from dgltree.read.preorder import write_preorder
from dgltree.read.sexpr import write_sexpr
from dgltree.read.text import one_line
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def test_a_text_is_shown_on_one_printable_line() -> None:
    assert one_line("a\tb\n\x1b[31m\x00\x85\u2028\ud800 é 木") == "a\\tb\\n\\x1b[31m\\x00\\x85\\u2028\\ud800 é 木"
    assert one_line("a" * 50 + "b" * 50, longest=10) == "aaaaa ... bbbbb"


def test_an_error_quotes_only_so_much() -> None:
    with pytest.raises(ValueError, match="line 1, column 3") as error:
        read_infix("x " + "y" * 1_000_000)
    assert len(str(error.value)) < 600


def test_json_never_holds_what_json_does_not_have() -> None:
    nan, infinite = float("nan"), float("inf")
    value = {"a": nan, "b": [infinite, 1.5, (-infinite, "nan")], "c": {"d": nan}, "e": True}
    assert json.loads(write_json(value), parse_constant=None) == {
        "a": None,
        "b": [None, 1.5, [None, "nan"]],
        "c": {"d": None},
        "e": True,
    }
    assert "\n" in write_json(value, indent=1)


@pytest.mark.parametrize(
    ("write", "tree"),
    [
        (write_infix, lambda tree: Tree("Add", (tree, tree))),
        (lambda tree: write_equation(Equation(tree, tree)), lambda tree: Tree("Mul", (tree, tree))),
        (write_preorder, lambda tree: Tree("Add", (tree, tree))),
        (write_sexpr, lambda tree: Tree("f", (tree, tree))),
        (write_treebank, lambda tree: Tree("NP", (tree, tree))),
        (write_sst, lambda tree: Tree("phrase", (tree, tree), label=3)),
        (write_unlabelled, lambda tree: Tree("phrase", (tree, tree))),
    ],
)
def test_a_tree_that_unfolds_without_an_end_is_not_written(write, tree) -> None:
    shared = Tree("Symbol", token="x")
    for _ in range(60):
        shared = tree(shared)
    with pytest.raises(
        ValueError,
        match=r"the tree has 2,305,843,009,213,693,951 nodes, counting a shared node once per parent; at most",
    ):
        write(shared)
