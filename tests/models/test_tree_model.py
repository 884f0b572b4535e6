"""A model joins the columns next to trees to the states of their example, and refuses numbers that do not fit."""

import pytest
import torch

from dgltree import Vocabulary
from dgltree.encoders import make_encoder
from dgltree.models import ClassifierReadout, PairModel, PairReadout, TreeModel

VOCABULARY = Vocabulary([("f", 1)], ["x"])


def model_of(each: int) -> TreeModel:
    encoder = make_encoder("tree_lstm", VOCABULARY, 4)
    if each == 2:
        return PairModel(encoder, PairReadout(4 + 3, 5))
    return TreeModel(encoder, ClassifierReadout(4 + 3, 5))


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("examples", [0, 1, 3])
def test_every_state_is_joined_to_the_features_of_its_example(each: int, examples: int) -> None:
    model = model_of(each).eval()
    states, features = torch.rand(each * examples, 4), torch.rand(examples, 3)
    joined = torch.stack([torch.cat([states[i], features[i // each]]) for i in range(len(states))] or [torch.zeros(7)])
    assert torch.equal(model.read_out(states, features), model.read_out(joined[: len(states)]))


@pytest.mark.parametrize(
    ("each", "states", "examples"),
    [(1, 5, 2), (1, 4, 2), (1, 0, 2), (1, 2, 0), (2, 5, 2), (2, 2, 2), (2, 8, 2)],
)
def test_features_of_another_number_of_examples_are_refused(each: int, states: int, examples: int) -> None:
    error = f"features of {examples} examples need {each * examples} states; found {states}"
    with pytest.raises(ValueError, match=error):
        model_of(each).read_out(torch.rand(states, 4), torch.rand(examples, 3))


@pytest.mark.parametrize("states", [1, 3])
def test_states_that_are_not_pairs_are_refused(states: int) -> None:
    """One state and none would broadcast to no answer."""
    with pytest.raises(
        ValueError,
        match=f"{states} trees cannot be divided into pairs; give the two trees of each pair one after the other",
    ):
        model_of(2).read_out(torch.rand(states, 7))
