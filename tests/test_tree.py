"""Trees: equality, sharing, and depth without recursion."""

import copy
import pickle

import pytest

from dgltree import Tree, Vocabulary, batch
from dgltree.read.bracket import read_treebank, write_treebank

DEEP = 10**6


def x() -> Tree:
    return Tree("var", token="x")


def deep(size: int = DEEP) -> Tree:
    tree = x()
    for _ in range(size):
        tree = Tree("f", (tree,))
    return tree


def test_every_field_counts_in_equality_and_hash() -> None:
    same = Tree("f", [x(), x()], token="t", value=1, label=2)
    assert same == Tree("f", (x(), x()), token="t", value=1.0, label=2)
    assert hash(same) == hash(Tree("f", (x(), x()), token="t", value=1.0, label=2))
    others = [
        same.replace(function="g"),
        same.replace(children=[x()]),
        same.replace(token=None),
        same.replace(value=2),
        same.replace(label="2"),
    ]
    assert all(other != same for other in others)
    assert same != "f"


def test_a_tree_is_immutable() -> None:
    tree = x()
    with pytest.raises(AttributeError, match="immutable"):
        tree.token = "y"
    with pytest.raises(AttributeError, match="immutable"):
        del tree.token
    assert copy.copy(tree) is tree
    assert copy.deepcopy([tree])[0] is tree


def test_size_and_depth() -> None:
    tree = Tree("f", (x(), Tree("g", (x(),))))
    assert (tree.size, tree.depth) == (4, 2)
    assert [node.function for node in tree.preorder()] == ["f", "var", "g", "var"]
    assert tree.fold(lambda node, below: 1 + sum(below)) == 4


def test_repr_is_python_for_a_small_tree_and_short_for_a_large_one() -> None:
    tree = Tree("f", (x(), Tree("num", value=2.0, label=1)))
    assert repr(tree) == "Tree('f', (Tree('var', token='x'), Tree('num', value=2.0, label=1)))"
    assert repr(Tree("f", (x(),))) == "Tree('f', (Tree('var', token='x'),))"
    assert repr(deep(1000)) == "<Tree 'f': 1001 nodes, depth 1000>"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"function": ""}, ValueError),
        ({"function": None}, TypeError),
        ({"function": "f", "children": ["x"]}, TypeError),
        ({"function": "f", "token": 1}, TypeError),
        ({"function": "f", "value": float("nan")}, ValueError),
        ({"function": "f", "value": float("inf")}, ValueError),
    ],
)
def test_bad_fields_are_refused(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        Tree(**arguments)


def test_shared_objects_are_compared_pickled_and_batched_in_distinct_objects() -> None:
    def unfolded_to_2_60() -> Tree:
        tree = x()
        for _ in range(60):
            tree = Tree("f", (tree, tree))
        return tree

    tree = unfolded_to_2_60()
    assert tree.size == 2**61 - 1
    assert tree == unfolded_to_2_60()
    assert hash(tree) == hash(unfolded_to_2_60())
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert batch([tree], Vocabulary([("f", 2), ("var", 0)], ["x"])).num_nodes == 61


def test_a_chain_of_a_million_nodes_is_legal() -> None:
    tree = deep()
    assert tree == deep()
    assert tree != Tree("f", (tree,))
    assert len({tree, deep()}) == 1
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert batch([tree], Vocabulary([("f", 1), ("var", 0)], ["x"])).num_nodes == DEEP + 1
    text = write_treebank(tree)
    assert text.startswith("(f (f (f")
    assert read_treebank(text) == tree
    del tree
