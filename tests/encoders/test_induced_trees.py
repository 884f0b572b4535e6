"""The trees that encoders of sequences induce, and sequences that end at different steps."""

import pytest
import torch
from helpers import random_tree
from rows import make_sequence_encoder

from dgltree import Tree, Vocabulary, batch
from dgltree.cells import TreeLSTM
from dgltree.encoders import SEQUENCE_ENCODERS, InducingCore, SequenceEncoder, TreeEncoder, make_encoder, score_induced
from dgltree.encoders.latent.ragged import Ragged
from dgltree.induction.binary_trees import tree_from_attention, tree_from_distances, without_tokens
from dgltree.induction.evalb import Parameters, score
from dgltree.read.bracket import read_unlabelled

TREES = [random_tree(5, 2, 1), Tree("var", token="y"), random_tree(3, 2, 2)]
LONG = [random_tree(9, 3, seed) for seed in range(5)]
VOCABULARY = Vocabulary.from_trees([*TREES, *LONG])


def make(name: str, **options: object) -> SequenceEncoder:
    torch.manual_seed(0)
    made = make_encoder(name, VOCABULARY, 12, **options)
    assert isinstance(made, SequenceEncoder)
    assert made.induces_trees
    return made.double().eval()


@pytest.mark.parametrize("order", ["leaves", "bracketed", "unlabelled"])
def test_the_tree_of_ordered_memory_is_that_of_its_attention(order: str) -> None:
    encoder = make("ordered_memory", num_slots=4, order=order)
    for tree, found in zip(TREES, encoder.trees(batch(TREES, VOCABULARY)), strict=True):
        alone = encoder.plan(batch([tree], VOCABULARY), share=False)
        [words] = encoder.words(alone)
        assert found == tree_from_attention(words, encoder.core.steps(alone.ids, alone.lengths)[0].p[0])
        assert encoder.trees(alone) == [found]


@pytest.mark.parametrize("order", ["leaves", "bracketed"])
def test_the_tree_of_a_memory_of_two_directions_is_that_of_the_one_from_first_to_last(order: str) -> None:
    encoder = make("ordered_memory", num_slots=4, order=order, bidirectional=True)
    ways = set()
    for tree, found in zip(LONG, encoder.trees(batch(LONG, VOCABULARY)), strict=True):
        alone = encoder.plan(batch([tree], VOCABULARY), share=False)
        [words] = encoder.words(alone)
        there, back = (tree_from_attention(words, steps.p[0]) for steps in encoder.core.steps(alone.ids, alone.lengths))
        assert found == there
        ways.add(there == back)
    assert False in ways, "the sentences must be such that the direction is seen"


@pytest.mark.parametrize(("layers", "read"), [(1, 0), (2, 1), (3, 1), (4, 2)])
def test_long_sentences_tell_of_which_layer_the_tree_of_on_lstm_is(layers: int, read: int) -> None:
    encoder = make("on_lstm", num_layers=layers, order="bracketed")
    seen = set()
    for tree, found in zip(LONG, encoder.trees(batch(LONG, VOCABULARY)), strict=True):
        alone = encoder.plan(batch([tree], VOCABULARY), share=False)
        [words] = encoder.words(alone)
        d = encoder.core.steps(alone.ids, alone.lengths).d[0]
        of_layers = [tree_from_distances(words, d[:, layer]) for layer in range(layers)]
        assert found == of_layers[read]
        seen |= {layer for layer in range(layers) if of_layers[layer] != found}
    assert seen == {*range(layers)} - {read}, "every other layer must give another tree of some sentence"


@pytest.mark.parametrize(("layers", "read"), [(1, 0), (2, 1), (3, 1)])
def test_the_tree_of_on_lstm_is_that_of_the_distances_of_its_middle_layer(layers: int, read: int) -> None:
    encoder = make("on_lstm", num_layers=layers, chunk_size=3, order="leaves")
    for tree, found in zip(TREES, encoder.trees(batch(TREES, VOCABULARY)), strict=True):
        alone = encoder.plan(batch([tree], VOCABULARY), share=False)
        [words] = encoder.words(alone)
        assert found == tree_from_distances(words, encoder.core.steps(alone.ids, alone.lengths).d[0, :, read])


