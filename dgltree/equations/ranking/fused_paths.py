"""The states along paths through a kernel: trees off the paths, fillers and some heights are places in one buffer."""

from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.cells.fused import Fused
from dgltree.cells.step import State
from dgltree.cells.typed import product
from dgltree.engine.kernels.kernel import Gates, Kernel, States
from dgltree.engine.kernels.layout import MatrixRun
from dgltree.engine.kernels.threads import CHUNK, Products, threads_of_torch
from dgltree.equations.ranking.path_states import ContextGroup, PathStates

Piece = tuple[int, int, int]
"""A context of a group, and the first and last of some fillers."""


class FusedPathStates(PathStates):
    """By a kernel. What is off the path is the bias of a context's gates, the same for all fillers.

    Args:
        cell: in evaluation mode, which says that it is covered.
        fused: what it says.
        kernel: the class of kernels.
        off_path: states of the trees off the paths, part name to (trees, *shape).
        fillers: states of the fillers, part name to (F, *shape).
        held: of how many heights states are held.
        widest: the most contexts of one height at a time.
    """

    def __init__(
        self, cell: Cell, fused: Fused, kernel: type[Kernel], off_path: State, fillers: State, held: int, widest: int
    ) -> None:
        self.cell, self.fused, self.kernel = cell, fused, kernel
        [(self._part, shape)] = [(part, shape) for part, shape in cell.state.items() if part != "h"]
        self._depth, n = prod(shape[:-1]), shape[-1]
        trees, self._fillers = len(off_path["h"]), len(fillers["h"])
        rows = trees + self._fillers * (1 + held * widest)
        like = fillers["h"]
        self._h, self._memory = like.new_empty(rows, n), like.new_empty(rows, self._depth, n)
        for start, states in ((0, off_path), (trees, fillers)):
            stop = start + len(states["h"])
            self._h[start:stop] = states["h"]
            self._memory[start:stop] = states[self._part].view(-1, self._depth, n)
        self._heights = [trees + self._fillers * (1 + k * widest) for k in range(held)]
        self._next, self._scratch = self._heights[0], like.new_empty(0)
        self._place: dict[int | None, int] = {None: trees}
        """Where the states of a context begin; None: those of the fillers."""

    def begin(self, height: int) -> None:
        self._next = self._heights[height % len(self._heights)]

    def step(self, group: ContextGroup) -> Tensor:
        first, width, start = group.contexts[0], self._fillers, self._next
        below = [self._place[context.below] for context in group.contexts]
        constant, weights = self._maps(group)
        pieces = [(i, k, min(k + CHUNK, width)) for i in range(len(below)) for k in range(0, width, CHUNK)]
        depth = self._reached(first.above + 1)
        kept = depth if depth == self._depth else depth - 1  # the last row lacks the one below it
        states = States(self._h, self._memory, 0, self._children(group, below))
        with threads_of_torch(self._h.device) as threads:
            together = list(_batches(pieces, threads * CHUNK))
            table = [run for batch in together for run in self._runs(batch, start, first.arity)]
            kernel, run = self.kernel(self.fused.options, states, torch.tensor(table)), 0
            for batch in together:
                pre = self._room(sum(hi - lo for _, lo, hi in batch), constant.shape[1])
                self._multiply(batch, below, weights, pre)
                gates = Gates(pre, constant, pre.new_empty(0, self._h.shape[1]), first.arity, run)
                kernel.forward(table[run][0], table[run + len(batch) - 1][1], gates, depth, kept)
                run += len(batch)
        self._place |= {number: start + i * width for i, number in enumerate(group.numbers)}
        self._next += len(below) * width
        return self._h[start : self._next].view(len(below), width, -1)

    def _children(self, group: ContextGroup, below: list[int]) -> Tensor:
        """(C * F * arity,) int64, the places of all children."""
        first, width = group.contexts[0], self._fillers
        children = torch.empty(len(below), width, first.arity, dtype=torch.int64)
        others = [k for k in range(first.arity) if k != first.slot]
        for k, index in zip(others, group.siblings, strict=True):
            children[:, :, k] = index.unsqueeze(1)
        children[:, :, first.slot] = torch.tensor(below).unsqueeze(1) + torch.arange(width)
        return children.flatten()

    def _maps(self, group: ContextGroup) -> tuple[Tensor, list[Tensor]]:
        """(C, widths), what is off the path of the pre-activations; and (n, widths) each, the map of what moves."""
        first, n, segments = group.contexts[0], self._h.shape[1], group.segments
        gate = self.cell.named_maps()[f"gates_{self.cell.key(first.arity)}"]
        off = [self._h.index_select(0, index) for index in group.siblings]
        i = torch.cat([*off[: first.slot], self._h.new_zeros(len(group.contexts), n), *off[first.slot :]], 1)
        own, runs = gate.weights(), gate.runs(segments)
        constant = product(i, own, runs)
        if group.x is not None:
            constant = constant + self.cell.linear_for(first.arity, segments)("input", group.x)
        weight = own.weight[:, :, first.slot * n : (first.slot + 1) * n].mT
        return constant, [weight[matrix] for matrix, start, stop in runs for _ in range(start, stop)]

    def _runs(self, batch: list[Piece], start: int, arity: int) -> list[MatrixRun]:
        """Their rows of the table, see :class:`dgltree.engine.kernels.layout.MatrixRun`."""
        runs, slot = [], 0
        for i, lo, hi in batch:
            first = i * self._fillers + lo
            runs.append(MatrixRun(start + first, start + first + hi - lo, slot, i, first * arity, key=0))
            slot += hi - lo
        return runs

    def _multiply(self, batch: list[Piece], below: list[int], weights: list[Tensor], pre: Tensor) -> None:
        products, slot = Products(), 0
        for i, lo, hi in batch:
            products.add(self._h[below[i] + lo : below[i] + hi], weights[i], pre[slot : slot + hi - lo])
            slot += hi - lo
        products.run()

    def _room(self, rows: int, width: int) -> Tensor:
        """(rows, width), the same memory again and again: it stays in the caches."""
        if self._scratch.numel() < rows * width:
            self._scratch = self._h.new_empty(rows * width)
        return self._scratch[: rows * width].view(rows, width)

    def _reached(self, steps: int) -> int:
        """The rows of memory that a root so many cells further up can depend on."""
        shape = self.cell.state[self._part]
        if len(shape) == 1:
            return 1
        reached = self.cell.reachable({"h": self._h[:0], self._part: self._memory[:0].view(-1, *shape)}, steps)
        return reached[self._part].shape[-2]


def _batches(pieces: list[Piece], rows: int) -> Iterator[list[Piece]]:
    """Pieces one after another, of at most so many rows together."""
    batch: list[Piece] = []
    count = 0
    for piece in pieces:
        if batch and count + piece[2] - piece[1] > rows:
            yield batch
            batch, count = [], 0
        batch.append(piece)
        count += piece[2] - piece[1]
    yield batch
