"""Syntax trees in JSON, and JSON whose children are under many keys or are numbers."""

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dgltree import Tree, TreeDataset
from dgltree.datasets.objects import read_objects
from dgltree.datasets.settings import Reading
from dgltree.read.json_fields import AST, read_fields, read_syntax
from dgltree.read.json_tree import NODE_LIST, Keys, read_json_tree

BINARY = {
    "type": "BinaryExpression",
    "operator": "+",
    "left": {"type": "Identifier", "name": "x", "range": [0, 1], "start": 0},
    "right": {"type": "Literal", "value": 1, "raw": "1", "loc": {"start": {"line": 1, "column": 4}}},
}
SOURCES = [
    "const f = (a, b) => a ? b + 1 : {x: 'y', z: /a/g, ...q};",
    "if (a) { b(); } else for (let i = 0; i < 3; i++) [, i] = [1, , 2];",
    "class A extends B { static get c() { return `t ${1} u`; } *d() { yield super.e; } }",
    "switch (x) { case 1: break; default: throw new Error('n'); } label: while (0) continue label;",
]


def test_a_node_has_its_children_from_all_keys() -> None:
    wanted = (Tree("operator", token="+"), Tree("Identifier", token="x"), Tree("Literal", token="1"))
    assert read_syntax(json.dumps(BINARY)) == Tree("BinaryExpression", wanted)
    assert read_objects([BINARY], Reading()) == [Tree("BinaryExpression", wanted)]


@pytest.mark.parametrize(
    ("node", "tree"),
    [
        ({"type": "Literal", "value": "1"}, Tree("Literal", token='"1"')),
        ({"type": "Literal", "value": 1.50}, Tree("Literal", token="1.5")),
        ({"type": "Literal", "value": False}, Tree("Literal", token="false")),
        ({"type": "A", "async": False, "b": None, "c": []}, Tree("A")),
        ({"type": "A", "async": True, "b": "x"}, Tree("A", (Tree("async", token="true"), Tree("b", token="x")))),
        ({"type": "A", "b": [None, {"type": "B"}]}, Tree("A", (Tree("null"), Tree("B")))),
        ({"type": "A", "b": [[{"type": "B"}], "c"]}, Tree("A", (Tree("b", (Tree("B"),)), Tree("b", token="c")))),
        ({"type": "A", "b": {"c": "d", "e": "f"}}, None),
    ],
)
def test_what_a_node_may_hold(node: dict[str, Any], tree: Tree | None) -> None:
    inner = Tree("b", (Tree("c", token="d"), Tree("e", token="f")))
    assert read_syntax(json.dumps(node)) == (tree or Tree("A", (inner,)))


@pytest.mark.parametrize("source", SOURCES)
def test_estree_has_the_nodes_that_esprima_counts(source: str) -> None:
    esprima = pytest.importorskip("esprima")
    visited: list[str] = []

    class Visitor(esprima.visitor.Visitor):
        def visit_Object(self, node: Any) -> Any:  # noqa: N802 (esprima names it)
            visited.extend([node.type] if node.type else [])
            return (yield from super().visit_Object(node))

    program = esprima.parseModule(source)
    Visitor().visit(program)
    tree = read_syntax(json.dumps(program.toDict(), default=str))
    assert Counter(node.function for node in tree.preorder() if node.function in visited) == Counter(visited)


@pytest.mark.filterwarnings("ignore:.*removed in Python 3.14:DeprecationWarning")  # of ast2json
@pytest.mark.parametrize(
    "source", ["def f(x, *y, z=None):\n  return [x + 1 for x in y if x] or 'a'\n", Path(__file__).read_text()]
)
def test_json_of_ast_has_the_nodes_of_ast(source: str) -> None:
    ast2json = pytest.importorskip("ast2json")
    text = json.dumps(ast2json.ast2json(ast.parse(source)))
    found = [node.function for node in read_syntax(text, AST).preorder() if node.function[0].isupper()]
    wanted = [node for node in ast.walk(ast.parse(source)) if not isinstance(node, ast.expr_context)]
    assert Counter(found) == Counter(name for node in wanted if (name := type(node).__name__)[0].isupper())


