"""Two trees as one sequence."""

import pytest
import torch
from helpers import chain, random_tree

from dgltree import Tree, TreeBatch, Vocabulary, batch
from dgltree.encoders import SequenceEncoder, linearize, make_encoder
from dgltree.encoders.sequence.linearization import PADDING, join_pairs

TREES = [random_tree(4, 2, 1), Tree("var", token="y"), chain(9), random_tree(2, 2, 2), *[Tree("var", token="x")] * 2]
VOCABULARY = Vocabulary.from_trees([*TREES, random_tree(6, 2, 3)])


def make(name: str = "transformer", dtype: torch.dtype = torch.float64, **options: object) -> SequenceEncoder:
    torch.manual_seed(0)
    return SequenceEncoder(name, VOCABULARY, 12, joint=True, num_heads=3, **options).to(dtype)


def flat(trees: list[Tree]) -> TreeBatch:
    return batch(trees, VOCABULARY)


@pytest.mark.parametrize("order", ["leaves", "bracketed", "unlabelled", "preorder"])
def test_a_pair_is_its_first_sequence_a_separator_and_its_second(order: str) -> None:
    ids, lengths = linearize(flat(TREES), order, VOCABULARY)
    found, ends = join_pairs(ids, lengths, separator=99)
    for pair in range(3):
        first, second = (ids[row, : lengths[row]].tolist() for row in (2 * pair, 2 * pair + 1))
        expected = [*first, 99, *second]
        assert int(ends[pair]) == len(expected)
        assert found[pair, : len(expected)].tolist() == expected
        assert set(found[pair, len(expected) :].tolist()) <= {PADDING}


def test_the_separator_is_no_word_of_a_tree() -> None:
    [first, *_] = make(order="leaves").words(flat(TREES))
    [left, right] = SequenceEncoder("lstm", VOCABULARY, 12, order="leaves").words(flat(TREES[:2]))
    assert first == [*left, "|", *right]
    assert int(make().plan(flat(TREES), share=False).ids.max()) == make().separator


def test_the_words_of_one_tree_matter_to_those_of_the_other() -> None:
    encoder, x = make(), Tree("var", token="x")
    states = encoder(flat([x, TREES[0], TREES[0], x]))
    assert (states[0] - states[1]).abs().max() > 1e-3, "the order of the two"


def test_what_is_no_pair_of_sequences_is_refused() -> None:
    with pytest.raises(
        ValueError, match="a batch of 3 trees cannot be divided into pairs; give an even number of trees"
    ):
        make()(flat(TREES[:3]))
    with pytest.raises(
        ValueError,
        match="'tree_transformer' reads the position of each node in one tree, so it cannot read a pair; use",
    ):
        make_encoder("tree_transformer", VOCABULARY, 12, joint=True)
    with pytest.raises(ValueError, match=r"tree_lstm has no option 'joint'; its options are"):
        make_encoder("tree_lstm", VOCABULARY, 12, joint=True)
    with pytest.raises(ValueError, match="order is 'words'; it must be one of"):
        make(order="words")
