"""Lightning's trainer, built here alone: for ``dgltree.fit``, the tasks' command lines and their other trainings.

All of them have an order of their own for every epoch, checkpoints that are whole or not there, and continue where they
were interrupted, to the same weights.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning import Callback
from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint, ProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger
from lightning.pytorch.profilers import PassThroughProfiler

from dgltree.models.tree_model import TreeModel
from dgltree.support.unwarned import without_warnings
from dgltree.training.deciding import Decision
from dgltree.training.folder import give_up, read_interrupted_state
from dgltree.training.options import USUAL_EPOCHS, FitOptions
from dgltree.training.processes import say, shows_progress
from dgltree.training.stepping.callbacks import (
    BEST,
    LAST,
    BestSoFar,
    DivergenceError,
    EpochLoss,
    EpochReport,
    Patience,
    TimeLimit,
    UsualEpochs,
    WholeCheckpoints,
    check_checkpoint,
    checkpoints,
)
from dgltree.training.stepping.data import SplitsModule
from dgltree.training.stepping.module import TreeTraining

SETTINGS: dict[str, Any] = {
    "reload_dataloaders_every_n_epochs": 1,  # an order of its own for every epoch
    "logger": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,  # of several processes each takes its own part (dgltree.training.processes)
}
PRECISIONS: dict[str, Any] = {"32": "32-true", "bf16-mixed": "bf16-mixed", "16-mixed": "16-mixed"}
"""Options to what Lightning calls them."""
CLIP = 5.0
"""Norm to which gradients are clipped, if they are."""
NOISE = (
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning's own call of torch
    ".*does not have many workers.*",  # one plans the next batches while the model computes
    "Checkpoint directory .* exists and is not empty",  # of a training that continues
    "LightningCLI's args parameter is intended",  # what leads to a command took its own part of the arguments
)


def step(
    decision: Decision,
    module: TreeTraining,
    folder: Path,
    leave: Callable[[TreeModel], None],
    callbacks: Sequence[Callback] = (),
    loggers: Sequence[Logger] = (),
) -> lightning.Trainer:
    """Train, and put the best epoch's weights into the module, or the last one's if cross-fitting chose their number.

    Args:
        decision, module: what is trained.
        folder: of the training.
        leave: writes a model to the folder, the best one so far.
        callbacks, loggers: of Lightning, in addition to ours.

    Raises :class:`DivergenceError` if the loss is not finite, and what :func:`train` raises.
    """
    options = decision.options
    splits = decision.splits
    loggers = [*loggers, *_loggers_of(options, folder)]
    for logger in loggers:
        logger.log_hyperparams(asdict(options))
    data = SplitsModule(splits["train"], splits["validation"], options)
    with quiet():
        made = trainer(
            folder,
            folder,
            module.monitored,
            [
                EpochReport(),
                Patience(module.monitored, options.patience, module.nothing),
                *([UsualEpochs(module.monitored, USUAL_EPOCHS, say)] if options.epochs is None else []),
                BestSoFar(folder / BEST, leave),
                *([TimeLimit(options.max_time)] if options.max_time else []),
                *([EMAWeightAveraging(decay=options.averaging)] if options.averaging else []),
                *callbacks,
            ],
            max_epochs=options.most_epochs,
            precision=PRECISIONS[options.precision],
            accumulate_grad_batches=options.accumulate,
            logger=loggers or False,
            log_every_n_steps=1,
            accelerator={"auto": "auto", "cpu": "cpu", "cuda": "gpu"}[options.device],
            devices=options.devices,
            num_nodes=options.machines,
            gradient_clip_val=options.clip,
            enable_progress_bar=shows_progress() or any(isinstance(each, ProgressBar) for each in callbacks),
        )
        try:
            train(made, module, data)
        except DivergenceError:
            if made.is_global_zero:
                say(give_up(folder))
            raise
        except BaseException:
            say(read_interrupted_state(folder))
            raise
    kept = BEST if decision.crossed is None else LAST
    module.load_state_dict(check_checkpoint(folder / kept)["state_dict"])
    return made


def _loggers_of(options: FitOptions, folder: Path) -> list[Logger]:
    """Return the loggers that the option ``log`` names."""
    if options.log == "csv":
        return [CSVLogger(folder, "logs", version="")]
    if options.log == "tensorboard":
        return [TensorBoardLogger(folder, "logs", version="")]
    return []


class NoProfiler(PassThroughProfiler):
    """Measures nothing, without the generator that Lightning's own makes for each of some 140 hooks a step."""

    _nothing = nullcontext()

    def profile(self, action_name: str) -> AbstractContextManager[None]:  # type: ignore[override]
        return self._nothing


