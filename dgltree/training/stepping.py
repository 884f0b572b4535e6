"""The epochs of a training, by Lightning."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning import Callback, Trainer
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger

from dgltree.training import harness, threads
from dgltree.training.best_so_far import BestSoFar
from dgltree.training.checkpoints import BEST, checked
from dgltree.training.data import SplitsModule, loaders
from dgltree.training.folder import give_up, left_by_now, read_epochs
from dgltree.training.module import DivergenceError
from dgltree.training.options import USUAL_EPOCHS, FitOptions
from dgltree.training.plateau import Patience, UsualEpochs
from dgltree.training.preparing import Prepared
from dgltree.training.processes import say
from dgltree.training.report import EpochReport

PRECISIONS: dict[str, Any] = {"32": "32-true", "bf16-mixed": "bf16-mixed", "16-mixed": "16-mixed"}
"""Options to what Lightning calls them."""


def train(prepared: Prepared, folder: Path, callbacks: Sequence[Callback], loggers: list[Logger]) -> Trainer:
    """Train, and put the best epoch's weights into the module."""
    options, module, parts = prepared.options, prepared.module, prepared.splits
    assert options.batch_nodes is not None
    data = SplitsModule(parts["train"], parts["validation"], options.batch_nodes, options.seed)
    with harness.quiet():
        trainer = harness.trainer(
            folder,
            folder,
            module.monitored,
            [
                EpochReport(),
                Patience(module.monitored, options.patience, module.objective.nothing),
                *([UsualEpochs(module.monitored, USUAL_EPOCHS, say)] if options.epochs is None else []),
                BestSoFar(folder / BEST, lambda model: prepared.trained(model).save(folder)),
                *([harness.TimeLimit(options.max_time)] if options.max_time else []),
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
            gradient_clip_val=harness.CLIP,
            enable_progress_bar=sys.stderr.isatty() or any(isinstance(each, ProgressBar) for each in callbacks),
        )
        try:
            harness.train(trainer, module, data)
        except DivergenceError:
            if trainer.is_global_zero:
                say(give_up(folder))
            raise
        except BaseException:
            say(left_by_now(folder))
            raise
    module.load_state_dict(checked(folder / BEST)["state_dict"])
    return trainer


def threads_for(prepared: Prepared) -> int:
    """Threads of torch that are worth it for the size of its batches, unless told."""
    options = prepared.options
    assert options.batch_nodes is not None
    own = options.batch_nodes // (options.devices * options.machines)
    others = options.devices * (1 + loaders(prepared.splits["train"])) - 1
    return options.threads or threads.worth(own, options.hidden_size, others)


def loggers_of(options: FitOptions, folder: Path) -> list[Logger]:
    """Those that the option ``log`` names."""
    loggers: list[Logger] = []
    if options.log == "csv":
        loggers.append(CSVLogger(folder, "logs", version=""))
    if options.log == "tensorboard":
        try:
            loggers.append(TensorBoardLogger(folder, "logs", version=""))
        except ModuleNotFoundError:  # of Lightning's own, without a name
            raise ModuleNotFoundError("log is tensorboard, which is not installed", name="tensorboard") from None
    return loggers


def say_last(prepared: Prepared, folder: Path) -> None:
    """Where the last epoch was the best, that more of them may be better."""
    values = [epoch[prepared.module.monitored] for epoch in read_epochs(folder)]
    if len(values) > 1 and max(values[:-1]) < values[-1]:
        say(
            f"the last epoch, {len(values) - 1}, was the best: more may be better; --epochs {2 * len(values)} continues"
        )
