"""The cores of the machine that this process may use."""

import os
from math import ceil
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Of a container: microseconds of all its cores in a period, and the period; or "max"."""


def cores() -> int:
    """Those that this process may use, by its affinity and its container's quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        most, period = QUOTA.read_text(encoding="ascii").split()
        return count if most == "max" else max(1, min(count, ceil(int(most) / int(period))))
    except (OSError, ValueError):
        return count
