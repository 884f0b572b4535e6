"""Blocks without some warnings, in this thread alone."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

_active: ContextVar[tuple[str, ...]] = ContextVar("active", default=())
NOTHING = "(?!)"
"""The pattern that no text matches."""


class _Here:
    """A pattern of :mod:`warnings`: those of the blocks that this thread is in, and nothing elsewhere."""

    @property
    def pattern(self) -> str:
        """The pattern as a text, which scikit-learn copies to the filters of its workers."""
        return "|".join(f"(?:{each})" for each in _active.get()) or NOTHING

    def match(self, text: str) -> bool:
        return re.match(self.pattern, text, re.IGNORECASE) is not None


_ENTRY = ("ignore", _Here(), Warning, None, 0)
_LOCK = Lock()


@contextmanager
def without_warnings(pattern: str = "") -> Iterator[None]:
    """A block in which this thread gives no warnings that begin with a pattern.

    ``warnings.catch_warnings`` replaces the filters of the whole process, and of two threads that use it the last one
    to leave puts back what the other had changed. Here one entry that no other thread meets is put in front of the
    filters, and stays: a block that removed it could find the list replaced by another thread's ``catch_warnings``.
    """
    filters: Any = warnings.filters
    with _LOCK:
        if filters[:1] != [_ENTRY]:
            filters[:] = [_ENTRY, *(each for each in filters if each != _ENTRY)]
    token = _active.set((*_active.get(), pattern))
    try:
        yield
    finally:
        _active.reset(token)
