"""Blocks without some warnings, in this thread alone."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_active: ContextVar[tuple["_Here", ...]] = ContextVar("active", default=())


class _Here:
    """A pattern of :mod:`warnings` that matches within its block alone, and so in no other thread."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern  # a text, which scikit-learn copies to the filters of its workers

    def match(self, text: str) -> bool:
        return self in _active.get() and re.match(self.pattern, text, re.IGNORECASE) is not None


@contextmanager
def without_warnings(pattern: str = "") -> Iterator[None]:
    """A block in which this thread gives no warnings that begin with a pattern.

    ``warnings.catch_warnings`` replaces the filters of the whole process, and of two threads that use it the last one
    to leave puts back what the other had changed. Here the list of filters has an entry more, by which other threads
    are not concerned, and loses this entry alone.
    """
    here = _Here(pattern)
    entry = ("ignore", here, Warning, None, 0)
    filters: Any = warnings.filters
    token = _active.set((*_active.get(), here))
    filters.insert(0, entry)
    try:
        yield
    finally:
        _active.reset(token)
        filters.remove(entry)
