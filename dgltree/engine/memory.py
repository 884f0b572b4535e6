"""The memory that a pass needs at least and that there is: a batch that cannot fit is refused before it begins."""

import os
from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from dgltree.engine.autograd import generator_at, generator_state
from dgltree.engine.contract import CellContract, DownwardContract
from dgltree.engine.executor import Steps
from dgltree.engine.schedule import Schedule, Step
from dgltree.engine.trace import Trace
from dgltree.engine.typed_linear import Segments

# ---------------------------------------------------------------------------------------------------------------------
# How much memory is left on a device: what the system says, and the limits of a process and of the groups it is in.


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
    kibibytes = dict(line.split(":") for line in MEMINFO.read_text(encoding="ascii").splitlines())
    available = 1024 * int(kibibytes["MemAvailable"].split()[0])
    return min([available, *_left_of_addresses(), *_left_in_groups()])


def resident_bytes() -> int:
    """Bytes of memory that this process has, where :func:`available_bytes` is known."""
    return os.sysconf("SC_PAGE_SIZE") * int(PAGES.read_text(encoding="ascii").split()[1])


def _left_of_addresses() -> list[int]:
    """Bytes that the process may still map, if that has a limit (``ulimit -v``)."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return []
    mapped = resource.getpagesize() * int(PAGES.read_text(encoding="ascii").split()[0])
    return [max(0, most - mapped)]


def _left_in_groups() -> list[int]:
    """Bytes left in each control group of this process, and in those around it, that has a limit."""
    if not GROUPS.exists():
        return []
    left = []
    for line in GROUPS.read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        kind = "memory" if "memory" in controllers.split(",") else controllers
        if kind in NAMES:
            group = Path(path.strip("/"))
            left += [_left(MOUNTED / kind / folder, *NAMES[kind]) for folder in (group, *group.parents)]
    return [bytes_left for bytes_left in left if bytes_left is not None]


def _left(folder: Path, limit: str, usage: str) -> int | None:
    """What a group may still take; pages of files that it read count as free, because the system takes them back."""
    try:
        most = (folder / limit).read_text(encoding="ascii").strip()
        used = (folder / usage).read_text(encoding="ascii").strip()
        statistics = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        pages = dict(line.split() for line in statistics)
    except (OSError, ValueError):  # no such group in this container, or none that may be read
        return None
    if most == "max":
        return None
    files = int(pages.get("total_inactive_file", pages.get("inactive_file", 0)))
    return max(0, int(most) - int(used) + files)


LARGE = 2**27
"""Bytes of states from which on a batch is looked at."""
SAMPLE = 64
"""Rows of a step that are run to see what they keep."""


def check_memory(
    cell: CellContract, schedule: Schedule, record: bool, recompute: bool, fused: Callable[[], int] | None = None
) -> None:
    """``MemoryError`` if a batch needs more than the device has left: how much, and what would fit.

    Args:
        cell, schedule, record, recompute: as in :func:`least_bytes`.
        fused: gives the bytes that a pass through a kernel needs at least, if it is one.
    """
    if len(schedule) * _state_bytes(cell) < LARGE:
        return
    left = available_bytes(schedule.node.device)
    needed = least_bytes(cell, schedule, record, recompute) if fused is None else fused()
    if left is None or needed <= left:
        return
    hints = []
    if record and not recompute:
        recomputed = least_bytes(cell, schedule, record, recompute=True)
        if recomputed < needed:
            hints.append(f"recompute=True ({_gib(recomputed)})")
    if len(schedule) == len(schedule.row):
        hints.append("share=True if subtrees repeat")
    raise _too_large(cell, schedule, needed, left, hints)


def check_downward_memory(cell: DownwardContract, schedule: Schedule, record: bool) -> None:
    """``MemoryError`` if the states alone, with their gradients if it is recorded, need more than there is left."""
    needed = len(schedule) * _state_bytes(cell) * (2 if record else 1)
    if needed < LARGE:
        return
    left = available_bytes(schedule.node.device)
    if left is not None and needed > left:
        raise _too_large(cell, schedule, needed, left, [])


def _too_large(
    cell: CellContract | DownwardContract, schedule: Schedule, needed: int, left: int, hints: list[str]
) -> MemoryError:
    most = f"at most {int(len(schedule) * left / needed):,} of these nodes in a batch"
    return MemoryError(
        f"{type(cell).__name__} needs at least {_gib(needed)} to compute a batch of {len(schedule):,} nodes, but "
        f"{schedule.node.device} has only {_gib(left)} left; use {', or '.join([most, *hints])}"
    )


def least_bytes(cell: CellContract, schedule: Schedule, record: bool, recompute: bool) -> int:
    """States and those of the leaves apart, inputs; with a backward pass to come also what is needed for it.

    A bound from below: what a step needs only while it runs comes on top, some hundred bytes per node of a large batch.
    """
    row = _state_bytes(cell)
    states = len(schedule) * row
    needed = states + schedule.leaves * row + _input_bytes(cell, schedule)
    if record:
        needed += states  # their gradients
    if record and not recompute:
        needed += count_kept_bytes(cell, schedule)
    return needed


def count_kept_bytes(cell: CellContract, schedule: Schedule) -> int:
    """What the steps keep for the backward pass, other than states and what the inputs add to the gates."""
    of_arity: dict[int | None, float] = {}
    kept = 0.0
    for step in schedule.steps:
        if not of_arity.get(step.arity):
            of_arity[step.arity] = _kept_by_a_row(cell, schedule, step)
        kept += of_arity[step.arity] * (step.stop - step.start)
    return int(kept)


def _state_bytes(cell: CellContract | DownwardContract) -> int:
    """Bytes of the state of one row."""
    numbers = sum(prod(shape) for shape in cell.state.values())
    return numbers * cell.first_weight.element_size()


def _input_bytes(cell: CellContract, schedule: Schedule) -> int:
    """Bytes of the rows that read inputs: these, and what they add to the gates."""
    if cell.input_size is None:
        return 0
    maps = cell.named_maps()
    rows: list[tuple[int | None, int]] = [(step.arity, step.stop - step.start) for step in schedule.steps]
    if cell.leaf == "gates":
        rows.append((0, schedule.leaves))
    numbers = 0
    for arity, count in rows:
        width = maps[f"input_{cell.key(arity)}"].affine.fan_out
        numbers += count * (cell.input_size + width)
    return numbers * cell.first_weight.element_size()


def _kept_by_a_row(cell: CellContract, schedule: Schedule, step: Step) -> float:
    """Bytes: some rows of the step are run, on states that take no memory, and what stays for later is counted."""
    few = _first(schedule, step, min(SAMPLE, step.stop - step.start))
    rows = few.stop - few.start
    edges = few.edges.stop - few.edges.start
    like = cell.first_weight
    kept: dict[int, int] = {}  # bytes by the address of a storage

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    given = {part: like.new_zeros(edges, *shape).requires_grad_() for part, shape in cell.state.items()}
    x_pre = None
    if cell.input_size is not None:
        width = cell.named_maps()[f"input_{cell.key(step.arity)}"].affine.fan_out
        x_pre = like.new_zeros(rows, width)
    weights = cell.map_weights()
    undrawn = generator_at(generator_state(cell), like.device)
    with undrawn, torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, keep):
        Steps(cell, schedule, weights, Trace(cell, ())).new_states(few, given, x_pre)
    counted = [*cell.parameters(), *weights.values()]
    if x_pre is not None:
        counted.append(x_pre)
    for tensor in counted:
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(kept.values()) / rows


def _first(schedule: Schedule, step: Step, rows: int) -> Step:
    """The first rows of a step."""
    edges = rows * step.arity if step.arity else int((schedule.parent[step.edges] < rows).sum())
    return replace(
        step,
        stop=step.start + rows,
        edges=slice(step.edges.start, step.edges.start + edges),
        segments=_within(step.segments, rows),
        edge_segments=_within(step.edge_segments, edges),
    )


def _within(segments: Segments, rows: int) -> Segments:
    """The segments of the first rows."""
    return [(function, start, min(stop, rows)) for function, start, stop in segments if start < rows]


def _gib(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB"
