"""Where the gates of a pass lie: those of one matrix together, so that its weight gradient is one product."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
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
MIN_CHUNK_ROWS, MAX_CHUNKS = 1024, 64
"""Rows of a chunk at least, and full chunks of a map at most: each needs room for the gradient of a matrix."""


class Map(NamedTuple):
    """A map of the gates, as tables have it."""

    arity: int
    matrices: int
    rows: int
    """Rows with gates of this map."""


class MapChunks(NamedTuple):
    """Where the tables of :class:`Tiles` have those of one map."""

    first: int
    """Its first chunk."""
    stop: int
    """The first chunk of the next map."""
    matrix: int
    """Where ``firsts`` has its matrices."""
    slot: int
    """Where ``edges`` has its slots."""


@dataclass
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
        moved = map(function, (self.rows, self.tiles, self.chunks, self.firsts, self.edges))
        rows, tiles, chunks, firsts, edges = moved
        return Tiles(rows, tiles, self.steps, chunks, firsts, edges, self.maps)


def make_tiles(table: np.ndarray, steps: list[int], maps: list[Map]) -> Tiles:
    """Those of a table of runs, as :class:`dgltree.engine.kernels.layout.Layout` has it, on the CPU."""
    start, stop, slot, matrix, edge, key = table.T
    length, arity = stop - start, np.array([each.arity for each in maps])[key]

    run, place = _within(length, 1)
    rows = np.stack([slot[run] + place, matrix[run], edge[run] + place * arity[run]], 1)
    before = np.array([*accumulate((each.rows for each in maps), initial=0)])
    edges = np.empty(len(rows), np.int64)
    edges[before[key[run]] + rows[:, 0]] = rows[:, 2]

    run, place = _within(length, TILE_ROWS)
    count = np.minimum(length[run] - place, TILE_ROWS)
    tiles = np.stack([start[run] + place, count, slot[run] + place, matrix[run], edge[run] + place * arity[run]], 1)
    first = np.searchsorted(run, steps).tolist()

    chunks, firsts, found = list[np.ndarray](), list[int](), list[MapChunks]()
    for number, each in enumerate(maps):
        rows_of = np.bincount(matrix[key == number], length[key == number], each.matrices).astype(np.int64)
        size = max(MIN_CHUNK_ROWS, -(-each.rows // (MAX_CHUNKS * TILE_ROWS)) * TILE_ROWS)
        owner, place = _within(rows_of, size)
        slots = (rows_of.cumsum() - rows_of)[owner] + place  # those of one matrix lie one after another
        done = found[-1].stop if found else 0
        found.append(MapChunks(done, done + len(owner), len(firsts), int(before[number])))
        firsts += np.searchsorted(owner, np.arange(each.matrices + 1)).tolist()
        chunks.append(np.stack([slots, np.minimum(rows_of[owner] - place, size)], 1))
    arrays = (torch.from_numpy(array) for array in (rows, tiles, np.concatenate(chunks), np.array(firsts), edges))
    on_rows, on_tiles, on_chunks, on_firsts, on_edges = arrays
    return Tiles(on_rows, on_tiles, first, on_chunks, on_firsts, on_edges, found)


def _within(length: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of so many rows, or fewer at the end: which of some ranges each is of, and where in it it begins."""
    count = -(-length // size)
    return np.repeat(np.arange(len(length)), count), ranges(np.zeros_like(count), count) * size


START, STOP, SLOT, MATRIX, EDGE, KEY = range(COLUMNS := 6)
"""Columns of a table of runs."""
MAX_RUN_ROWS = 256
"""Rows of a run: between product and kernel its gates stay in a cache. The last bits of results depend on it."""
GROUP = 2048
"""Rows of a group, at least where a matrix has two: the gradients of its weights are computed by one thread."""
Key = int | None
"""What a map belongs to: an arity, or None if the rows of a step have several."""


@dataclass
class Layout(Movable):
    """The runs of a schedule's steps, how many rows of gates each map has, and which edges lead where."""

    leaf_step: bool
    """Whether the leaves are a step."""
    matrices: dict[Key, dict[int, int]]
    """Function to matrix, of each map."""
    rows: dict[Key, int]
    table: Tensor
    """(runs, 6) int64, on the CPU: rows of one step, matrix and part, at most ``MAX_RUN_ROWS``; step after step.
    The slot is their first place among the gates of the map, the edge the first that leads to them, the key the number
    of the map.
    """
    steps: list[int]
    """(steps + 1,), the first run of each step, and the number of all."""
    queue: Tensor
    """(runs, 6) int64, on the CPU: the same as they are computed, first those of no part, then part after part."""
    stages: list[int]
    """(steps + 1,), where in ``queue`` each step begins of the runs of no part, and where they end."""
    parts: list[int]
    """(parts + 1,), where in ``queue`` each part begins, and the number of all; empty if there are none."""
    groups: Tensor
    """(groups + 1,) int64, on the CPU: where in ``order`` the runs of each matrix begin, and the number of all; many
    rows are several groups."""
    addend: list[int]
    """(groups,), the number of each group among those of its matrix: the gradients of weights of groups with one number
    are added to different places."""
    order: Tensor
    """(runs,) int64, on the CPU: the runs by map, matrix and slot."""
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
    tiles: Tiles | None = field(default=None, kw_only=True)
    """What a pass on a GPU reads; see :meth:`with_tiles`."""

    @property
    def device(self) -> torch.device:
        return self.by_slot.device

    @cached_property
    def run_ends(self) -> list[int]:
        """(runs,), the rows of each run of the queue and of those before it."""
        return (self.queue[:, STOP] - self.queue[:, START]).cumsum(0).tolist()

    @cached_property
    def group_rows(self) -> list[int]:
        """(groups,), the rows of each."""
        length = (self.table[:, STOP] - self.table[:, START])[self.order]
        return [int(part.sum()) for part in length.split(self.groups.diff().tolist())]

    @cached_property
    def spans(self) -> dict[Key, Runs]:
        """Where the gates of each matrix are among those of its map."""
        ordered, found = self.table[self.order].numpy(), dict[Key, Runs]()
        length = ordered[:, STOP] - ordered[:, START]
        runs = run_lengths(ordered[:, KEY], ordered[:, MATRIX])
        keys = list(self.rows)
        for first, stop in runs:
            slot, rows = int(ordered[first, SLOT]), int(length[first:stop].sum())
            found.setdefault(keys[ordered[first, KEY]], []).append((int(ordered[first, MATRIX]), slot, slot + rows))
        return found

    def map(self, function: Callable[[Tensor], Tensor]) -> "Layout":
        """The same; what only a CPU reads stays there."""
        moved = map(function, (self.by_slot, self.first_edge, self.parents, self.pointer, self.edges))
        own = (self.leaf_step, self.matrices, self.rows, self.table, self.steps, self.queue, self.stages, self.parts)
        tiles = None if self.tiles is None else self.tiles.map(function)
        return Layout(*own, self.groups, self.addend, self.order, *moved, tiles=tiles)

    def with_tiles(self) -> Tiles:
        """The tables for a GPU: made once, when the batch is planned for one, or by the first pass there."""
        if self.tiles is None:
            maps = [Map(key or 0, max(self.matrices[key].values()) + 1, rows) for key, rows in self.rows.items()]
            made = make_tiles(self.table.numpy(), self.steps, maps)
            self.tiles = made.map(lambda tensor: tensor.to(self.device, non_blocking=True))
        return self.tiles

    def fits(self, cell: CellContract) -> bool:
        """Whether it is one of this cell, too."""
        maps = cell.named_maps()
        own = {key: maps.get(f"gates_{cell.key(key)}") for key in self.matrices}
        return self.leaf_step == (cell.leaf == "gates") and all(
            linear is not None and linear.position == self.matrices[key] for key, linear in own.items()
        )


class QueuePiece(NamedTuple):
    """Some runs that follow one another in a queue, with gates of their own."""

    layout: Layout
    places: dict[Key, Tensor]
    """(slots,) int64, of each map: where a slot of the piece is among those of the whole."""


def pieces_of(whole: Layout, rows: int) -> list[QueuePiece]:
    """The queue in pieces of so many rows, or little more: a pass then needs room for the gates of one at a time."""
    ends, bounds = whole.run_ends, [0]
    while bounds[-1] < len(ends):
        before = ends[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(min(bisect_left(ends, before + rows) + 1, len(ends)))
    return [_piece(whole, first, last) for first, last in pairwise(bounds)]


def _piece(whole: Layout, first: int, last: int) -> QueuePiece:
    runs, keys = whole.queue[first:last].numpy().copy(), list(whole.rows)
    order = np.lexsort((runs[:, START], runs[:, MATRIX], runs[:, KEY]))
    key, length, old = runs[order, KEY], (runs[:, STOP] - runs[:, START])[order], runs[order, SLOT]
    counts = np.bincount(key, length, len(keys)).astype(np.int64)
    runs[order, SLOT] = length.cumsum() - length - (counts.cumsum() - counts)[key]
    groups, addend = _groups(length, run_lengths(key, runs[order, MATRIX]))
    alone = min(max((whole.parts[0] if whole.parts else len(whole.queue)) - first, 0), last - first)
    parts = [alone, *(part - first for part in whole.parts if first + alone < part < last), last - first]
    table = torch.from_numpy(runs)
    places = torch.from_numpy(ranges(old, length)).split(counts.tolist())
    layout = replace(
        whole,
        rows=dict(zip(keys, counts.tolist(), strict=True)),
        table=table,
        queue=table,
        stages=list(range(alone + 1)),  # runs of steps that wait for each other, one after another
        parts=parts if alone < last - first else [],
        groups=torch.tensor(groups),
        addend=addend,
        order=torch.from_numpy(order),
    )
    return QueuePiece(layout, dict(zip(keys, places, strict=True)))


def gate_maps(cell: CellContract, schedule: Schedule) -> dict[Key, TypedLinear]:
    """The maps of the gates, of a schedule's steps."""
    maps, keys = cell.named_maps(), dict.fromkeys(step.arity for step in schedule.steps)
    return {key: maps[f"gates_{cell.key(key)}"] for key in keys}


def layout(schedule: Schedule, cell: CellContract) -> Layout:
    """Of a pass of a cell along a schedule that has steps."""
    leaf_step = cell.leaf == "gates"
    schedule = schedule.with_leaf_step() if leaf_step else schedule
    maps, parents = gate_maps(cell, schedule), _parents(schedule)
    first_edge = _starts(parents, len(schedule))
    runs, steps = _runs(schedule, maps)
    runs[:, EDGE] = first_edge[runs[:, START]]
    order = np.lexsort((runs[:, START], runs[:, MATRIX], runs[:, KEY]))
    key, length = runs[order, KEY], (runs[:, STOP] - runs[:, START])[order]
    rows, slot = np.bincount(key, length, len(maps)).astype(np.int64), length.cumsum() - length
    runs[order, SLOT] = slot - (rows.cumsum() - rows)[key]
    groups, addend = _groups(length, run_lengths(key, runs[order, MATRIX]))
    children, device = schedule.sources.cpu().numpy(), schedule.sources.device
    pointer, edges = _starts(children, len(schedule)), np.argsort(children, kind="stable")
    queue, stages, parts = _queue(runs, steps, schedule.part)
    by_slot = ranges(runs[order, START], length)
    there = [torch.from_numpy(array).to(device) for array in (by_slot, first_edge, parents, pointer, edges)]
    matrices = {key: linear.position for key, linear in maps.items()}
    counts = dict(zip(maps, rows.tolist(), strict=True))
    own = leaf_step, matrices, counts, torch.from_numpy(runs), steps, torch.from_numpy(queue), stages, parts
    return Layout(*own, torch.tensor(groups), addend, torch.from_numpy(order), *there)


def _groups(length: np.ndarray, matrices: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Where the groups begin, with the number of all runs, and the number of each among those of its matrix."""
    groups, addend = list[int](), list[int]()
    for first, stop in matrices:
        rows = length[first:stop].cumsum()
        count = max(1, int(rows[-1]) // GROUP)
        cuts = np.searchsorted(rows, [rows[-1] * k / count for k in range(count)], side="right")
        starts = sorted({int(cut) for cut in cuts if cut < stop - first})
        groups += [first + start for start in starts]
        addend += range(len(starts))
    return [*groups, len(length)], addend


def _runs(schedule: Schedule, maps: dict[Key, TypedLinear]) -> tuple[np.ndarray, list[int]]:
    """The table except for slots and edges, and the first run of each step."""
    numbers = {key: number for number, key in enumerate(maps)}
    cuts = [] if schedule.part is None else [start for start, _ in run_lengths(schedule.part)]
    runs, steps = [], [0]
    for step in schedule.steps:
        for matrix, lo, hi in maps[step.arity].runs(step.segments):
            first, last = step.start + lo, step.start + hi
            inside = cuts[bisect_right(cuts, first) : bisect_left(cuts, last)]
            for start, stop in pairwise([first, *inside, last]):
                for row in range(start, stop, MAX_RUN_ROWS):
                    runs.append((row, min(row + MAX_RUN_ROWS, stop), 0, matrix, 0, numbers[step.arity]))
        steps.append(len(runs))
    return np.array(runs, np.int64), steps


def _queue(runs: np.ndarray, steps: list[int], part: np.ndarray | None) -> tuple[np.ndarray, list[int], list[int]]:
    """The queue of a table, its stages and its parts.

    Runs are cut where parts meet and computed part after part, so that a thread has parts of its own; but rows keep the
    order of steps, by which dropout is drawn. The bits of results depend on where runs are cut, not on their order.
    """
    if part is None:
        return runs, steps, []
    part_of = part[runs[:, START]]
    order = np.argsort(part_of, kind="stable")
    stages = [int(np.count_nonzero(part_of[:first] == 0)) for first in steps]
    return runs[order], stages, [*(int((part_of < k).sum()) for k in range(1, part_of.max() + 1)), len(runs)]


def _parents(schedule: Schedule) -> np.ndarray:
    """(edges,) the row that each edge leads to."""
    starts = np.array([step.start for step in schedule.steps])
    edges = [step.edges.stop - step.edges.start for step in schedule.steps]
    return schedule.parent.cpu().numpy() + np.repeat(starts, edges)


def _starts(numbers: np.ndarray, count: int) -> np.ndarray:
    """(count + 1,) how many of some numbers are smaller than 0, 1, ..., count."""
    return np.concatenate([[0], np.bincount(numbers, minlength=count).cumsum()])
