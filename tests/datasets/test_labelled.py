"""Labelled trees: what a data loader takes out of a data set."""

import torch

from dgltree import Tree, Vocabulary, batch, unbatch
from dgltree.datasets.labelled import Labelled


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
