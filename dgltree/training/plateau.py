"""Halving the rate where validation no longer rises; an interrupted training goes on with it."""

import math
from collections.abc import Callable
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping
from torch.optim.lr_scheduler import ReduceLROnPlateau


class Patience(EarlyStopping):
    """Lightning's, which counts no epochs before anything is learnt.

    A class of our own has a state of its own in checkpoints, next to one that a user gives.

    Args:
        monitor: the metric of validation; higher is better.
        patience: epochs in which it may fail to rise.
        nothing: as long as the metric has not been above this, nothing is learnt.
    """

    def __init__(self, monitor: str, patience: int, nothing: float = -math.inf) -> None:
        super().__init__(monitor, mode="max", patience=patience)
        self.nothing = nothing

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        best = max(float(self.best_score), float(trainer.callback_metrics.get(self.monitor, -math.inf)))
        if best <= self.nothing:
            self.wait_count = -1  # the check that follows counts one
        super().on_train_epoch_end(trainer, pl_module)


class UsualEpochs(Callback):
    """Ends a training after the usual number of epochs, but not where the last of them is the best so far.

    Args:
        monitor: the metric of validation; higher is better.
        epochs: how many are usual.
        say: called with a sentence where the training goes on.
    """

    def __init__(self, monitor: str, epochs: int, say: Callable[[str], None]) -> None:
        self.monitor, self.epochs, self.say = monitor, epochs, say
        self.best: float | None = None

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        value = float(trainer.callback_metrics[self.monitor])
        better = self.best is None or value > self.best
        self.best = value if better else self.best
        if trainer.current_epoch + 1 == self.epochs:
            if better:
                self.say(f"epoch {trainer.current_epoch} is the best so far: the training goes on")
            trainer.should_stop |= not better

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best = state_dict["best"]


class HalvedRate(Callback):
    """Halves the rate when a metric has not risen for some epochs.

    Lightning steps a scheduler of this kind after its checkpoints, which then lack the step of their own epoch, and
    leaves it out when it goes on from them: a resumed training would halve later than a whole one. This one steps
    before they are written, and what it knows is in them.

    Args:
        monitor: the metric of validation; higher is better.
        patience: epochs in which it may fail to rise.
        nothing: as long as the metric has not been above this, nothing is learnt, and the rate stays.
    """

    def __init__(self, monitor: str, patience: int = 2, nothing: float = -math.inf) -> None:
        self.monitor, self.patience, self.nothing = monitor, patience, nothing
        self.known: dict[str, Any] = {}
        self.scheduler: ReduceLROnPlateau | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        [optimizer] = trainer.optimizers
        self.scheduler = ReduceLROnPlateau(optimizer, "max", factor=0.5, patience=self.patience, threshold=0)
        self.scheduler.load_state_dict(self.known)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            assert self.scheduler is not None
            value = float(trainer.callback_metrics[self.monitor])
            if max(value, self.scheduler.best) > self.nothing:
                self.scheduler.step(value)

    def state_dict(self) -> dict[str, Any]:
        if self.scheduler is None:  # a user's callback may ask before the training begins
            return self.known
        return {name: getattr(self.scheduler, name) for name in ("best", "num_bad_epochs", "last_epoch")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.known = state_dict
