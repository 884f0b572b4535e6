"""Batches as sequences of trees: indexing, slices, iteration and joining."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from helpers import VOCABULARY, braid, random_dag, random_tree, with_numbers

from dgltree import Tree, TreeBatch, Vocabulary, batch, unbatch
from dgltree.batching import join, number_subtrees

TREES = [*(random_tree(depth, 3, depth) for depth in (3, 0, 6)), random_dag(8, 3, 1), braid(4)]
WHOLE = batch(TREES, VOCABULARY)


def test_indices_slices_and_tensors_choose_as_lists_do() -> None:
    assert WHOLE[1] == WHOLE[[1]]
    assert WHOLE[-1] == WHOLE[[4]]
    assert WHOLE[1:4] == WHOLE[[1, 2, 3]]
    assert WHOLE[::-2] == WHOLE[[4, 2, 0]]
    assert WHOLE[[3, 3]] == WHOLE[torch.tensor([3, 3])] == WHOLE[[3, 3]]
    assert [unbatch(each) for each in WHOLE] == [[tree] for tree in TREES]
    assert batch([(TREES[0], TREES[1])], VOCABULARY)[1] == batch([TREES[1]], VOCABULARY)


def test_what_is_not_there_is_refused() -> None:
    for i in (5, -6):
        with pytest.raises(IndexError, match=f"there is no tree {i}; the length of the batch is 5"):
            WHOLE[i]
    with pytest.raises(ValueError, match="no trees: give at least one tree number"):
        WHOLE[5:]
    with pytest.raises(TypeError, match="these trees are a batch already"):
        batch(WHOLE, VOCABULARY)  # type: ignore[arg-type]


@pytest.mark.parametrize("cuts", [(0, 5), (0, 1, 5), (0, 1, 2, 3, 4, 5), (0, 3, 5)])
def test_joined_parts_are_the_whole(cuts: tuple[int, ...]) -> None:
    x = torch.arange(2.0 * WHOLE.num_nodes).view(-1, 2)
    for whole in (WHOLE, replace(WHOLE, x=x), batch([*TREES[:4], with_numbers(TREES[4])], VOCABULARY)):
        parts = [whole[a:b] for a, b in pairwise(cuts)]
        assert join(parts) == whole
    numbered = number_subtrees(WHOLE)
    assert join([numbered[:2], numbered[2:]]).subtree is None, "equal subtrees of two batches may have two numbers"


def test_numbers_are_missing_where_a_batch_has_none() -> None:
    trees = [Tree("leaf", value=2.0), Tree("leaf", token="a")]
    vocabulary = Vocabulary.from_trees(trees)
    joined = join(batch([tree], vocabulary) for tree in trees)
    assert joined == batch(trees, vocabulary)


def test_batches_that_do_not_fit_together_are_refused() -> None:
    other = batch([Tree("leaf")], Vocabulary.from_trees([Tree("leaf")]))
    wide, narrow = (replace(WHOLE, x=torch.zeros(WHOLE.num_nodes, width)) for width in (3, 2))
    for parts, message in (
        ([], "no batches: give at least one"),
        ([WHOLE, other], "batch 1 has a different vocabulary from batch 0"),
        ([WHOLE, wide], "batch 1 has x of width 3 and torch.float32, but batch 0 has x of no node"),
        ([wide, narrow], "batch 1 has x of width 2 and torch.float32, but batch 0 has x of width 3"),
        ([WHOLE, WHOLE.map(lambda tensor: tensor.to("meta"))], "batch 1 is on meta, but batch 0 is on cpu"),
    ):
        with pytest.raises(ValueError, match=message):
            join(parts)
    with pytest.raises(TypeError, match=r"batch 1 is a Tree; join takes batches, dgltree.batch takes trees"):
        join([WHOLE, TREES[0]])  # type: ignore[list-item]


def test_words_in_x_of_a_graph_are_tokens() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")

    def graph(**fields: torch.Tensor) -> "dgl.DGLGraph":
        made = dgl.graph((torch.tensor([1, 2]), torch.tensor([0, 0])))
        made.edata["slot"] = torch.tensor([0, 1])
        made.ndata.update(function=torch.tensor([0, 1, 1]), **fields)
        return made

    words = torch.tensor([-1, 4, 2])
    read = TreeBatch.from_graph(graph(x=words))
    assert read == TreeBatch.from_graph(graph(token=words))
    assert read.x is None
    vectors = torch.ones(3, 5)
    assert torch.equal(TreeBatch.from_graph(graph(x=vectors)).x, vectors)
    for fields, message in (
        ({"x": torch.ones(3)}, r'"x" has shape \(3,\) and is torch.float32; it must be \(N, d\) floating-point'),
        ({"x": words.view(3, 1)}, r'"x" has shape \(3, 1\) and is torch.int64'),
        ({"x": words, "token": words}, r'"x" and "token" both hold token ids; remove one'),
    ):
        with pytest.raises(ValueError, match=message):
            TreeBatch.from_graph(graph(**fields))
    typed = dgl.heterograph({("word", "0", "phrase"): ([0], [0]), ("word", "1", "phrase"): ([1], [0])})
    typed.nodes["word"].data["x"] = torch.tensor([4, 2])
    typed_batch = TreeBatch.from_graph(typed)
    assert sorted(typed_batch.token.tolist()) == [-1, 2, 4]
    assert len(typed_batch.vocabulary.tokens) == 5


def test_classes_in_y_of_a_graph_are_labels() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")

    def read(**fields: torch.Tensor) -> list[int]:
        made = dgl.graph((torch.tensor([1, 2]), torch.tensor([0, 0])))
        made.edata["slot"] = torch.tensor([0, 1])
        made.ndata.update(function=torch.tensor([0, 1, 1]), **fields)
        return TreeBatch.from_graph(made).label.tolist()

    classes = torch.tensor([3, -1, 2], dtype=torch.int32)
    assert read(y=classes) == [3, -100, 2]
    with pytest.raises(TypeError, match=r"these are several graphs; .*dgl.batch\(graphs\)"):
        TreeBatch.from_graph([dgl.graph(([0], [1]))] * 2)
    assert read(y=classes, label=torch.tensor([1, 0, 1])) == [1, 0, 1]
    for other in (classes.float(), classes > 0, classes.view(3, 1)):
        assert read(y=other) == [-100] * 3
    typed = dgl.heterograph({("word", "0", "phrase"): ([0], [0]), ("word", "1", "phrase"): ([1], [0])})
    typed.nodes["phrase"].data["y"] = torch.tensor([3])
    assert TreeBatch.from_graph(typed).label.tolist() == [3, -100, -100]
    typed.nodes["word"].data["y"] = torch.ones(2, 4)
    assert TreeBatch.from_graph(typed).label.tolist() == [-100] * 3
