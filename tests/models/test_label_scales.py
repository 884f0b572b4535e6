"""Scales on which numbers are learnt: there and back, what is refused, and a readout that gives numbers of one."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from dgltree import Tree, Vocabulary
from dgltree.encoders import make_encoder
from dgltree.models.checkpoint import load, save
from dgltree.models.label_scales import LabelScale, spread
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel

LABELS = torch.tensor([0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 40.0, 900.0], dtype=torch.float64)
NAMES: list[Any] = ["none", "log", "asinh", "rank"]


@pytest.mark.parametrize("name", NAMES)
def test_a_scale_leads_there_and_back_keeps_the_order_and_survives_json(name: Any) -> None:
    scale = LabelScale.of(name, LABELS)
    there = scale.to(LABELS)
    assert bool((there.diff() > 0).all())
    torch.testing.assert_close(scale.back(there), LABELS)
    assert LabelScale.from_json(json.loads(json.dumps(scale.to_json()))) == scale


def test_scales_are_what_they_are_called() -> None:
    torch.testing.assert_close(LabelScale.of("log", LABELS).to(LABELS), LABELS.log())
    middle = (LABELS - LABELS.median()) / spread(LABELS)
    torch.testing.assert_close(LabelScale.of("asinh", LABELS).to(LABELS), middle.asinh())
    even = torch.linspace(5, 6, 650).double()
    scores = LabelScale.of("rank", even).to(even)
    assert float(scores.mean()) == pytest.approx(0, abs=1e-6)
    assert float(scores.std()) == pytest.approx(1, abs=0.06)
    assert spread(torch.randn(20_000, generator=torch.Generator().manual_seed(0))) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("name", NAMES[1:])
def test_numbers_come_back_within_those_of_training(name: Any) -> None:
    scale = LabelScale.of(name, LABELS)
    found = scale.back(torch.tensor([-1e6, 1e6], dtype=torch.float64))
    torch.testing.assert_close(found, torch.stack([LABELS.min(), LABELS.max()]))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sqrt", ()),
        ("log", (0.0, 1.0)),
        ("log", (1.0,)),
        ("asinh", (0.0, 1.0, 0.0, 0.0)),
        ("rank", (2.0, 1.0)),
        ("rank", ()),
    ],
)
def test_what_is_no_scale_is_refused(name: Any, values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="the label scale"):
        LabelScale(name, values)
    with pytest.raises(ValueError, match="the label scale"):
        LabelScale("rank", (0.0, math.inf))


def test_equal_numbers_have_no_ranks() -> None:
    assert LabelScale.of("rank", torch.ones(5)).name == "none"


def test_a_readout_gives_numbers_in_their_unit_and_is_saved_with_its_scale(tmp_path: Path) -> None:
    tree = Tree("f", (Tree("w", token="a"),))
    vocabulary = Vocabulary.from_trees([tree])
    torch.manual_seed(0)
    readout = NumberReadout(4)
    states = torch.randn(3, 4)
    plain = readout(states)
    scale = LabelScale.of("asinh", LABELS)
    readout.scaled(scale)
    torch.testing.assert_close(readout(states), scale.back(plain))
    model = TreeModel(make_encoder("tree_lstm", vocabulary, 4), readout)
    save(model, tmp_path / "model.safetensors")
    torch.testing.assert_close(load(tmp_path / "model.safetensors").readout(states), scale.back(plain))
