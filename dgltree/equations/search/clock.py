"""When a search ends: at a time, or on request."""

import time
from collections.abc import Callable
from typing import TypeVar

from dgltree.equations.truth.precision import give_way
from dgltree.equations.truth.proofs.work import OutOfTime, ending

Result = TypeVar("Result")

FINISH = 0.3
"""Seconds after a search's end in which what it found is judged and ordered; what is not judged then stays so."""


class Clock:
    """Asked by all that searches, between two pieces of work of some milliseconds.

    Args:
        seconds: from the beginning until it is late; None for no limit.
        told: whether it is late already, whatever the time.
        spent: of those seconds, on reading the question.
    """

    def __init__(
        self, seconds: float | None = None, told: Callable[[], bool] = lambda: False, spent: float = 0.0
    ) -> None:
        self.deadline = float("inf") if seconds is None else time.monotonic() + seconds - spent
        self.told = told
        self.spent = spent
        self.reserve = 0.0
        """Seconds that what finishes a search takes beyond ``FINISH``, half of which is for what it does between two
        looks at the clock; the search ends earlier by as much."""

    def keep(self, seconds: float) -> None:
        """Let a search end early enough for a verdict that takes these seconds, but not before half of its time."""
        self.reserve = max(0.0, min(seconds - FINISH / 2, self.left / 2))

    @property
    def too_late_to_begin(self) -> bool:
        """Whether a search would only be late: before it looks at the clock it takes about as long as the reading."""
        return self.left < self.spent

    @property
    def late(self) -> bool:
        """Whether to search no further."""
        return self.to_search < 0

    @property
    def left(self) -> float:
        """Seconds until it is late, below 0 afterwards."""
        give_way()
        return self._left()

    def in_time(self, work: Callable[[], Result]) -> Result | None:
        """The result of exact work; None if the time in which a search is finished was over first."""
        try:
            with ending(lambda: self._left() < -FINISH):  # and gives no other thread way, within exact numbers
                return work()
        except OutOfTime:
            return None

    def end(self) -> None:
        """Be late from now on."""
        self.deadline = min(self.deadline, time.monotonic() - 1e-9)

    def _left(self) -> float:
        if time.monotonic() <= self.deadline and self.told():
            self.end()
        return self.deadline - time.monotonic()

    @property
    def to_search(self) -> float:
        """Seconds until a search ends, below 0 afterwards."""
        return self.left - self.reserve

    def allows(self, seconds: float) -> bool:
        """Whether there is time for this, if that which finishes a search is used."""
        return self.left + FINISH > seconds
