"""When a search ends: at a time, or when it is told to."""

import time
from collections.abc import Callable


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
        return time.monotonic() > self.deadline or self.told()
