"""The rows of a schedule by the maps that a cell's functions have there."""

import operator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.engine.compiled.held_tensors import HeldByKinds
from dgltree.engine.compiled.rows import Numbers, PassRows, ProgramRuns
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.contract import CellBase, CellContract
from dgltree.engine.schedule import Schedule
from dgltree.engine.typed_linear import TypedLinear

MOST_CELLS = 4
"""Cells whose rows a schedule remembers."""


class RowKind(NamedTuple):
    """Rows that have the same program and the same matrices."""

    arity: int | None
    """None for a cell that takes any number of children, and downwards."""
    function: int
    """One of those whose matrices they are; downwards the number of the matrix."""


class CellRows(PassRows):
    """The rows of a schedule by the maps that they need.

    Args:
        schedule: of a pass.
        frontier: (R,), the step of each row, 0 for those that a pass begins with.
        bunch: (R,): rows of one step with equal numbers have one kind.
        kind: (R,), the number of its kind, -1 for those.
        kinds: of rows.
        degree: (R,), the number of edges that lead to each row.
        edges: (E,), which edges of the schedule these are, row after row.
        slot: (R,), on the way down the place of each row among its siblings, -1 for those that a pass begins with.
    """

    def __init__(
        self,
        schedule: Schedule,
        frontier: Numbers,
        bunch: Numbers,
        kind: Numbers,
        kinds: list[RowKind],
        degree: Numbers,
        edges: Numbers,
        slot: Tensor | None = None,
    ) -> None:
        self.kinds, self.slot = kinds, slot
        self.degrees = np.unique(degree[schedule.leaves :]).tolist()
        """The numbers of edges that lead to rows which are computed."""
        nodes, sources = torch.arange(len(schedule)), schedule.sources_on_cpu[edges]
        # Rows of one step and function are in the order of their trees, and so are parts: mostly nothing is moved.
        places = schedule.node.numpy()
        super().__init__(frontier, bunch, degree, sources, nodes, torch.from_numpy(edges), places, part_first=False)
        self.is_in_order = bool((self.nodes.diff() > 0).all())
        """Whether they are as in the schedule."""
        self.runs = ProgramRuns.of(self, kind[self.nodes.numpy()[self.bunches[:, 0]]])
        """The runs of rows, by their kind."""
        self.held: HeldByKinds | None = None
        """Which tensors programs held in the pass before."""

    # Nobody sees rows of a cell's pass before they are gathered: where they are in order, there is no need of copies.

    def of_nodes(self, rows: Tensor) -> Tensor:
        return rows if self.is_in_order else super().of_nodes(rows)

    def to_nodes(self, rows: Tensor) -> Tensor:
        return rows if self.is_in_order else super().to_nodes(rows)


def upward_rows(schedule: Schedule, cell: CellContract) -> CellRows:
    """Rows of one kind have one arity, and the maps of one function."""
    numbers: dict[Any, int] = {}
    kinds: list[RowKind] = []
    frontier, kind = np.zeros(len(schedule), np.int64), np.full(len(schedule), -1)
    starts = [start for _, start, _ in schedule.leaf_segments]
    for number, step in enumerate(schedule.steps, 1):
        frontier[step.start : step.stop] = number
        for function, start, stop in step.segments:
            starts.append(step.start + start)
            key = step.arity, places_of(cell, step.arity, function)
            if key not in numbers:
                numbers[key] = len(numbers)
                kinds.append(RowKind(step.arity, function))
            kind[step.start + start : step.start + stop] = numbers[key]
    degree = np.bincount(_receivers(schedule), minlength=len(schedule))
    bunch = np.zeros(len(schedule), np.int64)
    bunch[starts] = 1
    return CellRows(schedule, frontier, bunch.cumsum(), kind, kinds, degree, np.arange(len(schedule.sources)))


def downward_rows(schedule: Schedule) -> CellRows:
    """Rows of one kind get their message through the maps of one place of one function.

    Raises :class:`NotAProgramError` for a node with several parents, whose messages have maps of their own each.
    """
    receivers = _receivers(schedule)
    degree = np.bincount(receivers, minlength=len(schedule))
    if degree.max(initial=0) > 1:
        raise NotAProgramError("a node has several parents")
    edge = np.argsort(receivers)
    numbers: dict[int, int] = {}
    frontier, of_edge = np.zeros(len(schedule), np.int64), np.zeros(len(edge), np.int64)
    for number, step in enumerate(schedule.steps, 1):
        frontier[step.start : step.stop] = number
        for matrix, start, stop in step.edge_segments:
            first = step.edges.start
            of_edge[first + start : first + stop] = numbers.setdefault(matrix, len(numbers))
    kind = np.full(len(schedule), -1)
    kind[receivers] = of_edge
    assert schedule.slot is not None
    slot = torch.full((len(schedule),), -1).index_copy(0, torch.from_numpy(receivers), schedule.slot)
    return CellRows(schedule, frontier, kind, kind, [RowKind(None, matrix) for matrix in numbers], degree, edge, slot)


def _receivers(schedule: Schedule) -> Numbers:
    """(E,), the row that each edge of a schedule leads to."""
    starts = [step.start for step in schedule.steps]
    counts = [step.edges.stop - step.edges.start for step in schedule.steps]
    return schedule.parent.numpy() + np.repeat(np.array(starts, np.int64), np.array(counts, np.int64))


def places_of(cell: CellBase, arity: int | None, function: int) -> tuple[int, ...]:
    """Which of the maps of its arity are a function's own."""
    return tuple(own.position[function] for own in maps_of(cell, arity).values())


def maps_of(cell: CellBase, arity: int | None) -> dict[str, TypedLinear]:
    """The maps of the rows of an arity, by their whole names."""
    ending = f"_{cell.key(arity)}"
    return {name: own for name, own in cell.named_maps().items() if name.endswith(ending)}


def rows_of(schedule: Schedule, cell: CellBase) -> CellRows:
    """The rows of a cell, made once."""
    positions = [own.position for own in cell.named_maps().values()]
    known: list[tuple[list[dict[int, int]], CellRows]] = vars(schedule).setdefault("_cell_rows", [])
    for others, rows in known:
        if len(others) == len(positions) and all(map(operator.is_, others, positions)):
            return rows
    rows = upward_rows(schedule, cell) if isinstance(cell, CellContract) else downward_rows(schedule)
    known[:] = [(positions, rows), *known[: MOST_CELLS - 1]]
    return rows
