"""Models of networks that find trees, saved before these had their newer options, answer as they did then.

A release of that time wrote format_3/, and computed the logits and the merges in its answers.json.
"""

import json
from pathlib import Path

import pytest
import torch

import dgltree
from dgltree import batch
from dgltree.encoders import Merges
from dgltree.models.checkpoint import OPTIONS_SINCE
from dgltree.read.infix import read_infix

FOLDER = Path(__file__).parent / "format_3"
ANSWERS = json.loads((FOLDER / "answers.json").read_text("utf-8"))
TREES = [read_infix(text) for text in ("sin(x)^2", "x + y*(x+y)", "x*(y+sin(x))*x+y*y*y")]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_model_without_the_newer_options_answers_and_finds_trees_as_before(name: str) -> None:
    model = dgltree.load(FOLDER / f"{name}.safetensors")
    since = OPTIONS_SINCE.get(name, {})
    assert since.items() <= model.encoder.config.items()
    flat = batch(TREES, model.encoder.vocabulary)
    torch.testing.assert_close(model(flat), torch.tensor(ANSWERS[name]["logits"]), rtol=0, atol=1e-5)
    parse = model.encoder.encoded(flat).parse
    orders = (parse.order if isinstance(parse, Merges) else parse.orders[:, 0]).tolist()
    assert [[gap for gap in order if gap >= 0] for order in orders] == ANSWERS[name]["orders"]


def test_every_encoder_with_newer_options_has_an_older_model() -> None:
    assert set(OPTIONS_SINCE) <= set(ANSWERS)
