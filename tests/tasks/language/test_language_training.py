"""Training of language models: what is learnt, averaged, interrupted, and stopped."""

import json
import math
from pathlib import Path

import command_line
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import lightning
import yaml
from sample import CONFIGS, fit, write_text

from dgltree import Vocabulary
from dgltree.models import LanguageModel, load_language_model
from dgltree.training.stepping.callbacks import check_checkpoint
from tasks.language.averaging import averaged_weights, has_stopped_falling, use_averages
from tasks.language.model import LanguageTraining
from tasks.language.text import read_sentences, stream


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text"))


def epochs(folder: Path) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (folder / "epochs.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("config", ["reduced", "reduced_lstm", "paper", "paper_lstm"])
def test_every_configuration_learns_and_reports(text: Path, tmp_path: Path, config: str) -> None:
    fit(text, tmp_path, config, trainer__max_epochs=3)
    figures = json.loads((tmp_path / "test.json").read_text())
    assert figures.keys() == {"perplexity", "published_perplexity", "log_probability"}
    losses = [row["loss"] for row in epochs(tmp_path)]
    assert losses[-1] < losses[0] - 0.1
    assert figures["perplexity"] < 9, "as many words as there are: nothing was learnt"


@pytest.mark.slow
def test_perplexity_is_that_of_the_words_that_are_predicted(text: Path, tmp_path: Path) -> None:
    fit(text, tmp_path)
    model = load_language_model(tmp_path / "model.safetensors")
    file = text / "ptb.test.txt"
    words = stream(file, read_sentences(file), model.vocabulary)
    with torch.no_grad():
        logits = model.logits(model(words[None, :-1]).states)[0]
    loss = float(torch.nn.functional.cross_entropy(logits, words[1:]))
    figures = json.loads((tmp_path / "test.json").read_text())
    assert figures["perplexity"] == pytest.approx(math.exp(loss), rel=1e-5)
    published = math.exp(loss * (len(words) - 1) / len(words))
    assert figures["published_perplexity"] == pytest.approx(published, rel=1e-5)
    assert figures["log_probability"] == pytest.approx(-loss, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [2, 3], ids=["before averaging", "in averaging"])
def test_an_interrupted_training_goes_on_to_the_same_bit(text: Path, tmp_path: Path, stop: int) -> None:
    options = {"trainer__max_epochs": 5, "model__average_from": 3, "model__patience": 9, "model__restart_after": 4}
    fit(text, tmp_path / "whole", **options)
    with command_line.stopped(LanguageTraining, stop, 3):
        fit(text, tmp_path / "halves", **options)
    last = tmp_path / "halves" / "checkpoints" / "last.ckpt"
    fit(text, tmp_path / "halves", ckpt_path=last, **options)
    assert epochs(tmp_path / "halves") == epochs(tmp_path / "whole")
    for name in ("last.ckpt", "best.ckpt"):
        ours, theirs = (check_checkpoint(tmp_path / run / "checkpoints" / name) for run in ("halves", "whole"))
        assert ours["averaging"] == theirs["averaging"]
        assert ours["averaging"]["averaging"]
        for run, whole in zip(_tensors(ours), _tensors(theirs), strict=True):
            assert torch.equal(run, whole)


def _tensors(checkpoint: dict) -> list[torch.Tensor]:
    states = checkpoint["optimizer_states"][0]["state"].values()
    return [*checkpoint["state_dict"].values(), *(value for state in states for value in state.values())]


@pytest.mark.slow
def test_the_averages_are_what_is_validated_tested_and_saved(text: Path, tmp_path: Path) -> None:
    fit(text, tmp_path, model__average_from=1, trainer__max_epochs=3)
    best = check_checkpoint(tmp_path / "checkpoints" / "best.ckpt")
    saved = load_language_model(tmp_path / "model.safetensors").state_dict()
    names = [name for name, _ in load_language_model(tmp_path / "model.safetensors").named_parameters()]
    averages = averaged_weights(best, [f"model.{name}" for name in names])
    assert all(torch.equal(saved[name], averages[f"model.{name}"]) for name in names)
    assert not torch.equal(saved["bias"], best["state_dict"]["model.bias"])
    from tasks.language.cli import main

    given = {
        "data.folder": text,
        "trainer.default_root_dir": tmp_path,
        "ckpt_path": tmp_path / "checkpoints/best.ckpt",
    }
    from sample import SMALL

    command_line.run(main, "validate", [CONFIGS / "reduced.yaml"], {**SMALL, **given})


def test_averaging_is_the_mean_of_the_weights_after_each_step_and_leaves_them() -> None:
    layer = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.ASGD(layer.parameters(), 0.5, lambd=0, t0=0)
    seen = []
    for i in range(4):
        optimizer.zero_grad()
        (layer.weight * (i - 1)).sum().backward()
        optimizer.step()
        seen.append(layer.weight.detach().clone())
    with use_averages(layer, optimizer):
        torch.testing.assert_close(layer.weight, torch.stack(seen[1:]).mean(0))  # torch's count begins with the second
    assert torch.equal(layer.weight, seen[-1])
    with use_averages(layer, torch.optim.SGD(layer.parameters(), 0.5)):
        assert torch.equal(layer.weight, seen[-1])


@pytest.mark.parametrize(
    ("losses", "patience", "expected"),
    [
        ([5, 4, 3, 2, 1, 6], 5, False),
        ([1, 5, 4, 3, 2, 1.5, 6], 5, True),
        ([1, 5, 4, 3, 2, 1.5, 0.9], 5, False),
        ([3, 1, 2], 1, False),
        ([3, 1, 4], 1, True),
        ([1, 2], 0, True),
        ([2], 0, False),
    ],
)
def test_the_trigger_is_the_published_one(losses: list[float], patience: int, expected: bool) -> None:
    *earlier, last = losses
    published = len(earlier) > patience and last > min(earlier[:-patience] if patience else earlier)
    assert has_stopped_falling(losses, patience) == expected == published


@pytest.mark.slow
def test_the_rate_of_a_step_is_in_proportion_to_its_part(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, train = [], LanguageTraining.training_step

    def watched(self: LanguageTraining, part: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        seen.append((part[0].shape[1], self.trainer.optimizers[0].param_groups[0]["lr"]))
        return train(self, part, index)

    monkeypatch.setattr(LanguageTraining, "training_step", watched)
    fit(text, tmp_path, trainer__max_epochs=1)
    assert len({length for length, _ in seen}) > 3
    assert all(rate == pytest.approx(5.0 * length / 12) for length, rate in seen)


def test_penalties_are_those_of_the_last_layers_states() -> None:
    vocabulary = Vocabulary((), ["<eos>", "a", "b"])
    options = {"sizes": (8, 4), "options": {"chunk_size": 2}, "output_dropout": 0.5}
    torch.manual_seed(0)
    training = LanguageTraining(vocabulary, activation_penalty=3.0, change_penalty=5.0, **options)
    training._sum, training.log = torch.zeros(()), lambda *_, **__: None  # type: ignore[method-assign]
    training.trainer = lightning.Trainer(logger=False, enable_checkpointing=False, enable_progress_bar=False)
    words = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 1]])
    torch.manual_seed(1)
    with_penalties = training.training_step((words, words.flip(1)), 0)
    training.activation_penalty = training.change_penalty = 0.0
    training._state = None
    torch.manual_seed(1)
    without = training.training_step((words, words.flip(1)), 0)
    states = training.model(words).states
    expected = 3 * states.pow(2).mean() + 5 * (states[:, 1:] - states[:, :-1]).pow(2).mean()
    torch.testing.assert_close(with_penalties - without, expected)


