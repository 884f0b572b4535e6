"""Lines that a training prints for each epoch."""

import json
import time
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer

from dgltree.durations import in_seconds
from dgltree.files import replacing
from dgltree.read.json_text import write_json
from dgltree.training.folder import EPOCHS


class EpochReport(Callback):
    """One line an epoch: the logged numbers, and the seconds of training and of validation.

    On the terminal, and as JSON in the file ``epochs.jsonl`` of the run's folder, one row an epoch: a run from the
    start replaces the file, and a resumed one the rows of the epochs that it trains once more.
    """

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.trains = False
        self.start = self.trained = time.perf_counter()

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.trains, self.trained = True, time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero or not self.trains:  # a resumed run ends the epoch of its checkpoint once more
            return
        metrics = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
        training, validation = self.trained - self.start, time.perf_counter() - self.trained
        numbers = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        print(
            f"epoch {trainer.current_epoch}: {numbers}; {in_seconds(training)} s + {in_seconds(validation)} s",
            flush=True,
        )
        row = {"epoch": trainer.current_epoch, **metrics, "seconds": round(training + validation, 6)}
        file = Path(trainer.default_root_dir) / EPOCHS
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        kept = [line for line in before if json.loads(line)["epoch"] < trainer.current_epoch]
        with replacing(file) as beside:
            beside.write_text("\n".join([*kept, write_json(row)]) + "\n", encoding="utf-8")
