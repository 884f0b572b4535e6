"""The order in which the shipped models are made, and what is left out because it is there."""

from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import Vocabulary, load, save
from dgltree.batching.vocabulary import without_signatures
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout
from tasks.equations import shipped as module
from tasks.equations.shipped import mean


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is made, in order, instead of being made."""
    calls: list[tuple[Any, ...]] = []

    def train(out: Path, work: Path, start: Path | None, **options: Any) -> None:
        calls.append((out.name, start and start.name, options["shares"]))
        out.touch()

    def mean(models: list[Path], out: Path) -> None:
        calls.append((out.name, *(path.name for path in models)))

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module, "mean", mean)
    return calls


SETTLED = ("settled.safetensors", "elementary.safetensors", (0.7, 0.2, 0.1))
MEAN = ("default.safetensors", "elementary.safetensors", "settled.safetensors")


def test_each_training_begins_with_the_model_before(made: list[tuple[Any, ...]], tmp_path: Path) -> None:
    module.train_shipped(tmp_path)
    assert made == [
        ("paper.safetensors", None, (1, 0, 0)),
        ("elementary.safetensors", "paper.safetensors", (0.35, 0.45, 0.2)),
        SETTLED,
        MEAN,
    ]


def test_what_is_there_is_taken_and_a_start_replaces_the_first(made: list[tuple[Any, ...]], tmp_path: Path) -> None:
    (tmp_path / "elementary.safetensors").touch()
    module.train_shipped(tmp_path, tmp_path / "third.safetensors")
    assert made == [SETTLED, MEAN]


def test_the_mean_of_models_is_that_of_each_weight(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "other"]
    for seed, path in enumerate(paths):
        torch.manual_seed(seed)
        cell = CELLS["tree_lstm"](Vocabulary([("Symbol", 0), ("Add", 2)], ["x"]), 4)
        save(EquationModel(TreeEncoder(cell), EquationReadout()).half(), path)
    mean(paths, tmp_path / "mean")
    one, other, both = (without_signatures(load(path).state_dict()) for path in (*paths, tmp_path / "mean"))
    for name, tensor in both.items():
        torch.testing.assert_close(tensor.float(), (one[name].float() + other[name].float()) / 2, atol=1e-3, rtol=0)
    assert {tensor.dtype for tensor in both.values()} == {torch.float16}
