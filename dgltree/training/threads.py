"""Threads of torch on the CPU: as many as the work is worth.

A step of the level engine multiplies some rows by a small matrix. Below some hundred million multiply-adds two threads
wait for each other longer than they compute; next to the data loader's process, or another program, several times as
long.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

LARGE = 2**29
"""Multiply-adds of a batch's nodes and one square matrix from which on several threads are worth it."""


SMALL = 50_000
"""Nodes up to which batches are made without a process of their own: it takes longer to begin."""


def loaders(nodes: int) -> int:
    """Processes that make batches of a data set while the model computes."""
    return int(nodes > SMALL)


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worth(nodes: int, width: int, others: int = 0) -> int:
    """How many threads a batch is worth; at most as many as torch may use, by OMP_NUM_THREADS perhaps.

    Args:
        nodes: of a batch.
        width: n, of a node's state.
        others: processes that work at the same time, such as a data loader's.
    """
    if nodes * width**2 < LARGE:
        return 1
    return max(1, min(cores() - others, torch.get_num_threads()))


@contextmanager
def limited(count: int) -> Iterator[None]:
    """A block in which torch computes by so many threads. Raises ``ValueError`` below 1."""
    if count < 1:
        raise ValueError(f"threads is {count}; it must be 1 or more")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
