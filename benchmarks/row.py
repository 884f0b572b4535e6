"""One measured row, and how long things take in turn."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Timing:
    """Seconds: the median, the fastest and the slowest of some repeats."""

    median: float
    low: float
    high: float


@dataclass
class Row:
    """What one measurement says, and what it should say."""

    name: str
    ratio: float
    """The number that ``aim`` and ``least`` are about, in ``unit``."""
    unit: str
    """Such as "times recursion" or "ms per equation"."""
    aim: float | None = None
    least: float | None = None
    falling: bool = False
    """Whether less is better: a time, or a multiple of a limit."""
    ours_s: float | None = None
    peers: dict[str, float] = field(default_factory=dict)
    """Peer to its seconds for the same work."""
    work: dict[str, float] = field(default_factory=dict)
    """What was done a second, such as equations and nodes."""
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The fastest and the slowest time, of us and each peer."""

    @property
    def met(self) -> bool:
        """Whether the row is not under its least."""
        if self.least is None:
            return True
        return self.ratio <= self.least if self.falling else self.ratio >= self.least

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "met": self.met}

    def __str__(self) -> str:
        aims = [] if self.aim is None else [f"aim {self.aim:,g}, least {self.least:,g}{'' if self.met else ': MISSED'}"]
        times = [] if self.ours_s is None else [f"{1000 * self.ours_s:,.1f} ms"]
        times += [f"{name} {1000 * seconds:,.1f} ms" for name, seconds in self.peers.items()]
        rates = [f"{count:,.0f} {what}/s" for what, count in self.work.items()]
        return f"{self.name:58} {self.ratio:10,.2f} {self.unit:26} {'; '.join([*aims, *times, *rates])}"


@dataclass
class Skipped:
    """A row that could not be measured here, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name:58} skipped: {self.reason}"


def in_turn(
    steps: Mapping[str, Callable[[], object]],
    repeats: int,
    device: str = "cpu",
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Each step once in every round, so that all see the same machine; the first round warms up."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(repeats + 1):
        for name, step in steps.items():
            synchronize(device)
            start = clock()
            step()
            synchronize(device)
            if number:
                times[name].append(clock() - start)
    return {name: Timing(statistics.median(of), min(of), max(of)) for name, of in times.items()}


def synchronize(device: str) -> None:
    """Wait for a GPU."""
    if device == "cuda":
        torch.cuda.synchronize()


def against(name: str, peer: str, times: Mapping[str, Timing], scale: float = 1.0, **row: Any) -> Row:
    """How many times as fast as a peer we are; ``scale``: how much more work we did in our time."""
    ours, theirs = times["ours"], times[peer]
    return Row(
        name,
        theirs.median * scale / ours.median,
        f"times {peer}",
        ours_s=ours.median,
        peers={peer: theirs.median * scale},
        spread={"ours": (ours.low, ours.high), peer: (theirs.low * scale, theirs.high * scale)},
        **row,
    )
