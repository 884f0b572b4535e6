"""Callbacks say when a training slows down and ends, what it prints and leaves, and how it continues."""

import hashlib
import io
import json
import math
import pickle
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from lightning.fabric.plugins.io import TorchCheckpointIO
from lightning.fabric.utilities.types import _PATH
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping, ModelCheckpoint, Timer
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from dgltree.read.json_text import write_json
from dgltree.support.durations import in_seconds
from dgltree.support.files import replacing
from dgltree.training.folder import EPOCHS
from dgltree.training.options import ScheduleName
from dgltree.training.processes import say

BEST, LAST = "best.ckpt", "last.ckpt"
MARK = b"\ndgltree sha256 "
"""The digest comes after it, at the end of the file: ``torch.load`` reads the archive before it and no further."""
TAIL = len(MARK) + 64
VALIDATION_LOSS = "validation_loss"
"""The metric that is lower in the better of two epochs with the same value of the monitored metric."""


class WholeCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint next to its place and renames it: a run that is killed meanwhile leaves the one before it.

    Lightning writes to the system's temporary folder and moves, which is a copy where that folder is on another disk:
    there, a run that is killed or finds the disk full leaves half a checkpoint in place of the last one.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: _PATH, storage_options: Any = None) -> None:
        """Write ``checkpoint``, or raise ``OSError`` and leave what is at ``path`` as it was."""
        if storage_options is not None:
            raise TypeError(f"a checkpoint in a local folder takes no storage_options, but found {storage_options!r}")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        serialized = io.BytesIO()  # torch's own writing to a file reports a full disk as an internal error
        torch.save(checkpoint, serialized)
        serialized.write(MARK + hashlib.sha256(serialized.getvalue()).hexdigest().encode())
        with replacing(path) as beside:
            beside.write_bytes(serialized.getvalue())  # no view of it, which would outlive it if this fails

    def load_checkpoint(self, path: _PATH, *_: Any, **__: Any) -> dict[str, Any]:
        """Read a checkpoint as :func:`check_checkpoint` does."""
        return check_checkpoint(Path(path))


def check_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, which may hold tensors and plain values alone.

    Raises ``ValueError`` naming the file if it is damaged or no checkpoint; nothing in it is ever executed.
    """
    try:
        content = path.read_bytes()
        _check_digest(content)
        found = torch.load(io.BytesIO(content[:-TAIL]), map_location="cpu", weights_only=True)
        if not isinstance(found, dict) or "state_dict" not in found:
            raise ValueError("no state_dict in it")
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        kind = str(error) if type(error) is ValueError else type(error).__name__
        raise ValueError(
            f"{path}: not a checkpoint of a training, or damaged ({kind}); delete it to start again"
        ) from None
    return found


def _check_digest(content: bytes) -> None:
    if content[-TAIL:-64] != MARK:
        raise ValueError("it has no digest")
    if content[-64:] != hashlib.sha256(memoryview(content)[:-TAIL]).hexdigest().encode():
        raise ValueError("it does not match its digest")


def checkpoints(
    monitor: str | None, folder: Path | None = None, lower_is_better: bool = False
) -> list[ModelCheckpoint]:
    """``best.ckpt``, of the epoch with the highest ``monitor``, or the lowest, and ``last.ckpt``, which knows the best.

    Both in ``folder``, by default ``checkpoints`` in the trainer's; without a metric to monitor there is no best one.
    """
    mode = "min" if lower_is_better else "max"
    best = [] if monitor is None else [_checkpoint(BEST, folder, monitor=monitor, mode=mode)]
    return [*best, _checkpoint(LAST, folder)]


def _loss_of(trainer: Trainer) -> float:
    """The loss of the last validation; that of a module that logs none never breaks a tie."""
    return float(trainer.callback_metrics.get(VALIDATION_LOSS, math.inf))


class _EpochCheckpoint(ModelCheckpoint):
    """Keeps the epoch with the best metric, of equal ones that with the lowest loss in validation.

    A class of our own has a state of its own, next to a ``ModelCheckpoint`` that a user gives.
    """

    best_loss = math.inf

    def check_monitor_top_k(self, trainer: Trainer, current: Tensor | None = None) -> bool:
        better = super().check_monitor_top_k(trainer, current)
        if current is None:
            return better
        loss = _loss_of(trainer)
        equal = self.best_model_score is not None and float(current) == float(self.best_model_score)
        better = better or (equal and loss < self.best_loss)
        if better:
            self.best_loss = loss
        return better

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"best_loss": self.best_loss}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.best_loss = state_dict["best_loss"]


def _checkpoint(name: str, folder: Path | None, **options: Any) -> ModelCheckpoint:
    """Once an epoch; a second run in the same folder replaces the first one's file."""
    where = None if folder is None else str(folder.resolve())
    return _EpochCheckpoint(where, Path(name).stem, enable_version_counter=False, **options)


