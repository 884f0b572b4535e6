"""Tables of a plan for a pass on a GPU: the rows of a matrix in tiles for products, in chunks for its gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.moving import PickledAsArrays
from dgltree.batching.run_lengths import ranges

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
