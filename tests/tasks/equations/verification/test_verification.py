"""Equation verification at its smallest setting: every configuration, resume, and bad input."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

import torch
from runs import CONFIGS, assert_resumes_to_the_same_weights, run

import dgltree
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN
from tasks.equations.store import read
from tasks.equations.verification.accuracy import by_depth
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.data import LabelledEquations
from tasks.equations.vocabulary import vocabulary


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(150), "test": PAPER_TEST.scaled(60)}, folder, seed=5)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs(
    sets: Path, tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LabelledEquations, "workers", 0)  # to fork this process takes longer than to read two batches
    run(sets, tmp_path, config, trainer__fast_dev_run="true")
    assert "test: accuracy" in capsys.readouterr().out


def test_a_cell_is_saved_as_it_was_tested(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(sets, tmp_path, next(file for file in CONFIGS if file.stem == "tree_rnn"))
    model = dgltree.load(tmp_path / "model.safetensors")
    counts = by_depth(model, read(sets / "test.parquet")).values()
    accuracy = sum(count.right for count in counts) / sum(count.size for count in counts)
    assert f"test: accuracy {accuracy:.4f}" in capsys.readouterr().out


@pytest.mark.slow
def test_averaged_weights_are_tested_saved_and_resumed(sets: Path, tmp_path: Path) -> None:
    config, averaging = CONFIGS[0].with_stem("tree_rnn"), tmp_path / "averaging.yaml"
    callback = "{class_path: lightning.pytorch.callbacks.EMAWeightAveraging, init_args: {decay: 0.9}}"
    averaging.write_text(f"trainer: {{callbacks: [{callback}]}}\n")
    assert_resumes_to_the_same_weights(sets, tmp_path, EquationClassifier, config=[config, averaging])
    best = torch.load(tmp_path / "whole" / "checkpoints" / "best.ckpt", weights_only=True)
    model = dgltree.load(tmp_path / "whole" / "model.safetensors")
    saved = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    assert all(torch.equal(saved[name], best["state_dict"][name]) for name in saved)
    assert any(not torch.equal(saved[name], best["current_model_state"][name]) for name in saved)


@pytest.mark.slow
def test_a_training_that_learns_values_in_any_order_is_resumed_to_the_same_weights(sets: Path, tmp_path: Path) -> None:
    config = CONFIGS[0].parent / "values" / "tree_smu.yaml"
    assert_resumes_to_the_same_weights(sets, tmp_path, EquationClassifier, config=config)
    losses = [json.loads(line)["loss"] for line in (tmp_path / "whole" / "epochs.jsonl").read_text().splitlines()]
    assert losses[1] < losses[0]


@pytest.mark.slow
def test_the_test_is_reported_by_depth(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(sets, tmp_path)
    out, err = capsys.readouterr()
    assert re.search(r"epoch 1: accuracy [\d.]+, loss [\d.]+; [\d.]+ s \+ [\d.]+ s", err)
    figures = dict(re.findall(r"(\w+) ([\d.]+)", out[out.index("test:") :]))
    assert {"accuracy", "precision", "recall", "depth_08_accuracy", "depth_19_recall"} <= set(figures)
    run(sets, tmp_path, command="test", ckpt_path=tmp_path / "checkpoints" / "best.ckpt", data__test_depths="[8,9]")
    table = capsys.readouterr().out
    assert "depth_09_accuracy" in table
    assert "depth_10" not in table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "further"),
    [("tree_smu", ""), ("lstm", ", num_layers: 2"), ("transformer", ""), ("tree_transformer", ", path_length: 8")],
)
def test_an_interrupted_run_continues_to_the_same_weights(sets: Path, tmp_path: Path, name: str, further: str) -> None:
    options = {"model__options": f"{{dropout: 0.2{further}}}", "config": CONFIGS[0].with_stem(name)}
    assert_resumes_to_the_same_weights(sets, tmp_path, EquationClassifier, **options)


def test_bad_configurations_say_what_is_wrong(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"the encoder is 'gru'; it must be one of tree_rnn, .*, lstm"):
        EquationClassifier(vocabulary(), "gru")
    with pytest.raises(SystemExit):
        run(sets, tmp_path, model__sise=3)
    assert "model.sise" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"error: .*nowhere.parquet: no such file"):
        run(sets, tmp_path, data__train=sets / "nowhere.parquet")
    with pytest.raises(SystemExit, match=r"error: .* has no equations of depth 40 to 50"):
        run(sets, tmp_path, data__train_depths="[40,50]")
    with pytest.raises(ValueError, match="value_weight is 1; it must be 0 with majority"):
        EquationClassifier(vocabulary(), "majority", value_weight=1)
    with pytest.raises(ValueError, match="batch_size is 0"):
        LabelledEquations(sets / "train.parquet", batch_size=0)


def test_batches_of_equations_that_were_flattened_once_are_those_of_their_rows(sets: Path) -> None:
    data = LabelledEquations(sets / "train.parquet")
    rows = data.train_rows
    flat = data._flattened(rows)
    for chosen in ([3, 0, 7], list(range(len(rows)))[::-1]):
        found, expected = data._taken(flat, chosen), data.collate([rows[k] for k in chosen])
        assert dgltree.unbatch(found.trees) == dgltree.unbatch(expected.trees)
        assert (found.labels.tolist(), found.groups.tolist()) == (expected.labels.tolist(), expected.groups.tolist())


@pytest.mark.parametrize("commute", [False, True])
def test_sums_are_swapped_anew_in_every_epoch_of_a_set_in_memory_too(commute: bool, sets: Path) -> None:
    data, orders = LabelledEquations(sets / "train.parquet", commute=commute, batch_size=1000), []
    module = EquationClassifier(vocabulary(), "tree_rnn", 4)
    for epoch in (0, 1):
        data.trainer = SimpleNamespace(current_epoch=epoch, lightning_module=module, world_size=1, global_rank=0)
        data.workers = 0
        data.epoch_generator = lambda: torch.Generator().manual_seed(0)  # type: ignore[method-assign]
        [batch] = data.train_dataloader()
        orders.append((batch.trees.token.tolist(), batch.trees.child_index.tolist()))
    assert (orders[0] == orders[1]) != commute


def test_options_reach_the_optimizer() -> None:
    [group] = (
        EquationClassifier(vocabulary(), "tree_rnn", 4, lr=0.25, weight_decay=0.125).configure_optimizers().param_groups
    )
    assert (group["lr"], group["weight_decay"]) == (0.25, 0.125)
