"""Where the gates of a pass lie: those of one matrix together, so that its weight gradient is one product."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.moving import Movable, PickledAsArrays
from dgltree.batching.run_lengths import ranges, run_lengths
from dgltree.engine.contract import CellContract
from dgltree.engine.schedule import Schedule
from dgltree.engine.typed_linear import Runs, TypedLinear
from dgltree.support.lazy import cached_property

# ---------------------------------------------------------------------------------------------------------------------
# Tables of a plan for a pass on a GPU: the rows of a matrix in tiles for products, in chunks for its gradient.


TILE_ROWS = 16
"""Rows of a tile: what tensor cores multiply at least, and few enough that small runs do not leave most of it empty."""
MIN_CHUNK_ROWS = 1024
"""Rows of a chunk, at least."""
MAX_CHUNKS = 64
"""Full chunks of a map, at most: each needs room for the gradient of a matrix."""


class Map(NamedTuple):
    """A map of the gates, as tables have it."""

    arity: int
    matrices: int
    rows: int
    """Rows with gates of this map."""


class MapChunks(NamedTuple):
    """Where the tables of :class:`Tiles` have those of one map."""

    first: int
    """The map's first chunk."""
    stop: int
    """The first chunk of the next map."""
    matrix: int
    """Where ``firsts`` has its matrices."""
    slot: int
    """Where ``edges`` has its slots."""


@dataclass(kw_only=True)
class Tiles(PickledAsArrays):
    """The tables of a layout."""

    rows: Tensor
    """(R - base, 3) int64: the slot, the matrix and the first edge of each row that has gates."""
    tiles: Tensor
    """(tiles, 5) int64: the first row, how many there are, the first row's slot, their matrix, the first edge."""
    steps: list[int]
    """(steps + 1,), the first tile of each step, and the number of all."""
    chunks: Tensor
    """(chunks, 2) int64, map after map, matrix after matrix: the first slot, and how many there are."""
    firsts: Tensor
    """(sum of matrices + 1 of each map,) int64: the first chunk of each matrix, counted from the map's first, and
    their number."""
    edges: Tensor
    """(rows,) int64, map after map: the first edge of the row with each slot."""
    maps: list[MapChunks]

    def map(self, function: Callable[[Tensor], Tensor]) -> "Tiles":
        return replace(
            self,
            rows=function(self.rows),
            tiles=function(self.tiles),
            chunks=function(self.chunks),
            firsts=function(self.firsts),
            edges=function(self.edges),
        )


