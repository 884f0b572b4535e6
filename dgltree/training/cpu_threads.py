"""Threads on the CPU: of passes of cells all cores, whose parts do not wait for each other; of torch few.

Torch's operations wait for each other: below some hundred million multiply-adds two threads wait longer than they
compute; next to the data loader's process, or another program, several times as long.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dgltree.encoders import Encoder, TreeEncoder
from dgltree.engine.compiled.cell_pass import hindrance_of
from dgltree.engine.kernels.dispatch import mode_now
from dgltree.engine.kernels.threads import passes_on
from dgltree.support.workers import cores

LARGE = 2**29
"""Multiply-adds of a batch's nodes and one square matrix from which on several threads are worth it."""


MAX_UNLOADED_NODES = 50_000
"""Nodes up to which batches are made without a process of their own: it takes longer to begin."""


def loaders(nodes: int) -> int:
    """Processes that make batches of a data set while the model computes."""
    return int(nodes > MAX_UNLOADED_NODES)


def worth(nodes: int, width: int, others: int = 0) -> int:
    """How many threads of torch a batch is worth; at most as many as torch may use, by OMP_NUM_THREADS perhaps.

    Args:
        nodes: of a batch.
        width: n, of a node's state.
        others: processes that work at the same time, such as a data loader's.
    """
    if nodes * width**2 < LARGE:
        return 1
    return max(1, min(cores() - others, torch.get_num_threads()))


def _is_compiled(encoder: Encoder) -> bool:
    """Whether passes are compiled, as far as can be known before there is a batch."""
    if not isinstance(encoder, TreeEncoder) or mode_now() == "off":
        return False
    return hindrance_of(encoder.cell, encoder.cell.first_weight.device) is None


@contextmanager
def computing(encoder: Encoder, count: int | None, nodes: int, processes: int = 1, loading: int = 0) -> Iterator[None]:
    """A block in which an encoder computes by ``count`` threads, or else by those that it is worth.

    Args:
        encoder: compiled passes of a cell have these threads, and torch's operations one; others have torch's.
        count: 1 or more; None: all cores for such passes, as :func:`worth` for others. At most as many as
            torch may use.
        nodes: of a batch.
        processes: that compute at the same time.
        loading: processes that make the batches of each of them.

    Raises ``ValueError`` below 1.
    """
    if not _is_compiled(encoder):
        others = processes * (1 + loading) - 1
        with limit_threads(worth(nodes, int(encoder.config["hidden_size"]), others) if count is None else count):
            yield
        return
    own = cores() // processes
    count = max(1, min(max(own - loading, 2), own, torch.get_num_threads())) if count is None else count
    with limit_threads(1), passes_on(_checked(count)):
        yield


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """A block in which torch computes by so many threads. Raises ``ValueError`` below 1."""
    before = torch.get_num_threads()
    torch.set_num_threads(_checked(count))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _checked(count: int) -> int:
    if count < 1:
        raise ValueError(f"threads is {count}; it must be 1 or more")
    return count