@pytest.mark.slow
def test_a_loss_that_is_no_number_stops_and_names_the_last_checkpoint(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = LanguageTraining.training_step

    def broken(self: LanguageTraining, part: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        loss = train(self, part, index)
        if self.current_epoch == 1 and index == 2:
            self._sum += math.nan
            return loss * math.nan
        return loss

    monkeypatch.setattr(LanguageTraining, "training_step", broken)
    with pytest.raises(
        SystemExit,
        match=r"not finite in epoch 1 before step 49; the last good checkpoint is .*last.ckpt\. A lower",
    ):
        fit(text, tmp_path)
    last = check_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    assert last["epoch"] == 0
    assert all(weight.isfinite().all() for weight in last["state_dict"].values())
    with pytest.raises(SystemExit, match=r"in epoch 0.*there is no checkpoint yet"):
        fit(text, tmp_path / "new", model__lr=1e38)


def test_another_text_is_refused_on_resuming(text: Path, tmp_path: Path) -> None:
    fit(text, tmp_path / "run", trainer__max_epochs=1)
    (tmp_path / "other").mkdir()
    other = write_text(tmp_path / "other")
    file = other / "ptb.train.txt"
    file.write_text(file.read_text().replace("cat", "cow"))
    with pytest.raises(SystemExit, match="the checkpoint has other words"):
        fit(other, tmp_path / "run", ckpt_path=tmp_path / "run/checkpoints/last.ckpt")


@pytest.mark.parametrize(("ours", "twin"), [("paper", "paper_lstm"), ("reduced", "reduced_lstm")])
def test_twins_have_the_same_number_of_parameters_and_settings(ours: str, twin: str) -> None:
    counts, others = [], []
    vocabulary = Vocabulary((), ["<eos>", *map(str, range(9999))])
    for name in (ours, twin):
        config = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
        config["trainer"].pop("default_root_dir")
        of = {key: config["model"].pop(key, None) for key in ("layers", "sizes", "options")}
        others.append(config)
        with torch.device("meta"):
            counts.append(sum(p.numel() for p in LanguageModel(vocabulary, **of).parameters()))
    assert others[0] == others[1]
    assert counts == {"paper": [25_232_180, 25_235_796], "reduced": [4_247_696, 4_249_232]}[ours]
