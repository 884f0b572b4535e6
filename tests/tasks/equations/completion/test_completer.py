"""Training at its smallest setting."""

import warnings
from pathlib import Path

import pytest

import dgltree
from dgltree.equations.shipped import FOLDER
from tasks.equations.completion import textbook

pytest.importorskip("lightning", reason="the train extra is not installed")


def small(folder: Path, epochs: int = 2) -> Path:
    from tasks.equations.completion.train import train

    out = folder / "model.safetensors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice on workers and logging
        train(
            out,
            folder / "work",
            hidden_size=6,
            equations=150,
            tests=150,
            epochs=epochs,
            steps=2,
            batch_size=8,
            candidates=4,
            workers=1,
        )
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of an uninterrupted run."""
    return small(tmp_path_factory.mktemp("whole"))


def test_a_trained_model_loads_ranks_and_repeats(whole: Path, tmp_path: Path) -> None:
    assert small(tmp_path).read_bytes() == whole.read_bytes(), "a seed gives the same model"
    model = dgltree.load(whole)
    [ranking] = dgltree.rank(model, [dgltree.read_equation("x + _ = x")], dgltree.shipped_fillers(), top=3)
    assert len(ranking.fillers) == 3


def test_an_interrupted_run_continues_to_the_same_model(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.equations.completion import train as module

    step = module.Completer.training_step

    def stop_in_the_second_epoch(self, batch, index):
        if self.current_epoch == 1:
            raise KeyboardInterrupt
        return step(self, batch, index)

    with monkeypatch.context() as patch:
        patch.setattr(module.Completer, "training_step", stop_in_the_second_epoch)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            small(tmp_path)
    assert small(tmp_path).read_bytes() == whole.read_bytes()


def test_the_losses_by_hand() -> None:
    import torch

    from tasks.equations.completion.completer import among, balanced

    logit = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    right = torch.tensor([[True, False, False], [False, False, False]])
    spare = torch.tensor([[False, False, True], [False, False, False]])
    expected = torch.log(torch.tensor(1 + torch.e))  # the spare candidate and the row without a right one do not count
    assert among(logit, right, spare).item() == pytest.approx(expected.item())
    label = torch.tensor([[1.0, 0.0, float("nan")], [0.0, 0.0, 0.0]])
    positive, negative = (torch.nn.functional.softplus(torch.tensor(x)) for x in ([-1.0], [2.0, 0.0, 0.0, 0.0]))
    assert balanced(logit, label).item() == pytest.approx((positive.mean() + negative.mean()).item() / 2)


def test_an_encoder_that_cannot_be_saved_is_refused_before_the_work(tmp_path: Path) -> None:
    from tasks.equations.completion.train import train

    with pytest.raises(ValueError, match="the cell is 'lstm'; it is one of tree_rnn"):
        train(tmp_path / "model", tmp_path / "work", cell="lstm")
    assert not list(tmp_path.iterdir())


def test_the_shipped_model_is_small_and_offers_enough_fillers() -> None:
    assert (FOLDER / "default.safetensors").stat().st_size < 5_000_000
    assert len(set(dgltree.shipped_fillers())) >= 1_500


def test_the_textbook_report(capsys: pytest.CaptureFixture[str]) -> None:
    textbook.main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22
    assert "top-5" in lines[-1]
    assert not any(line.split()[-3] == "-" for line in lines[1:-1]), "every line has a right filler"
