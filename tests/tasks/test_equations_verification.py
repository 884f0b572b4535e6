"""Equation verification at its smallest setting: every configuration, resume, and bad input."""

import re
from pathlib import Path
from typing import Any

import commands
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import dgltree
from tasks.equations import verification
from tasks.equations.accuracy import by_depth
from tasks.equations.classifier import EquationClassifier
from tasks.equations.data import LabelledEquations, vocabulary
from tasks.equations.generate import write_sets
from tasks.equations.presets import PAPER_TEST, PAPER_TRAIN
from tasks.equations.store import read

CONFIGS = sorted((Path(__file__).parents[2] / "tasks" / "equations" / "configs").glob("*.yaml"))


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(150), "test": PAPER_TEST.scaled(60)}, folder, seed=5)
    return folder


def run(sets: Path, out: Path, config: Path = CONFIGS[0], command: str = "fit", **options: Any) -> None:
    given = {
        "data.train": sets / "train.parquet",
        "data.test": sets / "test.parquet",
        "trainer.default_root_dir": out,
        "trainer.max_epochs": 2,
        "model.hidden_size": 32,
        "data.batch_size": 32,
    }
    commands.run(verification.main, command, [config], given, **options)


def weights(out: Path) -> dict[str, torch.Tensor]:
    return torch.load(out / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]


@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs(sets: Path, tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(sets, tmp_path, config, trainer__fast_dev_run="true")
    assert "test: accuracy" in capsys.readouterr().out


def test_a_cell_is_saved_as_it_was_tested(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(sets, tmp_path, next(file for file in CONFIGS if file.stem == "tree_rnn"))
    model = dgltree.load(tmp_path / "model.safetensors")
    counts = by_depth(model, read(sets / "test.parquet")).values()
    accuracy = sum(count.right for count in counts) / sum(count.right + count.wrong for count in counts)
    assert f"test: accuracy {accuracy:.4f}" in capsys.readouterr().out


def test_the_test_is_reported_by_depth(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(sets, tmp_path)
    out = capsys.readouterr().out
    assert re.search(r"epoch 1: accuracy [\d.]+, loss [\d.]+; [\d.]+ s \+ [\d.]+ s", out)
    figures = dict(re.findall(r"(\w+) ([\d.]+)", out[out.index("test:") :]))
    assert {"accuracy", "precision", "recall", "depth_08_accuracy", "depth_19_recall"} <= set(figures)
    run(sets, tmp_path, command="test", ckpt_path=tmp_path / "checkpoints" / "best.ckpt", data__test_depths="[8,9]")
    table = capsys.readouterr().out
    assert "depth_09_accuracy" in table
    assert "depth_10" not in table


@pytest.mark.parametrize(
    ("name", "further"),
    [("tree_smu", ""), ("lstm", ", num_layers: 2"), ("transformer", ""), ("tree_transformer", ", path_length: 8")],
)
def test_an_interrupted_run_continues_to_the_same_weights(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, further: str
) -> None:
    options = {"model__options": f"{{dropout: 0.2{further}}}", "config": CONFIGS[0].with_stem(name)}
    run(sets, tmp_path / "whole", **options)
    step = EquationClassifier.training_step

    def stop_in_the_second_epoch(self, labelled, index):
        if self.current_epoch == 1 and index == 1:
            raise KeyboardInterrupt
        return step(self, labelled, index)

    with monkeypatch.context() as patch:
        patch.setattr(EquationClassifier, "training_step", stop_in_the_second_epoch)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            run(sets, tmp_path / "part", **options)
    run(sets, tmp_path / "part", ckpt_path="last", **options)
    whole, part = weights(tmp_path / "whole"), weights(tmp_path / "part")
    assert all(torch.equal(whole[name], part[name]) for name in whole)


def test_bad_configurations_say_what_is_wrong(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"the encoder is 'gru'; it is one of tree_rnn, .*, lstm"):
        EquationClassifier(vocabulary(), "gru")
    with pytest.raises(SystemExit):
        run(sets, tmp_path, model__sise=3)
    assert "model.sise" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"error: .*nowhere.parquet: no such file"):
        run(sets, tmp_path, data__train=sets / "nowhere.parquet")
    with pytest.raises(SystemExit, match=r"error: .* has no equations of depth 40 to 50"):
        run(sets, tmp_path, data__train_depths="[40,50]")
    with pytest.raises(ValueError, match="batch_size is 0"):
        LabelledEquations(sets / "train.parquet", batch_size=0)
