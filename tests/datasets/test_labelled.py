"""Labelled trees: what a data loader takes out of a data set."""

import torch

from dgltree import Tree, Vocabulary, batch, unbatch
from dgltree.cells import TreeLSTM
from dgltree.datasets.batches import Collate, Labelled, plan_examples
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.read.bracket import read_unlabelled


def test_chosen_examples_take_their_trees_labels_and_groups_along() -> None:
    for each in (1, 2):
        trees = [Tree("f", [Tree("w", token=f"t{k}")] * (1 + k % 3)) for k in range(6 * each)]
        flat = batch(trees, Vocabulary.from_trees(trees))
        data = Labelled(flat, torch.arange(10, 16), torch.arange(20, 26))
        for rows in ([4, 1], [5], [0, 3, 3], list(range(6))):
            chosen = data.select(rows)
            assert unbatch(chosen.trees) == [trees[each * row + k] for row in rows for k in range(each)]
            assert chosen.labels.tolist() == [10 + row for row in rows]
            assert chosen.groups.tolist() == [20 + row for row in rows]
            moved = chosen.to(torch.device("cpu"))
            assert (moved.labels.tolist(), moved.groups.tolist()) == (chosen.labels.tolist(), chosen.groups.tolist())


def test_batches_of_a_data_set_that_was_flattened_once_are_planned_as_those_of_its_examples() -> None:
    trees = [read_unlabelled(text) for text in ("( ( a b ) ( a b ) )", "( a ( b a ) )", "a", "( b ( ( a b ) a ) )")]
    read = TreeDataset(trees, labels=["x", "y", "y", "x"])
    data = read.within(read.vocabulary())
    encoder = TreeEncoder(TreeLSTM(data.own_vocabulary, 3))
    collate = Collate(["x", "y"], encoder, share=True)
    for rows in ([0, 3, 1], [2], [1, 1, 0]):
        expected, found = collate(data.select(rows)), plan_examples(collate.whole(data), encoder, True, rows)
        assert unbatch(found.trees) == unbatch(expected.trees) == [trees[row] for row in rows]
        assert (found.labels.tolist(), found.groups.tolist()) == (expected.labels.tolist(), expected.groups.tolist())
        ours, theirs = found.planned.schedule, expected.planned.schedule
        for name in ("node", "row", "sources", "parent"):
            assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
        assert ours.steps == theirs.steps
