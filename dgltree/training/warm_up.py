"""A learning rate that rises at first."""

from typing import Any

from lightning import Callback, LightningModule, Trainer


class WarmUp(Callback):
    """Raises the rate in equal parts from step to step to its own (Vaswani et al. 2017, arXiv 1706.03762, section 5.3).

    It depends on the number of the step alone, so that a training that goes on has the rate of a whole one.

    Args:
        rate: at last.
        steps: after which it has that rate.
    """

    def __init__(self, rate: float, steps: int) -> None:
        self.rate, self.steps = rate, steps

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, *args: Any) -> None:
        if trainer.global_step < self.steps:
            [optimizer] = trainer.optimizers
            for group in optimizer.param_groups:
                group["lr"] = self.rate * (trainer.global_step + 1) / self.steps
