"""When a search ends: at a time, or on request."""

import time
from collections.abc import Callable

FINISH = 0.3
"""Seconds after a search's end in which what it found is judged and ordered."""


class Clock:
    """Asked by all that searches, between two pieces of work of some milliseconds.

    Args:
        seconds: from now until it is late; None for no limit.
        told: whether it is late already, whatever the time.
    """

    def __init__(self, seconds: float | None = None, told: Callable[[], bool] = lambda: False) -> None:
        self.deadline = float("inf") if seconds is None else time.monotonic() + seconds
        self.told = told

    @property
    def late(self) -> bool:
        """Whether to search no further."""
        return self.left < 0

    @property
    def left(self) -> float:
        """Seconds until it is late, below 0 afterwards."""
        now = time.monotonic()
        if now <= self.deadline and self.told():
            self.deadline = min(self.deadline, now - 1e-9)
        return self.deadline - now

    def allows(self, seconds: float) -> bool:
        """Whether there is time for this, if that which finishes a search is used."""
        return self.left + FINISH > seconds
