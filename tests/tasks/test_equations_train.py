"""Training at its smallest setting."""

import warnings
from pathlib import Path

import pytest

import dgltree
from dgltree.shipped import FOLDER
from tasks.equations import textbook

pytest.importorskip("lightning", reason="the train extra is not installed")


def small(tmp_path: Path, epochs: int) -> Path:
    from tasks.equations.train import train

    out = tmp_path / "model.safetensors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice on workers and logging
        train(
            out,
            tmp_path / "work",
            hidden_size=6,
            equations=200,
            epochs=epochs,
            batch_size=32,
            workers=1,
            limit_batches=2,
        )
    return out


def test_a_trained_model_loads_ranks_and_repeats(tmp_path: Path) -> None:
    first, second = small(tmp_path / "a", epochs=1), small(tmp_path / "b", epochs=1)
    assert first.read_bytes() == second.read_bytes(), "a seed gives the same model"
    model = dgltree.load(first)
    [ranking] = dgltree.rank(model, [dgltree.read_equation("x + _ = x")], dgltree.shipped_fillers(), k=3)
    assert len(ranking.fillers) == 3


def test_an_interrupted_run_continues_to_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.equations import train as module

    whole = small(tmp_path / "whole", epochs=2).read_bytes()
    validation = module.EquationClassifier.training_step

    def stop_in_the_second_epoch(self, batch, index):
        if self.current_epoch == 1:
            raise KeyboardInterrupt
        return validation(self, batch, index)

    with monkeypatch.context() as patch:
        patch.setattr(module.EquationClassifier, "training_step", stop_in_the_second_epoch)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            small(tmp_path / "part", epochs=2)
    assert small(tmp_path / "part", epochs=2).read_bytes() == whole


def test_an_encoder_that_cannot_be_saved_is_refused_before_the_work(tmp_path: Path) -> None:
    from tasks.equations.train import train

    with pytest.raises(ValueError, match="the cell is 'lstm'; it is one of tree_rnn"):
        train(tmp_path / "model", tmp_path / "work", cell="lstm")
    assert not list(tmp_path.iterdir())


def test_the_shipped_model_is_small_and_offers_enough_fillers() -> None:
    assert (FOLDER / "default.safetensors").stat().st_size < 2_000_000
    assert len(set(dgltree.shipped_fillers())) >= 1_500


def test_the_textbook_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["textbook"])
    textbook.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22
    assert "top-5" in lines[-1]
    assert not any(line.split()[-3] == "-" for line in lines[1:-1]), "every line has a right filler"
