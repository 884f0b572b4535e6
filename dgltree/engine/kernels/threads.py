"""Threads for the parts of a pass, its kernels and products: as many as torch has, with bitwise equal results.

Compiled kernels run without Python's lock, and so do torch's products, each in one thread: MKL gives other bits where
it takes several. Not Numba's own threads: a process that forks after OpenMP ran loses its child, and data loaders fork;
the other layers refuse to be used from several Python threads.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import pairwise

import torch

MIN_ROWS_PER_THREAD = 256
"""Rows from which on waking a thread saves time."""
MIN_ROWS_FOR_THREADS = 2048
"""Rows of blocks below which one thread computes all of them."""

_count: ContextVar[int] = ContextVar("threads", default=1)
_passes: ContextVar[int | None] = ContextVar("threads of passes", default=None)


@contextmanager
def passes_on(count: int) -> Iterator[None]:
    """Within it passes use so many threads, and torch's operations between them as many as torch has.

    Those wait for each other by counting, which costs most of the time of both where other programs run.
    """
    token = _passes.set(count)
    try:
        yield
    finally:
        _passes.reset(token)


@contextmanager
def threads_of_torch(device: torch.device) -> Iterator[int]:
    """Within it the functions below use the threads of passes, as many as torch has by default, and torch itself one.

    For what a GPU computes there is one: others would not know which of its streams this one uses.
    """
    before = torch.get_num_threads()
    count = (_passes.get() or before) if device.type == "cpu" else 1
    if count == 1:
        yield 1
        return
    token = _count.set(count)
    torch.set_num_threads(1)
    try:
        yield count
    finally:
        torch.set_num_threads(before)
        _count.reset(token)


def thread_count() -> int:
    """How many threads :func:`together` has here."""
    return _count.get()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "dgltree-kernel", initializer=torch.set_num_threads, initargs=(1,))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the child has none of its parent's threads


def over_rows(function: Callable[..., None], start: int, stop: int, *arguments: object) -> None:
    """``function(lo, hi, *arguments)`` for ranges that make up ``start:stop``; an error in any of them is raised."""
    parts = min(_count.get(), (stop - start) // MIN_ROWS_PER_THREAD)
    if parts < 2:
        function(start, stop, *arguments)
        return
    bounds = [start + (stop - start) * k // parts for k in range(parts + 1)]
    together([lambda k=k: function(bounds[k], bounds[k + 1], *arguments) for k in range(parts)])  # type: ignore[misc]


def over_blocks(function: Callable[..., None], blocks: int, rows: int, *arguments: object) -> None:
    """``function(lo, hi, *arguments)`` for ranges that make up so many blocks of so many rows each.

    There are four ranges a thread, taken as they become free: a thread that works alone at the end has about a quarter
    of a share.
    """
    in_one = blocks
    if _count.get() > 1 and blocks * rows >= MIN_ROWS_FOR_THREADS:
        least = max(MIN_ROWS_PER_THREAD, blocks * rows // (4 * _count.get()))
        in_one = -(-least // rows)
    bounds = [*range(0, blocks, max(in_one, 1)), blocks]
    together([partial(function, lo, hi, *arguments) for lo, hi in pairwise(bounds)])


def together(functions: Sequence[Callable[[], None]]) -> None:
    """All of them, each by the next thread that has nothing to do; this one is among them."""
    threads = min(_count.get(), len(functions))
    remaining = iter(functions)  # the next one is taken under the interpreter's lock

    def work() -> None:
        for function in remaining:
            function()

    others = [_pool(_count.get() - 1).submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()