class SameThreads(Callback):
    """Leaves torch the threads that it has: Lightning gives each of several processes its share of all cores.

    More than one is rarely faster here; see :mod:`dgltree.training.cpu_threads`.
    """

    def __init__(self) -> None:
        self.count = torch.get_num_threads()

    def setup(self, *args: Any, **kwargs: Any) -> None:
        torch.set_num_threads(self.count)


def defaults(monitor: str) -> dict[str, Any]:
    """From which LightningCLI builds its trainer, for :func:`prepare_trainer`; a configuration may say more."""
    return {"callbacks": [EpochReport(), *checkpoints(monitor)], **SETTINGS}


def trainer(
    folder: Path,
    checkpoint_folder: Path,
    monitor: str | None,
    callbacks: Sequence[Callback] = (),
    *,
    lower_is_better: bool = False,
    **options: Any,
) -> lightning.Trainer:
    """A trainer for :func:`train`.

    Args:
        folder: for what callbacks leave.
        checkpoint_folder: for ``last.ckpt`` and, with ``monitor``, ``best.ckpt``.
        monitor: the metric of validation by which an epoch is the best one.
        lower_is_better: whether it is a loss.
        callbacks: in addition to the checkpoints; Lightning calls those that are checkpoints too after ours.
        options: of ``lightning.Trainer``; they replace ours.
    """
    made = lightning.Trainer(
        default_root_dir=folder,
        callbacks=[*checkpoints(monitor, checkpoint_folder, lower_is_better), *callbacks],
        **{**SETTINGS, **options},
    )
    return prepare_trainer(made)


def prepare_trainer(trainer: lightning.Trainer) -> lightning.Trainer:
    """``trainer``, whose checkpoints are whole or not there, and whose processes have the threads of this one.

    It logs the loss of an epoch that :func:`dgltree.training.stepping.module.shared_loss` counts.
    """
    trainer.strategy.checkpoint_io = WholeCheckpoints()
    if type(trainer.profiler) is PassThroughProfiler:  # type: ignore[attr-defined]
        trainer.profiler = NoProfiler()  # type: ignore[attr-defined]
    trainer.callbacks[:0] = [SameThreads(), EpochLoss()]  # type: ignore[attr-defined]
    return trainer


def train(trainer: lightning.Trainer, module: lightning.LightningModule, data: lightning.LightningDataModule) -> None:
    """Train, going on from the last epoch if there is one.

    Raises ``ValueError`` for a damaged checkpoint, and ``KeyboardInterrupt`` if it is interrupted.
    """
    folder = next(each.dirpath for each in trainer.checkpoint_callbacks if isinstance(each, ModelCheckpoint))
    last = Path(str(folder)) / LAST
    if last.exists():
        check_checkpoint(last)
    try:
        trainer.fit(module, data, ckpt_path=str(last) if last.exists() else None, weights_only=True)
    except SystemExit:  # Lightning's answer to Ctrl-C
        raise KeyboardInterrupt from None


class _QuietHere(logging.Filter):
    """Lets errors alone pass in threads that are :func:`quiet`."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR or not _quiet.get()


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_QUIET_HERE = _QuietHere()


def without_noise() -> AbstractContextManager[None]:
    """A block without the warnings that Lightning gives of every training."""
    return without_warnings("|".join(NOISE))


@contextmanager
def quiet() -> Iterator[None]:
    """A block in which Lightning says errors alone, in this thread; its levels, which others share, are left alone."""
    for name in list(logging.root.manager.loggerDict):  # a filter is asked by its own logger alone
        if name.startswith(("lightning.pytorch", "lightning.fabric")):
            logging.getLogger(name).addFilter(_QUIET_HERE)  # once, however often it is added
    token = _quiet.set(True)
    try:
        with without_noise():
            yield
    finally:
        _quiet.reset(token)
