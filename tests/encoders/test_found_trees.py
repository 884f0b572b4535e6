"""The trees that encoders of sequences find, and sequences that end at different steps."""

import pytest
import torch
from helpers import random_tree

from dgltree import Tree, Vocabulary, batch
from dgltree.encoders import InducingEncoder, linearize, make_encoder
from dgltree.encoders.ends import Ends
from dgltree.encoders.linearization import symbol_names
from dgltree.induction.binary_trees import tree_from_attention, tree_from_distances

TREES = [random_tree(5, 2, 1), Tree("var", token="y"), random_tree(3, 2, 2)]
VOCABULARY = Vocabulary.from_trees(TREES)


def make(name: str, **options: object) -> InducingEncoder:
    torch.manual_seed(0)
    made = make_encoder(name, VOCABULARY, 12, **options)
    assert isinstance(made, InducingEncoder)
    return made.double().eval()


@pytest.mark.parametrize("order", ["leaves", "bracketed", "unlabelled"])
def test_the_tree_of_ordered_memory_is_that_of_its_attention(order: str) -> None:
    encoder = make("ordered_memory", slots=4, order=order)
    for tree, found in zip(TREES, encoder.trees(batch(TREES, VOCABULARY)), strict=True):
        ids, lengths = linearize(batch([tree], VOCABULARY), order, VOCABULARY)
        words = [symbol_names(VOCABULARY)[i] for i in ids[0].tolist()]
        assert found == tree_from_attention(words, encoder.core.steps(ids, lengths)[0].p[0])


@pytest.mark.parametrize(("layers", "read"), [(1, 0), (2, 1), (3, 1)])
def test_the_tree_of_on_lstm_is_that_of_the_distances_of_its_middle_layer(layers: int, read: int) -> None:
    encoder = make("on_lstm", layers=layers, chunk_size=3, order="leaves")
    for tree, found in zip(TREES, encoder.trees(batch(TREES, VOCABULARY)), strict=True):
        ids, lengths = linearize(batch([tree], VOCABULARY), "leaves", VOCABULARY)
        words = [symbol_names(VOCABULARY)[i] for i in ids[0].tolist()]
        assert found == tree_from_distances(words, encoder.core.steps(ids, lengths).d[0, :, read])


PRESENT = torch.tensor([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 0, 1, 1, 0]]).bool()


def test_rows_go_in_the_order_of_their_ends() -> None:
    ends = Ends.of(PRESENT)
    assert ends.order.tolist() == [1, 3, 0, 2]
    assert ends.counts == [4, 3, 2, 2], "nothing is left of the last step"
    assert ends.complete == [False, False, True, True]


def test_steps_of_fewer_and_fewer_rows_come_back_in_the_order_of_the_batch() -> None:
    ends = Ends.of(PRESENT)
    steps = [10.0 * t + ends.order[:count].unsqueeze(1) for t, count in enumerate(ends.counts)]
    assert ends.last(steps).squeeze(1).tolist() == [10, 31, 2, 33]
    padded = ends.padded(steps, 5).squeeze(2)
    assert padded.tolist() == [[0, 10, 0, 0, 0], [1, 11, 21, 31, 0], [2, 0, 0, 0, 0], [3, 13, 23, 33, 0]]
