"""Plans of encoders are values: made anywhere, handed on, and refused where they do not fit."""

import pickle

import pytest
import torch
from helpers import random_tree, square
from rows import PAIRS, make_sequence_encoder

from dgltree import Tree, Vocabulary, batch
from dgltree.encoders import SEQUENCE_ENCODERS, SequenceEncoder, Sequences

TREES = [square(), Tree("var", token="y"), random_tree(3, 2, 1), random_tree(2, 2, 2)]
VOCABULARY = Vocabulary.from_trees(TREES)
OTHER = Vocabulary(VOCABULARY.functions, [*VOCABULARY.tokens[1:], VOCABULARY.tokens[0]])
CASES = [*((name, False) for name in SEQUENCE_ENCODERS), *((name, True) for name in PAIRS)]


def make(name: str, vocabulary: Vocabulary = VOCABULARY, **options: object) -> SequenceEncoder:
    return make_sequence_encoder(name, vocabulary, **options).double()


@pytest.mark.parametrize(("name", "joint"), CASES)
def test_a_plan_gives_what_its_trees_give_also_from_another_process(name: str, joint: bool) -> None:
    options = {"joint": True} if joint else {}
    encoder, flat = make(name, **options), batch(TREES, VOCABULARY)
    plan = encoder.plan(flat, share=True)
    sent = pickle.loads(pickle.dumps(plan))
    expected = encoder(flat)
    for given, like in ((plan, encoder), (sent, encoder), (plan, make(name, **options))):
        torch.testing.assert_close(like(given), expected, rtol=1e-12, atol=1e-12)


def test_a_plan_travels_as_arrays() -> None:
    plan = make("tree_transformer").plan(batch(TREES, VOCABULARY), share=False)
    assert b"torch" not in pickle.dumps(plan)


@pytest.mark.parametrize("name", ["lstm", "tree_transformer"])
def test_a_plan_moves_to_a_device(name: str) -> None:
    encoder = make(name)
    plan = encoder.plan(batch(TREES, VOCABULARY), share=False)
    moved = plan.to("meta")
    assert isinstance(moved, Sequences)
    assert {part.device.type for part in (moved.ids, moved.lengths, moved.places) if part is not None} == {"meta"}
    assert plan.ids.device.type == "cpu"


@pytest.mark.parametrize(
    ("name", "options", "vocabulary", "error"),
    [
        ("lstm", {"order": "leaves"}, VOCABULARY, "with order=leaves, joint=False.*reads order=bracketed"),
        ("lstm", {"order": "bracketed", "joint": True}, VOCABULARY, "with order=bracketed, joint=True"),
        ("lstm", {}, OTHER, "vocabulary .*, but this encoder reads"),
        ("tree_transformer", {"branching": 3}, VOCABULARY, "with order=preorder, .*branching=3"),
    ],
)
def test_a_plan_of_another_reading_is_refused(name: str, options: dict, vocabulary: Vocabulary, error: str) -> None:
    own = make(name)
    plan = make(name, vocabulary, **options).plan(batch(TREES, vocabulary), share=False)
    with pytest.raises(ValueError, match=error):
        own(plan)


def test_nothing_is_kept_in_the_batch() -> None:
    flat = batch(TREES, VOCABULARY)
    before = pickle.dumps(flat)
    make("lstm").plan(flat, share=False)
    assert pickle.dumps(flat) == before
