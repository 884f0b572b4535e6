"""What a run leaves behind on the terminal and in its folder."""

import time

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.cli import SaveConfigCallback


class EpochReport(Callback):
    """One line an epoch: the logged numbers, and the seconds of training and of validation."""

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.start = self.trained = time.perf_counter()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.trained = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        numbers = ", ".join(f"{name} {float(value):.4f}" for name, value in sorted(trainer.callback_metrics.items()))
        training, validation = self.trained - self.start, time.perf_counter() - self.trained
        if trainer.is_global_zero:
            print(f"epoch {trainer.current_epoch}: {numbers}; {training:.1f} s + {validation:.1f} s", flush=True)


class SaveFitConfig(SaveConfigCallback):
    """The configuration of a training beside its checkpoints; a later ``test`` leaves it as it is."""

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage == "fit":
            super().setup(trainer, pl_module, stage)