@pytest.mark.parametrize("name", SEQUENCE_ENCODERS)
def test_only_cores_that_find_trees_induce_them(name: str) -> None:
    encoder, flat = make_sequence_encoder(name, VOCABULARY), batch(TREES, VOCABULARY)
    assert encoder.induces_trees == isinstance(encoder.core, InducingCore)
    if not encoder.induces_trees:
        assert encoder.encoded(flat).parse is None
        with pytest.raises(
            ValueError, match=f"'{name}' induces no trees; use on_lstm, ordered_memory, .* with single trees"
        ):
            encoder.trees(flat)


def test_encoders_of_pairs_and_of_given_trees_induce_none() -> None:
    joint, given = make_encoder("on_lstm", VOCABULARY, 12, joint=True), make_encoder("tree_lstm", VOCABULARY, 12)
    with pytest.raises(ValueError, match="'on_lstm' of joint pairs induces no trees"):
        joint.trees(batch(TREES[:2], VOCABULARY))
    with pytest.raises(ValueError, match="a TreeEncoder induces no trees"):
        given.trees(batch(TREES, VOCABULARY))
    assert not joint.induces_trees
    assert not given.induces_trees


PADDING = ~torch.tensor([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 0, 1, 1, 0]]).bool()


def test_rows_go_in_the_order_of_their_ends() -> None:
    ends = Ragged.of(PADDING)
    assert ends.order.tolist() == [1, 3, 0, 2]
    assert ends.counts == [4, 3, 2, 2], "nothing is left of the last step"
    assert ends.complete == [False, False, True, True]


def test_steps_of_fewer_and_fewer_rows_come_back_in_the_order_of_the_batch() -> None:
    ends = Ragged.of(PADDING)
    steps = torch.cat([10.0 * t + ends.order[:count].unsqueeze(1) for t, count in enumerate(ends.counts)])
    assert ends.last(steps).squeeze(1).tolist() == [10, 31, 2, 33]
    padded = ends.padded(steps, 5).squeeze(2)
    assert torch.equal(ends.packed(padded), steps.squeeze(1))
    assert padded.tolist() == [[0, 10, 0, 0, 0], [1, 11, 21, 31, 0], [2, 0, 0, 0, 0], [3, 13, 23, 33, 0]]


@pytest.mark.parametrize("order", ["leaves", "unlabelled"])
def test_one_call_scores_the_trees_that_an_encoder_finds(order: str) -> None:
    texts = ["( ( not a ) ( and b ) )", "( not ( a and b ) )", "( a ( and b ) )"]
    given = [read_unlabelled(text) for text in texts]
    vocabulary = Vocabulary.from_trees(given)
    encoder = SequenceEncoder("ordered_memory", vocabulary, 8, order=order, num_slots=4).eval()
    trees = batch(given, vocabulary)
    found = [without_tokens(tree, "()" if order == "unlabelled" else "") for tree in encoder.trees(trees)]
    expected = score(given, found, Parameters(labelled=False))
    corpus = score_induced(encoder, trees)
    assert corpus == expected
    assert len(corpus.sentences) == 3


def test_encoders_whose_trees_have_other_words_or_that_find_none_are_not_scored() -> None:
    given = [read_unlabelled("( not a )")]
    trees = batch(given, Vocabulary.from_trees(given))
    for name, order, said in (
        (
            "ordered_memory",
            "bracketed",
            "build the encoder with order='leaves' or 'unlabelled', so that it reads the words of the given trees",
        ),
        ("lstm", "leaves", "no trees"),
    ):
        encoder = SequenceEncoder(name, trees.vocabulary, 8, order=order)
        with pytest.raises(ValueError, match=said):
            score_induced(encoder, trees)
    with pytest.raises(ValueError, match="a TreeEncoder induces no trees"):
        score_induced(TreeEncoder(TreeLSTM(trees.vocabulary, 4)), trees)
