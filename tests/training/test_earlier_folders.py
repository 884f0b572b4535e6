"""Folders that an earlier commit trained: they answer as they did."""

import json
from pathlib import Path

import pytest
import torch

from dgltree import TrainedModel, Tree

EARLIER = Path(__file__).parents[1] / "earlier_models"
"""By commit 9515d7c: weights, reading, baseline, and the answers to some trees."""


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_folder_of_an_earlier_commit_answers_as_it_did(kind: str) -> None:
    pytest.importorskip("skops", reason="the train extra is not installed")
    wanted = json.loads((EARLIER / kind / "answers.json").read_text(encoding="utf-8"))
    found = TrainedModel.load(EARLIER / kind).answers_to(list(wanted))
    torch.testing.assert_close(found, torch.tensor(list(wanted.values()), dtype=found.dtype), rtol=1e-5, atol=1e-6)


def test_a_folder_whose_functions_have_weights_of_their_own_refuses_unknown_ones_as_it_did() -> None:
    model = TrainedModel.load(EARLIER / "classes")
    with pytest.raises(ValueError, match="unknown function 'sine'"):
        model.answers_to([Tree("sine", (Tree("Symbol", token="x"),))])