class Patience(EarlyStopping):
    """Lightning's, which counts no epochs before anything is learnt, and none whose loss breaks a tie.

    A class of our own has a state of its own in checkpoints, next to one that a user gives.

    Args:
        monitor: the metric of validation; higher is better.
        patience: epochs in which it may fail to rise.
        nothing: as long as the metric has not been above this, nothing is learnt.
    """

    def __init__(self, monitor: str, patience: int, nothing: float = -math.inf) -> None:
        super().__init__(monitor, mode="max", patience=patience)
        self.nothing = nothing
        self.best_loss = math.inf

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A training that had ended, and is run again for what is chosen at its end, trains no epoch more."""
        trainer.should_stop |= self.wait_count >= self.patience

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        value = float(trainer.callback_metrics.get(self.monitor, -math.inf))
        loss = _loss_of(trainer)
        before = float(self.best_score)
        better = value > before or (value == before and loss < self.best_loss)
        if better:
            self.best_loss = loss
        if better or max(value, before) <= self.nothing:
            self.wait_count = -1  # the check that follows counts one
        super().on_train_epoch_end(trainer, pl_module)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"best_loss": self.best_loss}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.best_loss = state_dict["best_loss"]


class UsualEpochs(Callback):
    """Ends a training after the usual number of epochs, but not if the last of them is the best so far.

    A lower loss alone does not continue it: before anything is learnt, nothing would end it.

    Args:
        monitor: the metric of validation; higher is better.
        epochs: how many are usual.
        say: called with a sentence if the training continues.
    """

    def __init__(self, monitor: str, epochs: int, say: Callable[[str], None]) -> None:
        self.monitor = monitor
        self.epochs = epochs
        self.say = say
        self.best: float | None = None
        self.rose = True
        """Whether the last epoch is the best so far."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take the state of a resumed training, as :meth:`Patience.on_train_start` does."""
        trainer.should_stop |= trainer.current_epoch == self.epochs and not self.rose

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        value = float(trainer.callback_metrics[self.monitor])
        self.rose = self.best is None or value > self.best
        self.best = value if self.rose else self.best
        if trainer.current_epoch + 1 == self.epochs:
            if self.rose:
                self.say(f"epoch {trainer.current_epoch} is the best so far, so the training continues")
            trainer.should_stop |= not self.rose

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "rose": self.rose}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best = state_dict["best"]
        self.rose = state_dict["rose"]


class HalvedRate(Callback):
    """Halves the rate when a metric has not risen for some epochs.

    Lightning steps a scheduler of this kind after its checkpoints, which then lack the step of their own epoch, and
    leaves it out when it continues from them: a resumed training would halve later than a whole one. This one steps
    before they are written, and what it knows is in them.

    Args:
        monitor: the metric of validation; higher is better.
        patience: epochs in which it may fail to rise.
        nothing: as long as the metric has not been above this, nothing is learnt, and the rate stays.
    """

    def __init__(self, monitor: str, patience: int = 2, nothing: float = -math.inf) -> None:
        self.monitor = monitor
        self.patience = patience
        self.nothing = nothing
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


SHAPES: dict[ScheduleName, Callable[[float], float]] = {
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "linear": lambda done: 1 - done,
    "wsd": lambda done: min(1.0, 2 * (1 - done)),
}
"""The share of the learning rate that is left when a share of the training is done, from 1 to 0. "cosine" is that of
Loshchilov and Hutter 2017 (arXiv 1608.03983, equation 5) without restarts; "wsd" stays as it is in the first half, for
what is learnt late and at once (warmup-stable-decay; Hu et al. 2024, arXiv 2404.06395)."""


class ScheduledRate(Callback):
    """Raises the rate in equal parts from step to step to its own (Vaswani et al. 2017, arXiv 1706.03762, section 5.3),
    and lowers it by a schedule to 0 at the end of the last epoch.

    It depends on the number of the step alone, so that a training that continues has the rate of a whole one.

    Args:
        rate: after the first steps.
        warmup: how many these are, from 0.
        schedule: in ``SHAPES``; else the rate is left alone after the first steps.
    """

    def __init__(self, rate: float, warmup: int, schedule: ScheduleName = "plateau") -> None:
        self.rate = rate
        self.warmup = warmup
        self.shape = SHAPES.get(schedule)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self.shape is None and trainer.global_step >= self.warmup:
            return
        share = 1.0
        if self.shape is not None:
            assert trainer.max_epochs is not None
            share = self.shape((trainer.current_epoch + batch_idx / trainer.num_training_batches) / trainer.max_epochs)
        if trainer.global_step < self.warmup:
            share *= (trainer.global_step + 1) / self.warmup
        [optimizer] = trainer.optimizers
        for group in optimizer.param_groups:
            group["lr"] = self.rate * share


