"""What a training takes of Lightning: callbacks, loggers, accumulation, a time limit; and cells of one's own."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from own_trees import QUIET, SMALL, built, table, written

import dgltree
from dgltree import TrainedModel, TreeDataset
from dgltree.cells import CELLS
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

import lightning
from lightning.pytorch import callbacks

from dgltree.training.options import FitOptions
from dgltree.training.stepping.module import TreeTraining

pytestmark = QUIET

CELL = """
import torch
from dgltree.cells import Cell


class Mean(Cell):
    def __init__(self, vocabulary, hidden_size, **options):
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    @property
    def state(self):
        return {"h": (self.hidden_size,)}

    def gates(self, arity):
        return {"h": self.hidden_size}

    def combine(self, pre, children, linear):
        return {"h": torch.tanh(pre["h"])}


class NoCell:
    pass
"""


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    return written(tmp_path, "trees.tsv", table(120))


@pytest.fixture
def registry() -> Iterator[None]:
    """The cells as they were, after the test."""
    before = dict(CELLS)
    yield
    CELLS.clear()
    CELLS.update(before)


def fit(path: Path, out: Path, *more: str) -> int:
    return main(["fit", str(path), "--out", str(out), *SMALL, "--no-baseline", *more])


def test_callbacks_and_loggers_of_ones_own_are_called(trees: Path, tmp_path: Path) -> None:
    seen = []

    class Watching(lightning.Callback):
        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            seen.append(trainer.current_epoch)

    logger = lightning.pytorch.loggers.CSVLogger(tmp_path, "own", version="")
    data = TreeDataset.from_file(trees)
    options: dict[str, Any] = {"hidden_size": 4, "epochs": 2, "no_baseline": True}
    dgltree.fit(data, out=tmp_path / "model", callbacks=[Watching()], logger=logger, **options)
    assert seen == [0, 1]
    assert "accuracy" in (tmp_path / "own" / "metrics.csv").read_text()
    logged = yaml.safe_load((tmp_path / "own" / "hparams.yaml").read_text())
    assert logged["hidden_size"] == 4
    assert logged["epochs"] == 2
    assert logged["encoder"] == "tree_lstm"  # what was decided, not only what was asked for


@pytest.mark.slow
def test_callbacks_of_the_kinds_that_a_training_has_itself_are_kept_apart(trees: Path, tmp_path: Path) -> None:
    own = [
        callbacks.ModelCheckpoint(tmp_path / "mine", monitor="accuracy", mode="max"),
        callbacks.EarlyStopping("accuracy", mode="max", patience=9),
        callbacks.LearningRateFinder(num_training_steps=5),
    ]
    data = TreeDataset.from_file(trees)
    for epochs in (1, 3):  # the second goes on from checkpoints with all states
        options: dict[str, Any] = {"hidden_size": 4, "epochs": epochs, "no_baseline": True}
        dgltree.fit(data, out=tmp_path / "model", callbacks=own[:2] if epochs == 3 else own, **options)
    assert len((tmp_path / "model" / "epochs.jsonl").read_text().splitlines()) == 3
    assert list((tmp_path / "mine").iterdir())


@pytest.mark.parametrize("encoder", ["tree_lstm", "transformer"])
def test_a_training_in_mixed_precision_leaves_a_model(encoder: str, trees: Path, tmp_path: Path) -> None:
    assert fit(trees, tmp_path / "model", "--precision", "bf16-mixed", "--encoder", encoder, "--epochs", "1") == 0
    assert TrainedModel.load(tmp_path / "model").answers_to(["x+y"]).isfinite().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "16-mixed", "device": "cpu"}, "which needs a GPU; bf16-mixed runs on the CPU too"),
        ({"precision": "64"}, "precision is '64'; it must be '32' or 'bf16-mixed' or '16-mixed'"),
        ({"task": "classification"}, "task is 'classification'; it must be 'classify' or 'regress' or 'pair'"),
        ({"hidden_size": "50"}, "hidden_size is '50'; it must be a whole number"),
        ({"dropout": True}, "dropout is True; it must be a number"),
        ({"max_time": "2:30"}, "max_time is '2:30'; it must be days:hours:minutes:seconds"),
        ({"lr": 0.0}, "lr is 0.0; it must be above 0"),
        ({"readout_size": -1}, "readout_size is -1; it must be 0 or more"),
        ({"logger": True}, "logger is True; give a Lightning Logger or a list of Logger objects"),
        ({"callbacks": ["print"]}, "give a Lightning Callback or a list of Callback objects"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_a_folder_is_made(
    options: dict[str, Any], message: str, trees: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dgltree.fit(TreeDataset.from_file(trees), out=tmp_path / "model", **options)
    for option, nearest in {"hidden": ".*hidden_size", "learning_rate": "lr$", "max_epochs": "epochs$"}.items():
        with pytest.raises(TypeError, match=f"fit has no option '{option}'; nearest known: {nearest}"):
            dgltree.fit(TreeDataset.from_file(trees), out=tmp_path / "model", **{option: 3})
    assert not (tmp_path / "model").exists()


def test_logging_without_tensorboard_says_what_to_install(
    trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec("tensorboard"):
        assert fit(trees, tmp_path / "model", "--log", "tensorboard", "--epochs", "1") == 0
        assert list((tmp_path / "model" / "logs").glob("events.out.tfevents.*"))
        return
    assert fit(trees, tmp_path / "model", "--log", "tensorboard") == 1
    assert "not installed; install it with: pip install tensorboard" in capsys.readouterr().err


def test_metrics_are_logged_as_csv(trees: Path, tmp_path: Path) -> None:
    assert fit(trees, tmp_path / "model", "--log", "csv", "--epochs", "2") == 0
    header, *rows = (tmp_path / "model" / "logs" / "metrics.csv").read_text().splitlines()
    assert {"accuracy", "loss", "epoch"} <= set(header.split(","))
    assert len(rows) >= 2


def test_the_loss_of_an_epoch_is_the_mean_over_its_examples(trees: Path, tmp_path: Path) -> None:
    losses: list[tuple[int, float, int]] = []

    class Steps(lightning.Callback):
        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            losses.append((trainer.current_epoch, float(outputs["loss"]), len(batch.labels)))

    data = TreeDataset.from_file(trees)
    dgltree.fit(data, out=tmp_path / "model", hidden_size=4, epochs=2, batch_nodes=90, callbacks=[Steps()])
    rows = [json.loads(line) for line in (tmp_path / "model" / "epochs.jsonl").read_text().splitlines()]
    assert len(rows) == 2
    for row in rows:
        own = [(loss, count) for epoch, loss, count in losses if epoch == row["epoch"]]
        assert len({count for _, count in own}) > 1
        expected = sum(loss * count for loss, count in own) / sum(count for _, count in own)
        assert row["loss"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_more_epochs_continue_a_finished_training_to_the_same_weights(
    trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(trees, tmp_path / "whole", "--epochs", "4", "--patience", "9") == 0
    assert fit(trees, tmp_path / "parts", "--epochs", "2", "--patience", "9") == 0
    capsys.readouterr()
    assert fit(trees, tmp_path / "parts", "--epochs", "4", "--patience", "9") == 0
    assert "epoch 1:" not in capsys.readouterr().err
    states = [TrainedModel.load(tmp_path / name).model.state_dict() for name in ("whole", "parts")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    epochs = (tmp_path / "parts" / "epochs.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in epochs] == [0, 1, 2, 3]
    assert fit(trees, tmp_path / "parts", "--epochs", "3", "--patience", "9") == 0
    assert "is already finished; nothing to do" in capsys.readouterr().err


def test_a_time_limit_ends_behind_the_first_epoch_with_a_usable_model(trees: Path, tmp_path: Path) -> None:
    assert fit(trees, tmp_path / "model", "--max-time", "00:00:00:00", "--epochs", "9") == 0
    assert len((tmp_path / "model" / "epochs.jsonl").read_text().splitlines()) == 1
    TrainedModel.load(tmp_path / "model")


def test_gradients_are_accumulated(trees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    def counted(self: TreeTraining, *_: Any, **__: Any) -> None:
        steps.append(self.global_step)

    monkeypatch.setattr(TreeTraining, "on_before_zero_grad", counted)
    assert fit(trees, tmp_path / "model", "--accumulate", "1000", "--epochs", "2") == 0
    assert len(steps) == 2  # one an epoch


def test_balanced_weights_make_classes_count_alike() -> None:
    trees = [dgltree.read_infix(text) for text in ("x", "y", "z", "x+y")] * 5
    data = TreeDataset(trees, ["rare" if i == 3 else "often" for _ in range(5) for i in range(4)])
    module = built(data, FitOptions(class_weights="balanced", hidden_size=3)).module
    assert module.objective.weights is not None
    assert module.objective.weights.tolist() == pytest.approx([2 / 3, 2])
    assert "class_weights" not in module.state_dict()
    numbers = TreeDataset(trees, [0.5] * 20)
    with pytest.raises(ValueError, match="class_weights are for classes"):
        built(numbers, FitOptions(class_weights="balanced"))


@pytest.mark.parametrize(
    ("readout", "message"),
    [
        ("number", "the readout 'number' gives numbers of 1 tree; the task 'classify' is classes of 1"),
        ("pair", "the readout 'pair' gives classes of 2 trees; the task 'classify' is classes of 1"),
        ("none", "the readout is 'none'; it must be one of pair, classifier, number"),
    ],
)
def test_a_readout_that_does_not_fit_the_task_is_told(readout: str, message: str) -> None:
    data = TreeDataset([dgltree.read_infix(text) for text in ("x", "x+y")] * 5, ["a", "b"] * 5)
    with pytest.raises(ValueError, match=re.escape(message)):
        built(data, FitOptions(readout=readout))


@pytest.mark.usefixtures("registry")
def test_a_cell_of_ones_own_is_trained_and_loaded_by_its_file(
    trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "my_cells.py", CELL)
    assert fit(trees, tmp_path / "model", "--cell", f"{file}:Mean", "--epochs", "1") == 0
    assert json.loads((tmp_path / "model" / "card.json").read_text())["options"]["encoder"] == "Mean"
    mean = CELLS.pop("Mean")  # another process
    assert main(["predict", str(tmp_path / "model"), str(trees)]) == 1
    assert "give your own cell as FILE.py:CLASS (cell=, --cell)" in capsys.readouterr().err
    assert main(["predict", str(tmp_path / "model"), str(trees), "--cell", f"{file}:Mean"]) == 0
    data = TreeDataset.from_file(trees)
    dgltree.fit(data, out=tmp_path / "again", cell=mean, hidden_size=4, epochs=1, no_baseline=True)
    TrainedModel.load(tmp_path / "again", cell=mean)
    for wrong, message in (
        ("NoCell", "is not a cell class; derive it from dgltree.cells.Cell or SumCell"),
        ("Other", "there is no class 'Other' in this file"),
    ):
        assert fit(trees, tmp_path / "no", "--cell", f"{file}:{wrong}") == 1
        assert message in capsys.readouterr().err
    assert fit(trees, tmp_path / "no", "--max-time", "2h") == 1
    assert "max_time is '2h'; it must be days:hours" in capsys.readouterr().err
    assert fit(trees, tmp_path / "no2", "--cell", "Mean") == 1
    assert "expected FILE.py:CLASS" in capsys.readouterr().err
    assert fit(trees, tmp_path / "no", "--cell", f"{file}:Mean", "--encoder", "tree_lstm") == 1
    assert "not both" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_scripting_a_model_says_what_is_possible(fitted: Path) -> None:
    with pytest.raises(NotImplementedError, match=r"cannot be scripted: .* dgltree\.export writes it as an ONNX graph"):
        torch.jit.script(TrainedModel.load(fitted / "model").model)
