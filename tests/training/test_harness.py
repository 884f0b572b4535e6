"""The one place that builds Lightning's trainer."""

import re
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import lightning
from lightning.pytorch.profilers import SimpleProfiler

from dgltree.training.options import FitOptions
from dgltree.training.stepping import trainer as harness
from dgltree.training.stepping.callbacks import BEST, LAST, checkpoints
from dgltree.training.stepping.module import TreeTraining

ROOT = Path(__file__).parents[2]


def test_no_other_file_builds_a_trainer() -> None:
    files = [*(ROOT / "dgltree").rglob("*.py"), *(ROOT / "tasks").rglob("*.py")]
    found = [file for file in files if re.search(r"\bTrainer\(", file.read_text(encoding="utf-8"))]
    assert [file.name for file in found] == ["trainer.py"]


def test_options_reach_lightning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"clip": 0.75, "accumulate": 3, "precision": "bf16-mixed", "device": "cuda", "devices": 2, "machines": 4}
    called = {
        "gradient_clip_val": 0.75,
        "accumulate_grad_batches": 3,
        "precision": "bf16-mixed",
        "accelerator": "gpu",
        "devices": 2,
        "num_nodes": 4,
        "max_epochs": 9,
    }

    def made(*_: Any, **options: Any) -> None:
        assert {name: options[name] for name in called} == called
        raise KeyboardInterrupt

    monkeypatch.setattr(harness, "trainer", made)
    decision: Any = SimpleNamespace(options=FitOptions(epochs=9, **given), splits=defaultdict(list))
    with pytest.raises(KeyboardInterrupt):
        harness.step(decision, SimpleNamespace(monitored="accuracy", nothing=0.0), tmp_path, print)  # type: ignore[arg-type]


def test_without_a_figure_to_monitor_there_is_no_best_checkpoint(tmp_path: Path) -> None:
    [last] = checkpoints(None, tmp_path)
    assert (last.dirpath, last.filename, last.monitor) == (str(tmp_path.resolve()), "last", None)
    assert [each.filename for each in checkpoints("accuracy")] == ["best", "last"]


def test_a_damaged_checkpoint_is_named_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / LAST).write_bytes(b"half")
    with harness.quiet():
        trainer = harness.trainer(tmp_path, tmp_path, None, max_epochs=1, accelerator="cpu", enable_progress_bar=False)
        with pytest.raises(ValueError, match=r"last.ckpt: not a checkpoint of a training, or damaged"):
            harness.train(trainer, lightning.LightningModule(), lightning.LightningDataModule())
    assert not (tmp_path / BEST).exists()


class Sum(lightning.LightningModule):
    """A weight that follows the number of the epoch."""

    def __init__(self, stop: int | None) -> None:
        super().__init__()
        self.weight, self.stop = torch.nn.Parameter(torch.zeros(())), stop

    def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
        if self.current_epoch == self.stop:
            raise KeyboardInterrupt
        return (self.weight - self.current_epoch - batch.sum()) ** 2

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), 0.1)


class Ones(lightning.LightningDataModule):
    def train_dataloader(self) -> torch.utils.data.DataLoader:
        return torch.utils.data.DataLoader(torch.ones(4))


def test_hooks_are_not_measured_unless_a_user_asks_for_a_profiler(tmp_path: Path) -> None:
    def made(**options: Any) -> Any:
        return harness.trainer(tmp_path, tmp_path, None, max_epochs=1, accelerator="cpu", **options).profiler

    with harness.quiet():
        nothing = made()
        assert isinstance(made(profiler="simple"), SimpleProfiler)
    assert nothing.profile("a") is nothing.profile("b"), "no object is made for a hook"


def trained(folder: Path, stop: int | None = None) -> float:
    module = Sum(stop)
    with harness.quiet():
        harness.train(
            harness.trainer(folder, folder, None, max_epochs=3, accelerator="cpu", enable_progress_bar=False),
            module,
            Ones(),
        )
    return float(module.weight.detach())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # Lightning itself calls these
def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "part", stop=2)
    assert trained(tmp_path / "part") == whole


def test_a_loss_of_the_encoder_is_learnt_from_too() -> None:
    encoded = SimpleNamespace(root=torch.ones(2), loss=torch.tensor(2.0))
    module = SimpleNamespace(
        options=SimpleNamespace(nodes=False),
        shares=False,
        encoder=SimpleNamespace(encoded=lambda inputs, shares: encoded),
        model=SimpleNamespace(read_out=lambda states, features: states),
        objective=SimpleNamespace(loss=lambda found, labels, weights: (found.sum() + 1.5, 7)),
    )
    given = SimpleNamespace(inputs=None, labels=None, weights=None, features=None)
    assert TreeTraining._loss(module, given) == (torch.tensor(5.5), 7)  # type: ignore[arg-type]
