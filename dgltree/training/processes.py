"""Training with several processes as with one: every batch is divided among them; its loss is the mean over all of it.

Batches depend on (seed, epoch) alone and are the same in every process, which then takes its own part of their rows.
"""

import os
import sys
from typing import Any, TypeVar

import lightning
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_only
from torch import Tensor

from dgltree.training.epoch_loss import EpochLoss

T = TypeVar("T")


class ProcessShare(list[T]):
    """The share of one process in some rows."""

    whole: int
    """How many rows there are, those of the other processes included."""


def own_part(rows: list[T], trainer: lightning.Trainer) -> ProcessShare[T]:
    """This process's share of the rows of a batch, or in validation of the batches.

    Of R processes each takes every Rth; all of them take all where there are fewer than R, which leaves the mean over
    the processes what it is.
    """
    rank, ranks = trainer.global_rank, trainer.world_size
    part = ProcessShare(rows[rank::ranks] if len(rows) >= ranks else rows)
    part.whole = len(rows)
    return part


def shared_loss(module: lightning.LightningModule, mean: Tensor, count: Tensor | float, index: int) -> Tensor:
    """The value to return from a step, as from :func:`shared_mean`; its value counts for the ``loss`` of the epoch.

    Args:
        module: whose batches are lists by :func:`own_part`.
        mean, count: as there.
        index: of the step in its epoch.
    """
    loss, overall = shared_mean(module, mean, count)
    loader: Any = module.trainer.train_dataloader
    EpochLoss.of(module.trainer).add(overall, loader.batch_sampler[index].whole)
    return loss


def shared_mean(module: lightning.LightningModule, mean: Tensor, count: Tensor | float) -> tuple[Tensor, Tensor]:
    """A step's loss, of this process and of all: what must be returned for its gradient, and its value, both ().

    The processes' gradients are averaged, whatever number of losses each has; so the sum of a process's own losses is
    divided by the mean number. Every parameter takes part, if only with 0: some process may lack the functions that
    need it, and all must agree on which parameters have a gradient.

    Args:
        module: in training.
        mean: (), of the losses of this process.
        count: how many there are, or the sum of their weights; of 0 the mean does not count.
    """
    trainer = module.trainer
    if trainer.world_size == 1:
        return mean, mean.detach()
    count = float(count)
    total = mean * count if count else mean.new_zeros(())
    sums = torch.stack([total.detach(), total.new_tensor(count)])
    overall, counts = trainer.strategy.reduce(sums, reduce_op="mean")
    nothing = sum(parameter.sum() for parameter in module.parameters()) * 0
    return total / counts + nothing, overall / counts


def check_started(devices: int, machines: int) -> None:
    """``ValueError`` where torchrun started other processes than these: each would train by itself in one folder."""
    if torch.distributed.is_torchelastic_launched():
        each, every = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
        if (devices, devices * machines) != (each, every):
            raise ValueError(
                f"devices is {devices} and machines {machines}, but torchrun started {every} processes, {each} of them "
                f"on this machine; give --devices {each} --machines {every // each}"
            )


def say(text: str) -> None:
    """A line on the standard error, by the first process alone."""
    if first():
        print(text, file=sys.stderr, flush=True)


def first() -> bool:
    """Whether this is the process that prints and writes; the only one, where there are no others."""
    return rank_zero_only.rank == 0  # type: ignore[attr-defined]
