"""Training at its smallest setting."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import dgltree
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout
from dgltree.ranking.pretrained_files import FOLDER
from tasks.equations.completion import textbook

pytest.importorskip("lightning", reason="the train extra is not installed")


def small(folder: Path, epochs: int = 2, **options: Any) -> Path:
    from tasks.equations.completion import ranking_module
    from tasks.equations.completion.train import train

    out = folder / "model.safetensors"
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # Lightning's advice on workers and logging
        for name in ("fillers", "further_fillers"):  # all leaves and some of the rest: each is compared with each
            every = getattr(ranking_module, name)()
            patch.setattr(ranking_module, name, lambda every=every: [*every[:19], *every[19::10]])
        train(
            out,
            folder / "work",
            hidden_size=6,
            equations=(120, 120, 60),
            tests=150,
            epochs=epochs,
            steps=2,
            batch_size=8,
            candidates=4,
            workers=1,
            **options,
        )
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of an uninterrupted run."""
    return small(tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
def test_a_trained_model_loads_ranks_and_repeats(whole: Path, tmp_path: Path) -> None:
    assert small(tmp_path).read_bytes() == whole.read_bytes(), "a seed gives the same model"
    model = dgltree.open_model(whole)
    assert {parameter.dtype for parameter in dgltree.load(whole).parameters()} == {torch.float16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    [ranking] = dgltree.rank(model, [dgltree.read_equation("x + _ = x")], dgltree.shipped_fillers(), top=3)
    assert len(ranking.fillers) == 3


@pytest.mark.slow
def test_an_interrupted_run_continues_to_the_same_model(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.equations.completion import train as module

    step = module.FillerRankingModule.training_step

    def stop_in_the_second_epoch(self, batch, index):
        if self.current_epoch == 1:
            raise KeyboardInterrupt
        return step(self, batch, index)

    with monkeypatch.context() as patch:
        patch.setattr(module.FillerRankingModule, "training_step", stop_in_the_second_epoch)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            small(tmp_path)
    assert small(tmp_path).read_bytes() == whole.read_bytes()


def test_a_model_to_begin_with_gives_what_it_knows() -> None:
    from tasks.equations.completion.train import adopt

    def model(functions: list[tuple[str, int]], tokens: list[str], size: int = 4) -> EquationModel:
        vocabulary = Vocabulary(functions, tokens)
        return EquationModel(TreeEncoder(CELLS["tree_lstm"](vocabulary, size)), EquationReadout())

    torch.manual_seed(0)
    known = model([("Symbol", 0), ("cos", 1), ("sin", 1), ("Add", 2)], ["1", "var_0"]).half()
    new = model([("Add", 2), ("Mul", 2), ("Symbol", 0), ("exp", 1), ("sin", 1)], ["pi", "var_0", "<unk>", "1"])
    known.readout.bias.data.fill_(0.5)
    before = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    adopt(new, known)
    ours, theirs = new.state_dict(), {name: tensor.float() for name, tensor in known.state_dict().items()}
    gates = "encoder.cell.maps.gates_{}.weight".format
    assert torch.equal(ours[gates(1)][1], theirs[gates(1)][1]), "sin"
    assert torch.equal(ours[gates(1)][0], before[gates(1)][0]), "exp, which is new"
    assert torch.equal(ours[gates(2)][0], theirs[gates(2)][0]), "Add"
    assert torch.equal(ours[gates(2)][1], before[gates(2)][1]), "Mul, which is new"
    embedding = "encoder.cell.embedding.weight"
    assert torch.equal(ours[embedding][[1, 3]], theirs[embedding][[1, 0]])
    assert torch.equal(ours[embedding][[0, 2]], before[embedding][[0, 2]])
    assert ours["readout.bias"].item() == 0.5
    with pytest.raises(ValueError, match=r"a row has the shape \(24, 6\), not \(16, 4\)"):
        adopt(model([("Add", 2), ("Symbol", 0), ("sin", 1)], ["1"], 6), known)


def test_training_begins_with_a_model_and_on_some_worlds_only(whole: Path, tmp_path: Path) -> None:
    out = small(tmp_path, epochs=1, start=whole, shares=(0.5, 0.0, 0.5), lr=1e-9)
    began, ended = (dgltree.open_model(path).state_dict() for path in (whole, out))
    for name, tensor in began.items():
        torch.testing.assert_close(ended[name], tensor, atol=1e-3, rtol=0)
    assert not list((tmp_path / "work").glob("elementary*"))


def test_shares_add_up_to_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="they add up to 1"):
        small(tmp_path, shares=(0.5, 0.2, 0.2))
    assert not list(tmp_path.iterdir())


def test_the_losses_by_hand() -> None:
    from tasks.equations.completion.ranking_module import among, balanced

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

    with pytest.raises(ValueError, match="the cell is 'lstm'; it must be one of tree_rnn"):
        train(tmp_path / "model", tmp_path / "work", cell="lstm")
    assert not list(tmp_path.iterdir())


def test_the_shipped_model_is_small_and_offers_enough_fillers() -> None:
    assert (FOLDER / "default.safetensors").stat().st_size < 5_000_000
    assert len(set(dgltree.shipped_fillers())) >= 1_500


@pytest.mark.slow
def test_the_textbook_report(capsys: pytest.CaptureFixture[str]) -> None:
    textbook.main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22
    assert "top-5" in lines[-1]
    assert not any(line.split()[-3] == "-" for line in lines[1:-1]), "every line has a right filler"
