"""Trees chosen from a batch are what flattening them gives: tensors, inputs, states and duplicate subtrees.

Numbers of duplicate subtrees are forgotten when a tensor is changed in place. An index that is not there is refused.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import EDGE_CASES, VOCABULARY, braid, random_dag, random_tree, with_numbers

from dgltree import Tree, TreeBatch, batch, propagate
from dgltree.batching.subtrees import number_subtrees, twins
from dgltree.cells import TreeRNN
from dgltree.engine.schedule import schedule

TREES = [
    *(random_tree(depth, 3, depth) for depth in (3, 0, 6, 1, 3)),
    *(random_dag(8, 3, seed) for seed in range(3)),
    braid(6),
    with_numbers(random_tree(4, 3, 9)),
    *EDGE_CASES["only leaves"],
]
CHOICES = [[0], [5, 2], [11, 0, 5, 5, 8], list(range(len(TREES)))[::-1]]


def tensors(flat: TreeBatch) -> dict[str, list]:
    names = ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes", "label")
    return {name: getattr(flat, name).tolist() for name in names}


@pytest.mark.parametrize("trees", CHOICES)
def test_selected_trees_are_as_if_flattened_by_themselves(trees: list[int]) -> None:
    whole = batch([tree.replace(label=k) for k, tree in enumerate(TREES)], VOCABULARY)
    expected = batch([TREES[k].replace(label=k) for k in trees], VOCABULARY)
    for chosen in (trees, torch.tensor(trees)):
        found = whole[chosen]
        assert tensors(found) == tensors(expected)
        assert found.vocabulary is VOCABULARY
        assert found.value is not None
        numbers = torch.full_like(found.value, torch.nan) if expected.value is None else expected.value
        torch.testing.assert_close(found.value, numbers, rtol=0, atol=0, equal_nan=True)


def test_input_vectors_go_along() -> None:
    whole = batch(TREES, VOCABULARY)
    x = torch.arange(2.0 * whole.num_nodes).view(-1, 2)
    found = batch(TREES, VOCABULARY, x=x)[[3, 1]]
    starts, sizes = (whole.sizes.cumsum(0) - whole.sizes).tolist(), whole.sizes.tolist()
    assert found.x is not None
    assert torch.equal(found.x, torch.cat([x[starts[k] : starts[k] + sizes[k]] for k in (3, 1)]))


@pytest.mark.parametrize("trees", CHOICES)
def test_numbered_subtrees_share_the_rows_that_are_shared_without_numbers(trees: list[int]) -> None:
    whole = batch(TREES, VOCABULARY)
    plain = whole[trees]
    known = number_subtrees(whole)[trees]
    assert known.subtree is not None
    assert twins(known).tolist() == twins(plain).tolist()
    for mine, other in zip(vars(schedule(known, True)).values(), vars(schedule(plain, True)).values(), strict=True):
        assert np.array_equal(mine, other) if isinstance(mine, torch.Tensor | np.ndarray) else mine == other


def test_numbers_are_forgotten_where_a_batch_is_changed_in_place() -> None:
    x, y = Tree("var", token="x"), Tree("var", token="y")
    whole = number_subtrees(batch([Tree("add", (x, x)), Tree("add", (x, y))], VOCABULARY))
    part = whole[[0, 1]]
    part.token[part.token == VOCABULARY.token_id("y")] = VOCABULARY.token_id("x")
    assert len(schedule(part, share=True)) == 2, "one leaf, one sum"
    assert len(schedule(whole[[0, 1]], share=True)) == 4


def test_states_of_selected_trees_are_those_in_the_data_set() -> None:
    trees = TREES[:9]
    whole, cell = number_subtrees(batch(trees, VOCABULARY)), TreeRNN(VOCABULARY, 5).double()
    all_states = propagate(whole, cell)["h"][whole.roots]
    part = whole[[8, 3, 3]]
    torch.testing.assert_close(propagate(part, cell, share=True)["h"][part.roots], all_states[[8, 3, 3]])


@pytest.mark.parametrize(
    ("trees", "error"),
    [
        ([], "no trees: give at least one tree number"),
        ([0, 12], "trees run from 0 to 12, but the batch has numbers from 0 to 11"),
        ([-1], "trees run from -1 to -1, but the batch has numbers from 0 to 11"),
    ],
)
def test_trees_that_are_not_there_are_refused(trees: list[int], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        batch(TREES[:12], VOCABULARY)[trees]


def test_a_graph_with_several_roots_is_refused() -> None:
    whole = batch(TREES[:2], VOCABULARY)
    several = replace(whole, roots=torch.tensor([0, 1, int(whole.roots[1])]))
    with pytest.raises(ValueError, match=r"one root per tree.* \(3 roots in 2 graphs\).* h\[batch.roots\]"):
        several[[0]]
    with pytest.raises(ValueError, match="does not have one root per tree"):
        several[2]
