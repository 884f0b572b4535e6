"""Work is counted, the same on every machine, so that no verdict depends on a clock.

A clock may only end a call: what was being judged when its time was over has no verdict at all.

A unit is about one node of an enclosure, some 5 microseconds: polynomials, signs and values at points count as the
units that they take. What is not shown within its work is open.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dgltree.equations.truth.proofs.expression import Unsupported


class TooMuchWork(Unsupported):
    """More work than a block may take."""


class OutOfTime(BaseException):
    """The time of a call is over. No ``Exception``: what catches errors on the way would make a verdict of it."""


class _Blocks(threading.local):
    """Units that are left to each block of a thread, and what says when its time is over, the innermost last."""

    def __init__(self) -> None:
        self.working: list[int] = []
        self.allowing: list[int] = []
        self.ending: list[Callable[[], bool]] = []


_blocks = _Blocks()


@contextmanager
def working(units: int) -> Iterator[None]:
    """A block that takes so many units at most, of those that are left around it. Raises ``TooMuchWork`` beyond."""
    units = min([units, *_blocks.working[-1:], *_blocks.allowing[-1:]])
    _blocks.working.append(units)
    try:
        yield
    finally:
        spent = units - _blocks.working.pop()
        for around in (_blocks.working, _blocks.allowing):
            if around:
                around[-1] -= spent
                break


@contextmanager
def allowing(units: int) -> Iterator[None]:
    """A block in which all blocks of work together take so many units, whatever is left around it; then each ends."""
    _blocks.allowing.append(units)
    try:
        yield
    finally:
        _blocks.allowing.pop()


@contextmanager
def ending(is_over: Callable[[], bool]) -> Iterator[None]:
    """A block that raises ``OutOfTime`` at its next piece of work when ``is_over`` says so."""
    _blocks.ending.append(is_over)
    try:
        yield
    finally:
        _blocks.ending.pop()


def look_at_clock() -> None:
    """Raise ``OutOfTime`` in a block whose time is over. Work that is not counted calls it piece by piece."""
    if _blocks.ending and _blocks.ending[-1]():
        raise OutOfTime


def spend(units: int) -> None:
    """Count work. Raises ``TooMuchWork`` in a block that has none left, and ``OutOfTime``."""
    look_at_clock()
    left = _blocks.working
    if left:
        left[-1] -= units
        if left[-1] < 0:
            raise TooMuchWork("too much work")
