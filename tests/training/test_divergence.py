"""A training whose loss is no finite number stops at once, promises nothing that is not there, and frees its folder."""

import json
from pathlib import Path

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

import torch
from own_trees import SMALL, table

from dgltree.commands.main import main
from dgltree.training.folder import give_up
from dgltree.training.stepping.module import TreeTraining

PLAIN = ["--no-baseline", "--label-scale", "none"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "trees.tsv").write_text(table(60, "value"), encoding="utf-8")

    def run(*more: str) -> tuple[int, list[str]]:
        arguments = [str(tmp_path / "trees.tsv"), "--out", str(tmp_path / "model"), *SMALL, *PLAIN, *more]
        code = main(["fit", *arguments])
        return code, capsys.readouterr().err.splitlines()

    return run


def test_an_infinite_loss_stops_at_once_without_a_model_and_another_rate_works(run, tmp_path: Path) -> None:
    code, lines = run("--epochs", "3", "--lr", "1e30")
    assert code == 1
    assert "lower --lr (1e+30)" in lines[-1]
    folder = tmp_path / "model"
    assert f"stopped: {folder} contains no model; a command with other settings starts over in this folder" in lines
    assert not any(line.startswith("epoch ") for line in lines), "no epoch was reported"
    assert sorted(file.name for file in folder.iterdir()) == ["fit.json", "split.tsv"]
    code, lines = run("--epochs", "1")
    assert code == 0
    assert "given_up" not in json.loads((folder / "fit.json").read_text())
    assert (folder / "model.safetensors").exists()


def test_a_loss_that_is_lost_later_leaves_the_best_epoch_before(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = TreeTraining._loss

    def lost(self, labelled):
        found, weight = loss(self, labelled)
        return (found * torch.nan if self.current_epoch == 1 else found), weight

    folder = tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr(TreeTraining, "_loss", lost)
        code, lines = run("--epochs", "3")
    assert code == 1
    assert "epoch 1, step 0: the loss is nan; lower --lr" in lines[-1]
    assert any("contains the best model of the earlier epochs" in line for line in lines)
    assert (folder / "model.safetensors").exists()
    code, _ = run("--epochs", "2", "--lr", "0.001")
    assert code == 0
    assert len((folder / "epochs.jsonl").read_text().splitlines()) == 2


def test_a_training_that_goes_on_after_all_is_not_deleted_by_another_one(run, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    assert run("--epochs", "2")[0] == 0
    (folder / "card.json").unlink()  # as if it had been stopped
    give_up(folder)
    assert run("--epochs", "2")[0] == 0
    weights = (folder / "model.safetensors").read_bytes()
    code, lines = run("--epochs", "2", "--lr", "0.001")
    assert (code, "holds another training" in lines[-1]) == (1, True)
    assert (folder / "model.safetensors").read_bytes() == weights
