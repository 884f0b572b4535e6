"""Several trainings by as many processes: each prints its lines after the name of its training."""

import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import as_completed
from contextlib import redirect_stderr, redirect_stdout
from io import TextIOBase
from typing import Any, TextIO

import torch

from dgltree.cores import cores
from dgltree.engine.available_memory import available_bytes, resident_bytes
from dgltree.training.options import USUAL_EPOCHS, FitOptions
from dgltree.workers import result_of, workers

WORTH = 300_000
"""Nodes of a data set times usual epochs from which on a training takes longer than its process takes to begin."""


def processes_for(trainings: int, nodes: int, settings: FitOptions) -> int:
    """By how many processes to train: as many as cores, and as memory has room for; on a GPU by one.

    Args:
        trainings: how many there are.
        nodes: of the data set.
        settings: of each training.
    """
    on_gpu = settings.device == "cuda" or (settings.device == "auto" and torch.cuda.is_available())
    epochs = min(settings.most_epochs, USUAL_EPOCHS)
    if on_gpu or settings.devices * settings.machines > 1 or nodes * epochs < WORTH:
        return 1
    left = available_bytes(torch.device("cpu"))
    room = trainings if left is None else left // (2 * resident_bytes())
    return max(1, min(cores(), trainings, room))


def train_at_once(trainings: Mapping[str, Callable[[], Any]], processes: int) -> None:
    """Call each of them, several at a time.

    Args:
        trainings: by their names; they can be pickled, and leave what they find in files.
        processes: how many of them work at a time.

    Raises what the first of them that fails raises, at once, and ends the others; ``MemoryError`` if a process ends.
    """
    with workers(processes, _begin, max(1, cores() // processes)) as pool:
        for work in as_completed([pool.submit(_train, name, train) for name, train in trainings.items()]):
            result_of(work, "trains")


def _begin(threads: int) -> None:
    torch.set_num_threads(threads)


def _train(name: str, train: Callable[[], Any]) -> None:
    with redirect_stderr(_Named(name, sys.stderr)), redirect_stdout(_Named(name, sys.stdout)):
        try:
            train()
        except (KeyboardInterrupt, SystemExit):  # it has saved at SIGTERM, and would go on with the next training
            os._exit(1)


class _Named(TextIOBase):
    """Whole lines of a stream, each after a name; no terminal, so that no bar of progress is drawn over others."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self.name, self.stream, self._begun = name, stream, ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        self.stream.write("".join(f"{self.name}: {line}\n" for line in lines))
        self.stream.flush()
        return len(text)
