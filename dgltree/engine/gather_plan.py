"""Which rows each block of a pass reads from earlier blocks, arranged so that gradients take linear time.

A pass computes its rows block after block: first the leaves, then level after level (or frontier after frontier). The
edges that lead to a block read rows of blocks before it. The obvious way to collect them, one ``index_select`` of all
states so far for each block, has a backward pass that fills a tensor of the size of *all states so far* for each
block: quadratic time on a chain. Here a block is gathered **once, for all of its readers together**::

    block b, rows      0 1 2 3 4 5
    sent               2 4 | 0 1 | 4        one gather; its backward adds into one tensor of the size of the block
    pieces             p0    p1    p2       views: what reader r_0 reads of b, what r_1 reads, ...

    reader r           p0 of b, p3 of b', p1 of b''     joined, then put into the order of its edges

Every edge has exactly one row in exactly one piece. So all gathers of a pass together copy each edge's row twice, and
so does the backward pass: O(E) time and memory, whatever the number of blocks. Autograd finds that by itself.

The level engine (``executor.py``) and the runner of message functions (``runner.py``) both use this plan.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.moving import Movable
from dgltree.batching.run_lengths import run_lengths


class BlockPiece(NamedTuple):
    """What one block reads of another."""

    block: int
    number: int
    """The index of the piece among those of that block."""


@dataclass
class BlockReads:
    """What one block reads, and what others read of it. It has numbers alone: the tensors are the plan's."""

    edges: slice
    """The edges that lead to it, among those of the plan."""
    pieces: list[BlockPiece]
    """What it reads, by ascending block."""
    in_order: bool
    """Whether its pieces, joined, already are in the order of its edges."""
    sent: slice
    """The rows that others read of it, among ``sent`` of the plan."""
    readers: list[int]
    """The blocks that read it, ascending: piece k is for ``readers[k]``."""
    sizes: list[int]
    """How many rows each of those pieces has."""
    whole: bool
    """Whether the rows that others read are its first rows as they are, so that nothing has to be gathered."""

    @property
    def width(self) -> int:
        """The number of edges that lead to it."""
        return self.edges.stop - self.edges.start


@dataclass(frozen=True)
class GatherPlan(Movable):
    """The gathers of a pass. Made by :func:`gather_plan`."""

    blocks: list[BlockReads]
    sent: Tensor
    """(E,) int64: block after block the rows that others read, counted from its first, sorted by reader."""
    place: Tensor
    """(E,) int64: for each edge, where its row lies among the joined pieces of the block that it leads to."""

    @property
    def device(self) -> torch.device:
        return self.sent.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "GatherPlan":
        return replace(self, sent=function(self.sent), place=function(self.place))

    def split(self, number: int, rows: Tensor, first: int = 0, last: int | None = None) -> Sequence[Tensor]:
        """The pieces ``first:last`` of a block, from its rows (rows, *shape): one gather for all of them."""
        block = self.blocks[number]
        sizes = block.sizes[first:last]
        start = sum(block.sizes[:first])
        stop = start + sum(sizes)
        if not block.whole:
            rows = rows.index_select(0, self.sent[block.sent][start:stop])
            return rows.split(sizes) if len(sizes) > 1 else [rows]
        if len(sizes) == 1 and sizes[0] == len(rows):
            return [rows]
        # One split of all rows, since the gradient of a slice is a tensor of zeros for each slice.
        return rows.split([start, *sizes, len(rows) - stop])[1:-1]

    def join(self, number: int, pieces: Sequence[Tensor]) -> Tensor:
        """(edges, *shape), the rows that a block reads in the order of its edges, from its pieces."""
        block = self.blocks[number]
        rows = pieces[0] if len(pieces) == 1 else torch.cat(list(pieces))
        return rows if block.in_order else rows.index_select(0, self.place[block.edges])


def gather_plan(blocks: int, source: np.ndarray, row: np.ndarray, reader: np.ndarray) -> GatherPlan:
    """The plan for edges that are sorted by the block that they lead to.

    Args:
        blocks: how many there are.
        source: (E,) the block that each edge reads.
        row: (E,) which row of that block, counted from its first.
        reader: (E,) ascending, the block that each edge leads to.
    """
    # Within a piece rows ascend. So the pieces of a block are often the block as it is, and need no gather.
    sending = np.lexsort((row, reader, source))
    arriving = np.lexsort((row, source, reader))
    edge_bounds = np.searchsorted(reader, np.arange(blocks + 1))
    place = np.empty(len(source), np.int64)
    place[arriving] = np.arange(len(source))
    place -= edge_bounds[reader]
    sent = row[sending]
    source = source[sending]
    reader = reader[sending]
    sent_bounds = np.searchsorted(source, np.arange(blocks + 1))
    reads = []
    for number in range(blocks):
        edges = slice(int(edge_bounds[number]), int(edge_bounds[number + 1]))
        sent_of_block = slice(int(sent_bounds[number]), int(sent_bounds[number + 1]))
        reads.append(
            BlockReads(
                edges=edges,
                pieces=[],
                in_order=_counts_up(place[edges]),
                sent=sent_of_block,
                readers=[],
                sizes=[],
                whole=_counts_up(sent[sent_of_block]),
            )
        )
    for start, stop in run_lengths(source, reader):
        block = int(source[start])
        reading = int(reader[start])
        reads[reading].pieces.append(BlockPiece(block, len(reads[block].sizes)))
        reads[block].readers.append(reading)
        reads[block].sizes.append(stop - start)
    return GatherPlan(reads, torch.from_numpy(sent), torch.from_numpy(place))


def _counts_up(numbers: np.ndarray) -> bool:
    """Whether they are 0, 1, 2, ..."""
    return bool((numbers == np.arange(len(numbers))).all())
