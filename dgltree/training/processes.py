"""Training with several processes as with one: every batch is divided among them; its loss is the mean over all of it.

Batches depend on (seed, epoch) alone and are the same in every process, which then takes its own part of their rows.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO, TypeVar

import torch

from dgltree.datasets.batches import process_rows

if TYPE_CHECKING:
    import lightning

T = TypeVar("T")
_silent: ContextVar[bool] = ContextVar("silent", default=False)


class ProcessShare(list[T]):
    """The share of one process in some rows."""

    whole: int
    """How many rows there are, those of the other processes included."""


def local_share(rows: list[T], trainer: "lightning.Trainer") -> ProcessShare[T]:
    """This process's share of the rows of a batch, or in validation of the batches: :func:`process_rows`."""
    part = ProcessShare(process_rows(rows, trainer.global_rank, trainer.world_size))
    part.whole = len(rows)
    return part


def check_started(devices: int, machines: int) -> None:
    """``ValueError`` if torchrun started other processes than these: each would train by itself in one folder."""
    if torch.distributed.is_torchelastic_launched():
        each, every = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
        if (devices, devices * machines) != (each, every):
            raise ValueError(
                f"devices is {devices} and machines is {machines}, but torchrun started {every} processes, {each} on "
                f"this machine; give --devices {each} --machines {every // each}"
            )


def say(text: str) -> None:
    """A line about the data or the progress, on the standard error, by the first process alone."""
    _write(text, sys.stderr)


def say_result(text: str) -> None:
    """A line of what a training found, on the standard output, by the first process alone."""
    _write(text, sys.stdout)


def _write(text: str, stream: TextIO) -> None:
    """Unless this thread is :func:`silent`."""
    if first() and not _silent.get():
        print(text, file=stream, flush=True)


@contextmanager
def silent() -> Iterator[None]:
    """A block in which trainings of this thread print nothing; the streams of the process stay as they are."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def shows_progress() -> bool:
    """Whether somebody looks at a bar: on a terminal, unless this thread is :func:`silent`."""
    return sys.stderr.isatty() and not _silent.get()


def first() -> bool:
    """Whether this is the process that prints and writes; the only one, if there are no others."""
    from lightning.pytorch.utilities.rank_zero import rank_zero_only

    return rank_zero_only.rank == 0  # type: ignore[attr-defined]
