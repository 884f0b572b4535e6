"""Threads for the parts of a pass, its kernels and products: as many as torch has, with bitwise equal results.

Compiled kernels run without Python's lock, and so do torch's products, each in one thread: MKL gives other bits where
it takes several. Not Numba's own threads: a process that forks after OpenMP ran loses its child, and data loaders fork;
the other layers refuse to be used from several Python threads.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import pairwise

import torch

from dgltree.engine.kernels.layout import Layout

MIN_ROWS_PER_THREAD = 256
"""Rows from which on waking a thread saves time."""
MIN_ROWS_FOR_GRADIENT_THREADS = 2048
"""Rows below which one thread computes the gradients of all weights: each costs less than a row of a pass."""

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


def over_runs(function: Callable[..., None], layout: Layout, backward: bool, *arguments: object) -> None:
    """``function(lo, hi, *arguments)`` for ranges that make up all runs: of parts, which do not depend on each other,
    and of what is in none, one step after another, or from the last to the first.
    """
    if _count.get() == 1:
        function(0, len(layout.queue), *arguments)
        return
    ranges = _by_step(layout) + ([layout.parts] if layout.parts else [])
    for bounds in reversed(ranges) if backward else ranges:
        together([partial(function, lo, hi, *arguments) for lo, hi in pairwise(bounds)])


def _by_step(layout: Layout) -> list[list[int]]:
    """Ranges of the runs that are in no part, as bounds: for each step, or for several small ones. The runs of one step
    do not depend on each other.
    """
    count = _count.get()
    rows, ranges = layout.run_ends, list[list[int]]()
    for lo, hi in pairwise(layout.stages):
        if lo == hi:
            continue
        before = rows[lo - 1] if lo else 0
        parts = min(count, (rows[hi - 1] - before) // MIN_ROWS_PER_THREAD)
        cuts = [before + (rows[hi - 1] - before) * k / max(parts, 1) for k in range(1, parts)]
        bounds = sorted({lo, *(bisect_left(rows, cut, lo, hi) for cut in cuts), hi})
        if ranges and len(bounds) == 2 and len(ranges[-1]) == 2:  # small steps in one call
            bounds = [ranges.pop()[0], hi]
        ranges.append(bounds)
    return ranges


def over_groups(
    function: Callable[..., None], rows: Sequence[int], addend: Sequence[int], *arguments: tuple[object, ...]
) -> None:
    """``function(lo, hi, *arguments[k])`` for ranges that make up all groups, which do not depend on each other.

    Args:
        function: of one or more groups of one number k.
        rows: of each group.
        addend: the number k of each group.
        arguments: of each number.
    """
    # Four ranges a thread, taken as they become free: a thread that works alone at the end has about a quarter of a
    # share. Which range a group is in changes no bit, as a group is computed by one call.
    total = sum(rows)
    least = (
        max(MIN_ROWS_PER_THREAD, total // (4 * _count.get()))
        if _count.get() > 1 and total >= MIN_ROWS_FOR_GRADIENT_THREADS
        else total
    )
    bounds, waiting = list[int](), 0
    for group, own in enumerate(rows):
        if not group or waiting >= least or addend[group] != addend[group - 1]:
            bounds.append(group)
            waiting = 0
        waiting += own
    bounds.append(len(rows))
    together([partial(function, lo, hi, *arguments[addend[lo]]) for lo, hi in pairwise(bounds)])


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
