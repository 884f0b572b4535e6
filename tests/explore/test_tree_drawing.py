"""Trees as the page draws them: nodes in preorder, one tree after the other, each with its own states."""

import pytest
import torch
from helpers import VOCABULARY, random_tree

from dgltree import Tree, batch, propagate, read_infix
from dgltree.cells import TreeLSTM
from dgltree.explore.tree_drawing import list_nodes, trace_trees, unfold_tree

FIRST, SECOND = read_infix("sin(x)*(y + 2)"), read_infix("z^3")


def test_the_trees_of_a_pair_are_drawn_in_their_order() -> None:
    names = ["×", "sin", "x", "+", "y", "2", "^", "z", "3"]
    parents = [-1, 0, 1, 0, 3, 3, -1, 6, 6]
    assert list_nodes([FIRST, SECOND]) == [
        {"name": name, "parent": parent} for name, parent in zip(names, parents, strict=True)
    ]
    turned = list_nodes([SECOND, FIRST], lambda node: node.function)
    assert [node["name"] for node in turned[:4]] == ["Pow", "Symbol", "Integer", "Mul"]
    assert [node["parent"] for node in turned] == [-1, 0, 0, -1, 3, 4, 3, 6, 6]


@pytest.mark.parametrize("seed", range(3))
def test_nodes_are_those_of_the_batch_with_their_states_in_hundredths(seed: int) -> None:
    trees = [unfold_tree(random_tree(3, 3, seed)), unfold_tree(random_tree(2, 3, seed + 5))]
    flat = batch(trees, VOCABULARY)
    names = [node["name"] for node in list_nodes(trees, lambda node: node.token or node.function)]
    assert names == [node.token or node.function for tree in trees for node in tree.preorder()]
    torch.manual_seed(seed)
    cell = TreeLSTM(VOCABULARY, 4)
    h, parts = trace_trees(flat, cell)
    expected = propagate(flat, cell)["h"].detach()
    torch.testing.assert_close(h, expected)
    for node, own in enumerate(parts):
        [[rows]] = [part["rows"] for part in own if part["name"] == "h"]
        assert rows == (expected[node] * 100).round().int().tolist()
        gates = [part["child"] for part in own if part["child"] is not None]
        assert sorted(set(gates)) == list(range(int(flat.arity[node])))


def test_shared_parts_become_nodes_of_their_own() -> None:
    x = Tree("Symbol", token="x")
    found = unfold_tree(Tree("Add", (x, x)))
    assert found == Tree("Add", (x, x)) and found.children[0] is not found.children[1]
