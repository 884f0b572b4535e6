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
        self.kinds = kinds
        self.slot = slot
        self.degrees = np.unique(degree[schedule.leaves :]).tolist()
        """The numbers of edges that lead to rows which are computed."""
        super().__init__(
            frontier=frontier,
            bunch=bunch,
            degree=degree,
            source=schedule.sources_on_cpu[edges],
            nodes=torch.arange(len(schedule)),
            edges=torch.from_numpy(edges),
            # Rows of one step and function are in the order of their trees, and so are parts: mostly nothing is moved.
            places=schedule.node.numpy(),
            part_first=False,
        )
        self.is_in_order = bool((self.nodes.diff() > 0).all())
        """Whether they are as in the schedule."""
        self.runs = ProgramRuns.of(self, kind[self.nodes.numpy()[self.bunches.low]])
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
    frontier = np.zeros(len(schedule), np.int64)
    kind = np.full(len(schedule), -1)
    starts = [start for _, start, _ in schedule.leaf_segments]
    for number, step in enumerate(schedule.steps, 1):
        frontier[step.start : step.stop] = number
        for function, start, stop in step.segments:
            starts.append(step.start + start)
            matrices = tuple(linear.position[function] for linear in maps_of(cell, step.arity).values())
            key = step.arity, matrices
            if key not in numbers:
                numbers[key] = len(numbers)
                kinds.append(RowKind(step.arity, function))
            kind[step.start + start : step.start + stop] = numbers[key]
    degree = np.bincount(_receivers(schedule), minlength=len(schedule))
    bunch = np.zeros(len(schedule), np.int64)
    bunch[starts] = 1
    edges = np.arange(len(schedule.sources))
    return CellRows(schedule, frontier, bunch.cumsum(), kind, kinds, degree, edges)


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
    frontier = np.zeros(len(schedule), np.int64)
    of_edge = np.zeros(len(edge), np.int64)
    for number, step in enumerate(schedule.steps, 1):
        frontier[step.start : step.stop] = number
        for matrix, start, stop in step.edge_segments:
            first = step.edges.start
            of_edge[first + start : first + stop] = numbers.setdefault(matrix, len(numbers))
    kind = np.full(len(schedule), -1)
    kind[receivers] = of_edge
    assert schedule.slot is not None
    slot = torch.full((len(schedule),), -1).index_copy(0, torch.from_numpy(receivers), schedule.slot)
    kinds = [RowKind(None, matrix) for matrix in numbers]
    return CellRows(schedule, frontier, kind, kind, kinds, degree, edge, slot)


def _receivers(schedule: Schedule) -> Numbers:
    """(E,), the row that each edge of a schedule leads to."""
    starts = np.array([step.start for step in schedule.steps], np.int64)
    counts = np.array([step.edges.stop - step.edges.start for step in schedule.steps], np.int64)
    return schedule.parent.numpy() + np.repeat(starts, counts)


def maps_of(cell: CellBase, arity: int | None) -> dict[str, TypedLinear]:
    """The maps of the rows of an arity, by their whole names."""
    ending = f"_{cell.key(arity)}"
    return {name: linear for name, linear in cell.named_maps().items() if name.endswith(ending)}


def rows_of(schedule: Schedule, cell: CellBase) -> CellRows:
    """The rows of a cell, made once."""
    positions = [linear.position for linear in cell.named_maps().values()]
    known: list[tuple[list[dict[int, int]], CellRows]] = vars(schedule).setdefault("_cell_rows", [])
    for others, rows in known:
        if len(others) == len(positions) and all(map(operator.is_, others, positions)):
            return rows
    rows = upward_rows(schedule, cell) if isinstance(cell, CellContract) else downward_rows(schedule)
    known[:] = [(positions, rows), *known[: MOST_CELLS - 1]]
    return rows
