"""Learning rates by a schedule are those of torch's schedulers, also of a training that goes on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from own_trees import QUIET, SMALL, table
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler

from dgltree.commands.main import main
from dgltree.training.options import FitOptions, ScheduleName
from dgltree.training.stepping.callbacks import ScheduledRate

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def rates_of(callback: ScheduledRate, epochs: int, batches: int, accumulate: int = 1) -> list[float]:
    """Of each batch of a training."""
    optimizer, found = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5), []
    for epoch in range(epochs):
        for batch in range(batches):
            trainer: Any = SimpleNamespace(
                global_step=(epoch * batches + batch) // accumulate,
                current_epoch=epoch,
                num_training_batches=batches,
                max_epochs=epochs,
                optimizers=[optimizer],
            )
            callback.on_train_batch_start(trainer, None, None, batch)  # type: ignore[arg-type]
            found.append(optimizer.param_groups[0]["lr"])
    return found


def of_torch(schedule: ScheduleName, steps: int) -> list[float]:
    optimizer, found = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5), []
    by_torch: LRScheduler = LinearLR(optimizer, 1, 0, steps)
    if schedule == "cosine":
        by_torch = CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        by_torch.step()
    return found


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_schedule_is_that_of_torch(schedule: ScheduleName) -> None:
    assert rates_of(ScheduledRate(0.5, 0, schedule), 3, 7) == pytest.approx(of_torch(schedule, 21))


def test_a_rate_that_falls_late_is_its_own_in_the_first_half_and_then_falls_to_0_as_linear_does() -> None:
    found = rates_of(ScheduledRate(0.5, 0, "wsd"), 4, 6)
    assert found[:12] == [0.5] * 12
    assert found[12:] == pytest.approx(of_torch("linear", 12))


def test_the_rate_rises_step_by_step_to_its_own() -> None:
    assert rates_of(ScheduledRate(0.5, 4), 2, 3) == [0.125, 0.25, 0.375, 0.5, 0.5, 0.5]
    with_schedule, alone = (
        rates_of(ScheduledRate(0.5, 4, "linear"), 2, 3),
        rates_of(ScheduledRate(0.5, 0, "linear"), 2, 3),
    )
    assert with_schedule == pytest.approx(
        [rate * share for rate, share in zip(alone, (0.25, 0.5, 0.75, 1, 1, 1), strict=True)]
    )


def test_a_training_by_a_schedule_goes_on_with_the_rates_of_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dgltree.training.stepping.module import TreeTraining

    path = tmp_path / "trees.tsv"
    path.write_text(table(40), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--epochs", "3", "--schedule", "cosine", "--no-baseline", "--out"]
    rates: list[float] = []
    step = TreeTraining.training_step

    def noted(self: TreeTraining, batch: Any, index: int) -> torch.Tensor:
        if self.current_epoch == stop:
            raise OSError("the disk is gone")
        [optimizer] = self.trainer.optimizers
        rates.append(optimizer.param_groups[0]["lr"])
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", noted)
    stop = 2
    assert main([*arguments, str(tmp_path / "model")]) == 1
    stop = -1
    assert main([*arguments, str(tmp_path / "model")]) == 0
    assert rates == pytest.approx([rate / 50 for rate in of_torch("cosine", len(rates))])
    capsys.readouterr()
    assert main([*arguments, str(tmp_path / "model"), "--epochs", "4"]) == 1
    assert "holds another training run (epochs 3)" in capsys.readouterr().err


def test_a_schedule_needs_its_end() -> None:
    with pytest.raises(
        ValueError,
        match="schedule is linear; also give epochs, because the learning rate reaches 0 at the end of the last epoch",
    ):
        FitOptions(schedule="linear")
    with pytest.raises(ValueError, match="schedule is 'step'; it must be 'plateau' or 'cosine' or 'linear' or 'wsd'"):
        FitOptions(schedule="step", epochs=3)  # type: ignore[arg-type]