def make_tiles(table: np.ndarray, steps: list[int], maps: list[Map]) -> Tiles:
    """The tiles of a table of runs, as :class:`dgltree.engine.kernels.layout.Layout` has it, on the CPU."""
    start, stop, slot, matrix, edge, key = table.T
    length = stop - start
    arity = np.array([each.arity for each in maps])[key]

    run, place = _within(length, 1)
    rows = np.stack([slot[run] + place, matrix[run], edge[run] + place * arity[run]], 1)
    before = np.array([*accumulate((each.rows for each in maps), initial=0)])  # the slots of the maps before each
    edges = np.empty(len(rows), np.int64)
    edges[before[key[run]] + rows[:, 0]] = rows[:, 2]

    run, place = _within(length, TILE_ROWS)
    count = np.minimum(length[run] - place, TILE_ROWS)
    tiles = np.stack([start[run] + place, count, slot[run] + place, matrix[run], edge[run] + place * arity[run]], 1)
    first = np.searchsorted(run, steps).tolist()

    chunks: list[np.ndarray] = []
    firsts: list[int] = []
    map_chunks: list[MapChunks] = []
    stop_of_last = 0
    for number, each in enumerate(maps):
        is_own = key == number
        rows_of = np.bincount(matrix[is_own], length[is_own], each.matrices).astype(np.int64)
        tiles_of_chunk = -(-each.rows // (MAX_CHUNKS * TILE_ROWS))
        size = max(MIN_CHUNK_ROWS, tiles_of_chunk * TILE_ROWS)
        owner, place = _within(rows_of, size)
        slots = (rows_of.cumsum() - rows_of)[owner] + place  # those of one matrix lie one after another
        first_of_map = stop_of_last
        stop_of_last += len(owner)
        map_chunks.append(MapChunks(first_of_map, stop_of_last, len(firsts), int(before[number])))
        firsts += np.searchsorted(owner, np.arange(each.matrices + 1)).tolist()
        chunks.append(np.stack([slots, np.minimum(rows_of[owner] - place, size)], 1))
    return Tiles(
        rows=torch.from_numpy(rows),
        tiles=torch.from_numpy(tiles),
        steps=first,
        chunks=torch.from_numpy(np.concatenate(chunks)),
        firsts=torch.from_numpy(np.array(firsts)),
        edges=torch.from_numpy(edges),
        maps=map_chunks,
    )


def _within(length: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of so many rows, or fewer at the end: which of some ranges each is of, and where in it it begins."""
    count = -(-length // size)
    return np.repeat(np.arange(len(length)), count), ranges(np.zeros_like(count), count) * size


START, STOP, SLOT, MATRIX, EDGE, KEY = range(COLUMNS := 6)
"""Columns of a table of runs."""


@dataclass(kw_only=True)
class Layout(Movable):
    """The runs of a schedule's steps, how many rows of gates each map has, and which edges lead where."""

    leaf_step: bool
    """Whether the leaves are a step."""
    matrices: dict[int, dict[int, int]]
    """Arity to the matrix of each function."""
    rows: dict[int, int]
    """Arity to the number of rows that have gates."""
    table: Tensor
    """(runs, 6) int64, on the CPU: rows of one step and matrix, step after step. The slot is their first place among
    the gates of the map, the edge the first that leads to them, the key the number of the map.
    """
    steps: list[int]
    """(steps + 1,), the first run of each step, and the number of all."""
    by_slot: Tensor
    """(rows,) int64: the rows that have gates, by map and slot."""
    first_edge: Tensor
    """(R + 1,) int64: the first edge that leads to each row, and the number of all."""
    parents: Tensor
    """(edges,) int64: the row that each edge leads to."""
    pointer: Tensor
    """(R + 1,) int64: where in ``edges`` each row's edges to its parents begin."""
    edges: Tensor
    """(edges,) int64, sorted by child and number."""
    tiles: Tiles | None = None
    """What a pass on a GPU reads; see :meth:`with_tiles`."""

    @property
    def device(self) -> torch.device:
        return self.by_slot.device

    @cached_property
    def spans(self) -> dict[int, Runs]:
        """Where the gates of each matrix are among those of its map."""
        table = self.table.numpy()
        table = table[_by_matrix(table)]
        length = table[:, STOP] - table[:, START]
        keys = list(self.rows)
        spans: dict[int, Runs] = {}
        for first, stop in run_lengths(table[:, KEY], table[:, MATRIX]):
            slot = int(table[first, SLOT])
            span = (int(table[first, MATRIX]), slot, slot + int(length[first:stop].sum()))
            spans.setdefault(keys[table[first, KEY]], []).append(span)
        return spans

    def map(self, function: Callable[[Tensor], Tensor]) -> "Layout":
        """This layout with other index tensors; what only a CPU reads stays there."""
        return replace(
            self,
            by_slot=function(self.by_slot),
            first_edge=function(self.first_edge),
            parents=function(self.parents),
            pointer=function(self.pointer),
            edges=function(self.edges),
            tiles=None if self.tiles is None else self.tiles.map(function),
        )

    def with_tiles(self) -> Tiles:
        """The tables for a GPU: made once, when the batch is planned for one, or by the first pass there."""
        if self.tiles is None:
            maps = [Map(key, max(self.matrices[key].values()) + 1, rows) for key, rows in self.rows.items()]
            made = make_tiles(self.table.numpy(), self.steps, maps)
            self.tiles = made.map(lambda tensor: tensor.to(self.device, non_blocking=True))
        return self.tiles

    def fits(self, cell: CellContract) -> bool:
        """Whether it is one of this cell, too."""
        if self.leaf_step != (cell.leaf == "gates"):
            return False
        maps = cell.named_maps()
        for key, matrices in self.matrices.items():
            linear = maps.get(f"gates_{cell.key(key)}")
            if linear is None or linear.position != matrices:
                return False
        return True


def gate_maps(cell: CellContract, schedule: Schedule) -> dict[int, TypedLinear]:
    """The maps of the gates, of a schedule's steps, by arity."""
    maps = cell.named_maps()
    arities = dict.fromkeys(step.arity for step in schedule.steps)
    return {arity: maps[f"gates_{cell.key(arity)}"] for arity in arities if arity is not None}


def layout(schedule: Schedule, cell: CellContract) -> Layout:
    """Where the gates of a pass of a cell lie, along a schedule that has steps."""
    leaf_step = cell.leaf == "gates"
    if leaf_step:
        schedule = schedule.with_leaf_step()
    maps = gate_maps(cell, schedule)
    parents = _parents(schedule)
    first_edge = _starts(parents, len(schedule))
    runs, steps = _runs(schedule, maps)
    runs[:, EDGE] = first_edge[runs[:, START]]

    # By map and matrix, a run's gates begin where those of the runs before it end.
    order = _by_matrix(runs)
    key = runs[order, KEY]
    length = runs[order, STOP] - runs[order, START]
    rows = np.bincount(key, length, len(maps)).astype(np.int64)
    rows_before = rows.cumsum() - rows
    runs[order, SLOT] = length.cumsum() - length - rows_before[key]

    children = schedule.sources.cpu().numpy()
    device = schedule.sources.device
    return Layout(
        leaf_step=leaf_step,
        matrices={key: linear.position for key, linear in maps.items()},
        rows=dict(zip(maps, rows.tolist(), strict=True)),
        table=torch.from_numpy(runs),
        steps=steps,
        by_slot=torch.from_numpy(ranges(runs[order, START], length)).to(device),
        first_edge=torch.from_numpy(first_edge).to(device),
        parents=torch.from_numpy(parents).to(device),
        pointer=torch.from_numpy(_starts(children, len(schedule))).to(device),
        edges=torch.from_numpy(np.argsort(children, kind="stable")).to(device),
    )


def _by_matrix(runs: np.ndarray) -> np.ndarray:
    """(runs,), the order of runs by map, matrix and row."""
    return np.lexsort((runs[:, START], runs[:, MATRIX], runs[:, KEY]))


def _runs(schedule: Schedule, maps: dict[int, TypedLinear]) -> tuple[np.ndarray, list[int]]:
    """The table except for slots and edges, and the first run of each step."""
    numbers = {key: number for number, key in enumerate(maps)}
    runs = []
    steps = [0]
    for step in schedule.steps:
        assert step.arity is not None
        for matrix, low, high in maps[step.arity].runs(step.segments):
            runs.append((step.start + low, step.start + high, 0, matrix, 0, numbers[step.arity]))
        steps.append(len(runs))
    return np.array(runs, np.int64), steps


def _parents(schedule: Schedule) -> np.ndarray:
    """(edges,) the row that each edge leads to."""
    starts = np.array([step.start for step in schedule.steps])
    edges = [step.edges.stop - step.edges.start for step in schedule.steps]
    return schedule.parent.cpu().numpy() + np.repeat(starts, edges)


def _starts(numbers: np.ndarray, count: int) -> np.ndarray:
    """(count + 1,) how many of some numbers are smaller than 0, 1, ..., count."""
    return np.concatenate([[0], np.bincount(numbers, minlength=count).cumsum()])