def test_none_is_a_constant_of_python() -> None:
    text = '{"_type": "Return", "value": {"_type": "Constant", "value": null, "kind": null}}'
    assert read_syntax(text, AST) == Tree("Return", (Tree("Constant", token="null"),))


def test_all_keys_by_their_star() -> None:
    text = '{"op": "f", "name": "a", "l": {"op": "x", "start": 3}, "r": [{"op": "y"}, 2]}'
    wanted = Tree("f", (Tree("x", token="3"), Tree("y"), Tree("r", token="2")), token="a")
    assert read_fields(text, "op", "name") == wanted


def test_keys_that_hold_nodes_and_that_nobody_named_are_refused(tmp_path: Path) -> None:
    text = '{"type": "Program", "body": [{"type": "A", "test": {"type": "B"}}]}'
    with pytest.raises(
        ValueError, match=r"\$\.body\[0\]: the key 'test' also holds nodes; give --keys 'type,\*,name' to read"
    ):
        read_json_tree(text, Keys("type", "body", "name"))
    path = tmp_path / "t.json"
    path.write_text(text)
    [(tree, _)] = TreeDataset.from_file(path, keys="type,*,name")
    assert tree.size == 3
    assert TreeDataset.from_file(path).reading.notation == "estree"


PYTHON150K = [
    {"type": "Module", "children": [1, 4]},
    {"type": "Expr", "children": [2, 3]},
    {"type": "NameLoad", "value": "x"},
    {"type": "Num", "value": "7"},
    {"type": "Pass"},
]
TREE = Tree("Module", (Tree("Expr", (Tree("NameLoad", token="x"), Tree("Num", token="7"))), Tree("Pass", token="Pass")))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python100k_train.json", f"{json.dumps(PYTHON150K)}\n" * 3),
        ("one.json", json.dumps(PYTHON150K)),
        ("indented.json", json.dumps(PYTHON150K, indent=1)),
        ("javascript.txt", f"{json.dumps([*PYTHON150K, 0])}\n" * 2),
    ],
)
def test_lists_of_nodes_with_numbers_of_their_children(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    data = TreeDataset.from_file(path)
    assert (data.reading.notation, data.bad, data[0][0]) == ("node_list", [], TREE)
    assert TreeDataset.from_file(path, keys="type,children,value")[0][0] == TREE


def test_trees_whose_leaves_are_numbers_are_no_list_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"op": "add", "args": [1, 2]}, {"op": "mul", "args": [3, 4]}]')
    data = TreeDataset.from_file(path, keys="op,args,value")
    assert [tree.size for tree, _ in data if isinstance(tree, Tree)] == [3, 3]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([{"type": "A", "children": [1]}], r"\$\[1\]: found nothing; expected an object with 'type'"),
        (
            [{"type": "A", "children": [1, 1]}, {"type": "B"}],
            r"\$\[0\]: node 1 occurs twice as a child; expected a tree",
        ),
        ([{"type": "A", "children": [1]}, {"type": "B", "children": [0]}], r"\$\[1\]: node 0 occurs twice as a child"),
        ([{"type": "A", "children": [1]}, {"type": "B"}, {"type": "C"}], r"\$\[2\]: not a child of any node"),
        ([{"type": "A", "children": [-1]}], r"\$\[0\]: a child is -1; expected a node number"),
        ([{"type": "A", "children": ["1"]}, {"type": "B"}], r"\$\[0\]: expected a name and, under"),
        ([{"value": "A"}], r"\$\[0\]: the 'type' is null; expected a string"),
        ([], r"\$: found a list; expected an object"),
    ],
)
def test_lists_of_nodes_that_are_no_tree_are_refused(nodes: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_json_tree(json.dumps(nodes), NODE_LIST)


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"type": 3.5, "x": []}', '{"type": ""}', '{"type": {}}', "{"])
def test_what_is_no_syntax_tree_is_refused(text: str) -> None:
    if text == '{"type": 3.5, "x": []}':
        assert read_syntax(text) == Tree("3.5")
        return
    with pytest.raises(ValueError, match=r"expected|no object"):
        read_syntax(text)
