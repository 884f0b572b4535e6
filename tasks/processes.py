"""Common parts of worker processes."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


def end_with_parent() -> None:
    """In a worker: end when the parent has, which may be killed and then cannot say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def pool_map(workers: int) -> Iterator:
    """A ``map`` over processes, or over none."""
    if workers == 1:
        yield map
        return
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), end_with_parent)
    try:
        yield executor.map
    finally:
        executor.shutdown(cancel_futures=True)
