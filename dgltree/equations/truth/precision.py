"""One thread at a time computes with exact numbers, because python-flint has one precision for all threads.

``flint.ctx.workprec`` sets the precision of the whole process: two threads within such blocks compute with each other's
digits, and each leaves the precision as it found it, which is that of the other. Of 2,400 answers that four threads had
marked, ten had another mark for that alone (2026-11-28). Python's interpreter lock runs one thread at a time anyway.

Public entries of the engine take the lock before anything else. A search, which may take long, gives way whenever it
looks at its clock, where nothing is computed exactly; so nothing that it runs within may hold another lock.
"""

import time
from collections.abc import Callable
from functools import wraps
from threading import RLock, get_ident
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")
PAUSE = 1e-4
"""Seconds for which a thread that gives way sleeps: else it has the lock again before one that waits wakes up."""
_lock = RLock()
_waiting: set[int] = set()
_entries: list[int] = []
"""The thread with the lock, once for each entry that it is in, one within the other."""


def one_thread_at_a_time(function: Callable[P, Result]) -> Callable[P, Result]:
    """A public entry of the engine that waits until no other thread is within one of them."""

    @wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> Result:
        thread = get_ident()
        if not _lock.acquire(blocking=False):
            _waiting.add(thread)
            try:
                _lock.acquire()
            finally:
                _waiting.discard(thread)
        try:
            _entries.append(thread)
            return function(*args, **kwargs)
        finally:
            _entries.pop()
            _lock.release()

    return alone


def give_way() -> None:
    """Let a thread that waits have its turn, if the one that calls this is in one entry, not in several."""
    if _waiting and _entries == [get_ident()]:
        thread = _entries.pop()
        _lock.release()
        try:
            time.sleep(PAUSE)
        finally:
            _lock.acquire()
            _entries.append(thread)
