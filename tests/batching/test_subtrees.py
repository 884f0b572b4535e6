"""Equal subtrees: the exact numbers, the digests, and the trees themselves agree on which those are."""

from collections.abc import Sequence

import numpy as np
import torch
from helpers import VOCABULARY, WIDE, random_dag, random_tree, with_inner_tokens, with_numbers

from dgltree import Tree, Vocabulary, batch
from dgltree.batching.subtrees import Named, digests, twins

ZERO, MINUS_ZERO, ONE = (Tree("num", value=value) for value in (0.0, -0.0, 1.0))
X = Tree("var", token="x")
TREES = [
    *(random_tree(depth, 3, depth) for depth in (5, 3, 3, 0)),
    *(with_numbers(random_dag(8, 3, seed)) for seed in range(3)),
    with_inner_tokens(random_tree(3, 3, 3)),
    *(Tree("add", pair) for pair in ((ZERO, ONE), (MINUS_ZERO, ONE), (ONE, ZERO), (ZERO, X), (X, X))),
    *(Tree("call", (X,) * arity) for arity in (4, 5)),
]


def classes(of_nodes: Sequence[object]) -> list[int]:
    """For each node the first that is equal to it."""
    first: dict[object, int] = {}
    return [first.setdefault(one, node) for node, one in enumerate(of_nodes)]


def test_numbers_and_digests_are_equal_just_where_the_trees_are() -> None:
    """By a comparison of trees that knows no digests: 0.0 and -0.0 are one number."""
    flat = batch(TREES, VOCABULARY)
    starts, trees = flat.child_ptr.tolist(), [None] * flat.num_nodes
    for node in flat.level.argsort(stable=True).tolist():
        below = tuple(trees[child] for child in flat.child_index[starts[node] : starts[node + 1]].tolist())
        value = float(flat.value[node])
        trees[node] = (int(flat.function[node]), int(flat.token[node]), None if value != value else value, below)
    expected = classes(trees)
    assert twins(flat).tolist() == expected
    assert classes(digests(flat, Named.of(VOCABULARY)).tolist()) == expected


def test_children_of_a_wide_node_are_all_looked_at() -> None:
    """Of 64 nodes: in 64 bits there is room for ten numbers below 64."""
    y = Tree("var", token="y")
    wide = [Tree("call", [first, *(Tree("var", token="x") for _ in range(WIDE - 1))]) for first in (X, y)]
    flat = batch([*wide, *[X] * (62 - 2 * WIDE)], VOCABULARY)
    assert flat.num_nodes == 64
    assert twins(flat)[flat.roots[:2]].tolist() == flat.roots[:2].tolist()


def test_digests_do_not_depend_on_the_vocabulary() -> None:
    other = Vocabulary(VOCABULARY.functions[::-1], VOCABULARY.tokens[::-1])
    found = [digests(batch(TREES, known), Named.of(known)) for known in (VOCABULARY, other)]
    np.testing.assert_array_equal(*found)


def test_input_vectors_tell_equal_trees_apart() -> None:
    trees = [Tree("add", [Tree("var", token="x") for _ in range(2)]) for _ in range(3)]
    x = torch.tensor([1.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0, 3.0, 2.0]).unsqueeze(1)
    assert twins(batch(trees, VOCABULARY, x=x)).tolist() == [0, 1, 1, 0, 1, 1, 6, 7, 1]