class TimeLimit(Timer):
    """Ends a training after the epoch in which so much time is over, but not before the first: there is a model then.

    Args:
        duration: as ``days:hours:minutes:seconds``.
    """

    def __init__(self, duration: str) -> None:
        super().__init__(duration, interval="epoch", verbose=False)

    def on_fit_start(self, trainer: Trainer, *args: Any, **kwargs: Any) -> None:
        if trainer.current_epoch:
            super().on_fit_start(trainer, *args, **kwargs)


class DivergenceError(ValueError):
    """The loss or the weights of a training are not finite."""


def check_finite(module: LightningModule, loss: Tensor, lr: float, index: int) -> None:
    """:class:`DivergenceError` for the loss () of a step that is not a finite number."""
    if not bool(loss.isfinite()):
        raise DivergenceError(f"epoch {module.current_epoch}, step {index}: the loss is {loss:g}; lower --lr ({lr:g})")


class EpochLoss(Callback):
    """Logs ``loss``, the mean over the examples of the epoch, before other callbacks ask for it."""

    def __init__(self) -> None:
        self._total: Tensor | None = None
        self._examples = 0

    @classmethod
    def of(cls, trainer: Trainer) -> "EpochLoss":
        """Return the callback of a trainer, which :func:`dgltree.training.stepping.trainer.prepare_trainer` gave it."""
        callbacks: list[Callback] = trainer.callbacks  # type: ignore[attr-defined]
        return next(each for each in callbacks if isinstance(each, cls))

    def add(self, mean: Tensor, examples: int) -> None:
        """A step's mean loss, (), without gradient, of so many examples."""
        share = mean.float() * examples
        self._total = share if self._total is None else self._total + share
        self._examples += examples

    def on_train_epoch_start(self, *args: Any, **kwargs: Any) -> None:
        self._total = None
        self._examples = 0

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._total is not None:  # a resumed run ends the epoch of its checkpoint once more
            mean = self._total / self._examples
            pl_module.log("loss", mean, prog_bar=True, sync_dist=True, batch_size=self._examples)


class EpochReport(Callback):
    """One line per epoch: the logged numbers, and the seconds of training and of validation.

    On the terminal, and as JSON in the file ``epochs.jsonl`` of the run's folder, one row per epoch: a run from the
    start replaces the file, and a resumed one the rows of the epochs that it trains once more.
    """

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.trains = False
        self.start = self.trained = time.perf_counter()

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.trains = True
        self.trained = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero or not self.trains:  # a resumed run ends the epoch of its checkpoint once more
            return
        metrics = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
        training = self.trained - self.start
        validation = time.perf_counter() - self.trained
        numbers = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        times = f"{in_seconds(training)} s + {in_seconds(validation)} s"
        say(f"epoch {trainer.current_epoch}: {numbers}; {times}")
        row = {"epoch": trainer.current_epoch, **metrics, "seconds": round(training + validation, 6)}
        file = Path(trainer.default_root_dir) / EPOCHS
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        kept = [line for line in before if json.loads(line)["epoch"] < trainer.current_epoch]
        with replacing(file) as beside:
            beside.write_text("\n".join([*kept, write_json(row)]) + "\n", encoding="utf-8")


class BestSoFar(Checkpoint):
    """Leaves the best epoch's model after every epoch, so that a training which is stopped has left one.

    Of the kind of a checkpoint, because Lightning calls those last, in their order: this one belongs after that of the
    best epoch. The weights come from its file, for the best epoch may be one before the training was resumed. Of a
    training that stops in its first epoch they are those of the last step: better than nothing, if epochs are long,
    unless its loss was no finite number.

    Args:
        best: the checkpoint of the best epoch.
        leave: takes a model with its weights, on the CPU, to write it.
    """

    def __init__(self, best: Path, leave: Callable[[Any], None]) -> None:
        self.best = best
        self.leave = leave
        self.left: tuple[int, int] | None = None

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        found = self.best.stat()
        if self.left != (found.st_ino, found.st_mtime_ns):
            weights = check_checkpoint(self.best)["state_dict"]
            model = _copied(pl_module)
            model.load_state_dict({name[6:]: weight for name, weight in weights.items() if name[:6] == "model."})
            self.leave(model)
            self.left = found.st_ino, found.st_mtime_ns

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        lost = isinstance(exception, DivergenceError)
        if trainer.is_global_zero and trainer.global_step and not lost and not self.best.exists():
            self.leave(_copied(pl_module))


def _copied(module: Any) -> nn.Module:
    copied: nn.Module = deepcopy(module.model, {id(module): module})  # its hooks belong to the module, which stays
    return copied.cpu()
