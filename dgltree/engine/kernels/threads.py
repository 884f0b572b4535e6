"""Threads for compiled kernels, which run without Python's lock: as many as torch has.

Not Numba's own: a process that forks after OpenMP ran loses its child, and data loaders fork; the other layers refuse
to be used from several Python threads.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

import torch

LEAST = 256
"""Rows for which it pays to wake a thread."""


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "dgltree-kernel")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the child has none of its parent's threads


def over_rows(function: Callable[..., None], start: int, stop: int, *arguments: object) -> None:
    """``function(lo, hi, *arguments)`` for ranges that make up ``start:stop``; an error in any of them is raised."""
    parts = min(torch.get_num_threads(), (stop - start) // LEAST)
    if parts < 2:
        function(start, stop, *arguments)
        return
    bounds = [start + (stop - start) * k // parts for k in range(parts + 1)]
    pool = _pool(torch.get_num_threads() - 1)
    others: list[Future[None]] = [pool.submit(function, bounds[k], bounds[k + 1], *arguments) for k in range(1, parts)]
    try:
        function(bounds[0], bounds[1], *arguments)
    finally:
        for other in others:
            other.result()
