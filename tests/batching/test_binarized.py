"""Flat trees that branch to the right."""

import pytest
import torch
from helpers import random_dag, random_tree, with_inner_tokens, with_numbers

import dgltree
from dgltree import Tree, Vocabulary
from dgltree.batching.batch import unbatch
from dgltree.batching.binarized import Binarization, extra_nodes
from dgltree.trees.binarize import binarize


def unshared(tree: Tree) -> Tree:
    """The same with an object for every node."""
    return Tree(tree.function, [unshared(child) for child in tree.children], tree.token, tree.value, tree.label)


def test_flat_trees_become_what_the_trees_themselves_would() -> None:
    trees = [unshared(random_tree(depth, 12, depth)).replace(label=depth) for depth in range(7)]
    trees = [with_numbers(with_inner_tokens(tree)) for tree in trees]
    flat = dgltree.batch(trees, Vocabulary.from_trees(trees))
    made = Binarization(flat.vocabulary)
    found = made(flat)
    expected = dgltree.batch([binarize(tree, "right") for tree in trees], made.vocabulary)
    for name in ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes", "label"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name
    torch.testing.assert_close(found.value, expected.value, equal_nan=True)
    assert torch.equal(flat.sizes + extra_nodes(flat), expected.sizes)
    assert int(found.arity.max()) == 2


def test_nodes_with_several_parents_stay_one_node() -> None:
    trees = [random_dag(30, 6, seed) for seed in range(5)]
    flat = dgltree.batch(trees, Vocabulary.from_trees(trees))
    found = Binarization(flat.vocabulary)(flat)
    assert unbatch(found) == [binarize(tree, "right") for tree in trees]
    assert found.num_nodes == flat.num_nodes + int(extra_nodes(flat).sum())


def test_a_function_with_the_mark_of_intermediate_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the function 'a\|' ends with '\|', which marks intermediate nodes$"):
        Binarization(Vocabulary([("a|", 2)], []))
