"""Further processes of this machine, and the cores that it may use."""

import os
import pickle
import runpy
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from math import ceil
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any

# ---------------------------------------------------------------------------------------------------------------------
# The cores of the machine that this process may use.


QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""File of a container: microseconds of all its cores in a period, and the period; or "max"."""


def cores() -> int:
    """Return how many cores this process may use, by its affinity and its container's quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        most, period = QUOTA.read_text(encoding="ascii").split()
        return count if most == "max" else max(1, min(count, ceil(int(most) / int(period))))
    except (OSError, ValueError):
        return count


# ---------------------------------------------------------------------------------------------------------------------
# Further processes of this machine, which work for this one and end with it.


@contextmanager
def workers(count: int, begin: Callable[..., None] | None = None, *given: Any) -> Iterator[ProcessPoolExecutor]:
    """A block with processes that begin when there is work for them, and are ended if the block raises.

    They end with this process, even one that is killed while they load modules; but Python imports the script that is
    run, if it is one of yours, before they look for it.

    Args:
        count: how many there are at most.
        begin: a function of a module, which each of them calls first; None for none.
        given: its arguments.
    """
    # Bytes, so that a process unpickles them itself: that imports their modules, torch perhaps, which takes seconds.
    packed = pickle.dumps((begin, given))
    pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(packed,))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.terminate()
        raise
    pool.shutdown()


def result_of(work: "Future[Any]", what: str) -> Any:
    """The result of a process. Raises its error, and ``MemoryError`` if it ended, which names ``what`` it does."""
    try:
        return work.result()
    except BrokenProcessPool:
        raise MemoryError(
            f"a process that {what} ended, probably for lack of memory; try --processes 1, which needs less memory"
        ) from None


@contextmanager
def pool_map(count: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """A block with a ``map`` over so many processes, or over none: with one, ``map`` itself."""
    if count == 1:
        yield map
        return
    with workers(count) as pool:
        yield pool.map


def end_with_parent(worker: int = 0) -> None:
    """In a worker, of whatever number: end when the parent has, which may be killed and then cannot say so."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def module_command(module: str, descriptor: int = 0) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of a process that runs a module, and finds those that this one finds.

    The process leaves Ctrl-C to this one. It ends when the other end of its ``descriptor``, a pipe or a socket, is
    closed, even while it loads modules. The descriptor is the argument of the module.
    """
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    start = f"from dgltree.support.workers import run_module; run_module({module!r}, {descriptor})"
    return [sys.executable, "-P", "-c", start, str(descriptor)], {**os.environ, "PYTHONPATH": paths}


def run_module(module: str, descriptor: int) -> None:
    """Run a module as :func:`module_command` says, in the process that it began."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_input(descriptor)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with_input(descriptor: int) -> None:
    """End this process when the other end of its pipe or socket is closed, even amid the work that came over it.

    Where the system cannot tell (Windows), the process ends when it reads on.
    """
    if hasattr(select, "poll"):
        threading.Thread(target=_wait_for_the_end_of, args=(descriptor,), daemon=True).start()


def _wait_for_the_end_of(descriptor: int) -> None:
    watched = select.poll()  # of any number of open files, unlike select.select
    watched.register(descriptor, 0)  # a hang-up alone
    watched.poll()
    os._exit(1)


def _begin(packed: bytes) -> None:
    """Leave Ctrl-C to the process that began this one, end when that ends, and call the function that was packed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    begin, given = pickle.loads(packed)
    if begin is not None:
        begin(*given)
