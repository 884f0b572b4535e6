"""How much memory is left on a device: what the system says, and the limits of a process and of the groups it is in."""

import os
from pathlib import Path

import torch

MEMINFO = Path("/proc/meminfo")  # of Linux; elsewhere nothing is known, and nothing refused
PAGES = Path("/proc/self/statm")
GROUPS = Path("/proc/self/cgroup")
MOUNTED = Path("/sys/fs/cgroup")
NAMES = {"": ("memory.max", "memory.current"), "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}
"""The files of limit and usage, for groups of version 2 and of version 1."""


def available_bytes(device: torch.device) -> int | None:
    """Bytes that are left on a device, or None if that is not known."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if not MEMINFO.exists():
        return None
    known = dict(line.split(":") for line in MEMINFO.read_text(encoding="ascii").splitlines())
    return min([1024 * int(known["MemAvailable"].split()[0]), *_left_of_addresses(), *_left_in_groups()])


def resident_bytes() -> int:
    """Bytes of memory that this process has, where :func:`available_bytes` is known."""
    return os.sysconf("SC_PAGE_SIZE") * int(PAGES.read_text(encoding="ascii").split()[1])


def _left_of_addresses() -> list[int]:
    """Bytes that the process may still map, if that has a limit (``ulimit -v``)."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return []
    return [max(0, most - resource.getpagesize() * int(PAGES.read_text(encoding="ascii").split()[0]))]


def _left_in_groups() -> list[int]:
    """Bytes left in each control group of this process, and in those around it, that has a limit."""
    lines = GROUPS.read_text(encoding="utf-8").splitlines() if GROUPS.exists() else []
    found = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        kind = "memory" if "memory" in controllers.split(",") else controllers
        if kind in NAMES:
            group = Path(path.strip("/"))
            found += [_left(MOUNTED / kind / folder, *NAMES[kind]) for folder in (group, *group.parents)]
    return [left for left in found if left is not None]


def _left(folder: Path, limit: str, usage: str) -> int | None:
    """What a group may still take; pages of files that it read count as free, because the system takes them back."""
    try:
        most, used = ((folder / name).read_text(encoding="ascii").strip() for name in (limit, usage))
        pages = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):  # no such group in this container, or none that may be read
        return None
    if most == "max":
        return None
    files = int(pages.get("total_inactive_file", pages.get("inactive_file", 0)))
    return max(0, int(most) - int(used) + files)
