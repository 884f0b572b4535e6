"""What a training says of an epoch."""

import json
import time
from pathlib import Path

from lightning import Callback, LightningModule, Trainer

EPOCHS = "epochs.jsonl"


class EpochReport(Callback):
    """One line an epoch: the logged numbers, and the seconds of training and of validation.

    On the terminal, and as JSON in the file ``epochs.jsonl`` of the run's folder, which a run from the start replaces
    and a resumed one goes on with.
    """

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.start = self.trained = time.perf_counter()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.trained = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        figures = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
        training, validation = self.trained - self.start, time.perf_counter() - self.trained
        numbers = ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
        print(f"epoch {trainer.current_epoch}: {numbers}; {training:.1f} s + {validation:.1f} s", flush=True)
        row = {"epoch": trainer.current_epoch, **figures, "seconds": round(training + validation, 1)}
        file = Path(trainer.default_root_dir) / EPOCHS
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a" if trainer.current_epoch else "w", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
