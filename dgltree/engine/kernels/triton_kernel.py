"""Kernels compiled by Triton, for GPUs: a step is two launches each way, one for products and one for rows.

In the kernels of rows every row is a program of its own. Gradients of children are added up in the order of the edges
to their parents, as in :mod:`dgltree.engine.kernels.numba_compile`, without atomic additions: always the same bits.
"""

from typing import Any, ClassVar

import torch
import triton
from torch import Tensor

from dgltree.engine.kernels.kernel import Gates, KernelShape, Sent, States
from dgltree.engine.kernels.layout import TILE_ROWS, MapChunks, Tiles
from dgltree.engine.kernels.triton_launch import Launch
from dgltree.engine.kernels.triton_parts import leaves
from dgltree.engine.kernels.triton_products import add_up, products, sends, sums

INPUTS = 16
"""Inputs of a product that are read at a time: 32 would take all 255 registers of a thread on an H100, and 64 spill."""
MAX_COLUMNS = 64
"""Columns that a program of a product computes."""
ADDED = 1024
"""Numbers that a program adds up."""
WARPS = 4
"""Warps of a program of a product."""


class TritonKernel:
    """The kernels of a pass. A subclass names its compiled functions of one row, and its options as they name them.

    Args:
        options: what the cell says of its options, see :class:`dgltree.engine.contract.Fused`.
        states: where it reads and writes.
        tiles: where the gates lie.
        mask: (rows with gates, n), what dropout multiplies u by; (0, n) without dropout.
        keep: whether all gates have a place, instead of those of one step.
        precision: of products, see :func:`dgltree.engine.kernels.fused_pass.product_precision`.
    """

    forward_row: ClassVar[Any]
    backward_row: ClassVar[Any]
    names: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, options: tuple[int, ...], states: States, tiles: Tiles, mask: Tensor, keep: bool, precision: str
    ) -> None:
        self._options, self._states = dict(zip(self.names, options, strict=True)), states
        self._tiles, self._mask, self._keep, self._precision = tiles, mask, keep, precision
        self._depth, self._n = states.memory.shape[1:]
        self._columns = min(MAX_COLUMNS, max(TILE_ROWS, triton.next_power_of_2(self._n)))
        self._forward, self._backward = dict[int, tuple[Launch, Launch, int]](), dict[int, tuple[Launch, Launch, int]]()

    @classmethod
    def compile(
        cls, options: tuple[int, ...], dtype: torch.dtype, backward: bool, compile_it: bool, shape: KernelShape
    ) -> bool:
        """Whether rows of this shape can be computed, which compiles: one is, whose children are one leaf.

        So no pass begins that cannot end. Triton does not say what it has on disk, so without ``compile_it`` the answer
        is no.
        """
        if not compile_it:
            return False
        arity, n, depth, width, dropped, precision = shape
        where: dict[str, Any] = {"device": "cpu" if triton.knobs.runtime.interpret else "cuda", "dtype": dtype}
        zero = torch.zeros(1, dtype=torch.int64, device=where["device"])
        children, one = zero.repeat(arity), zero + 1
        states = States(torch.zeros(2, n, **where), torch.zeros(2, depth, n, **where), 0, children)
        chunks = MapChunks(first=0, stop=1, matrix=0, slot=0)
        tiles = Tiles(
            rows=zero.repeat(6),
            tiles=torch.cat([one, one, zero, zero, zero]),
            steps=[0, 1],
            chunks=torch.cat([zero, one]),
            firsts=torch.cat([zero, one]),
            edges=zero,
            maps=[chunks],
        )
        kernel = cls(options, states, tiles, torch.ones(2 * dropped, n, **where), True, precision)
        row = torch.zeros(1, width, **where)
        gates = Gates(row, torch.zeros(1, width, arity * n, **where), row.clone(), arity, False)
        kernel.forward(1, 2, 0, 1, gates)
        if not backward:
            return True
        pointer, edges = torch.tensor([0, arity, arity], device=zero.device), torch.arange(arity).to(zero.device)
        edge_h, edge_gates = torch.zeros(2, arity, n, **where)
        given_h, given = torch.zeros(2, n, **where), torch.zeros(2, depth, n, **where)
        own = Sent(given_h, given, children + 1, edge_h, edge_gates, states.memory, pointer, edges)
        for some in (own, own._replace(memory=given[:0])):
            kernel.start_backward(some)
            kernel.backward(1, 2, 0, 1, gates)
            for leaf in (given[:1], given[:0]):
                kernel.leaves(given_h[:1].clone(), leaf.clone())
        kernel.gradients(chunks, gates)
        return True

    def forward(self, start: int, stop: int, first: int, last: int, gates: Gates) -> None:
        """The memory and h of rows ``start:stop``, of which these are the tiles ``first:last``."""
        if gates.arity not in self._forward:
            self._forward[gates.arity] = self._start_forward(gates)
        multiply, compute_rows, blocks = self._forward[gates.arity]
        if gates.arity:
            multiply((last - first, blocks, 1), first, start)
        compute_rows((stop - start, 1, 1), start)

    def start_backward(self, sent: Sent) -> None:
        """A backward pass begins, from the last step to the first."""
        self._sent = sent
        self._backward.clear()

    def backward(self, start: int, stop: int, first: int, last: int, gates: Gates) -> None:
        """The gradients of the pre-activations of rows ``start:stop``, whose parents are done, and what they send."""
        if gates.arity not in self._backward:
            self._backward[gates.arity] = self._start_rows_back(gates)
        compute_rows, send, blocks = self._backward[gates.arity]
        compute_rows((stop - start, 1, 1), start)
        if gates.arity:
            send((last - first, blocks, 1), first)

    def leaves(self, d_h: Tensor, d_memory: Tensor) -> None:
        """The gradients of the leaves, (leaves, n) and (leaves, depth, n), or (0, depth, n) if there is none."""
        sent = self._sent
        arguments = (
            d_h, d_memory, sent.h, sent.memory, sent.pointer, sent.edges, sent.parents, sent.edge_gates, sent.edge_h,
            sent.row_memory, self._states.base, self._depth, self._n,
        )  # fmt: skip
        constants = {"MEMORY": len(d_memory) > 0, "GIVEN": len(sent.memory) > 0}
        self._rows(leaves, arguments, constants, None)((len(d_h), 1, 1))

    def gradients(self, chunks: MapChunks, gates: Gates) -> tuple[Tensor, Tensor]:
        """The gradients of a map's weight and bias, when all steps are done: sums of chunks of rows, added in order."""
        tiles, (h, _, _, children) = self._tiles, self._states
        (matrices, width, inputs), side = gates.weight.shape, self._columns
        count = chunks.stop - chunks.first
        partial = h.new_empty(count, width, inputs), h.new_empty(count, width)
        summed = torch.empty_like(gates.weight), torch.empty_like(gates.bias)
        arguments = tiles.chunks, tiles.edges, gates.pre, h, children, *partial, self._n, gates.arity, width
        sum_chunks = self._products(sums, arguments, PRECISION=self._precision, T=TILE_ROWS, B=side)
        blocks = triton.cdiv(width, side), max(1, triton.cdiv(inputs, side))
        sum_chunks((count, *blocks), chunks.first, chunks.slot)
        added = tiles.firsts, *partial, *summed, width * inputs, width
        blocks_added = triton.cdiv(width * (inputs + 1), ADDED)
        self._products(add_up, added, B=ADDED)((matrices, blocks_added, 1), chunks.matrix)
        return summed

    def _start_forward(self, gates: Gates) -> tuple[Launch, Launch, int]:
        """The launches of all steps of an arity: products, rows, and in how many columns of programs."""
        h, memory, base, children = self._states
        width, tiles, keep = gates.pre.shape[1], self._tiles, int(self._keep)
        multiply = self._products(
            products,
            (tiles.tiles, h, gates.pre, gates.weight, children, self._n, gates.arity, width, keep, int(gates.read)),
            PRECISION=self._precision, T=TILE_ROWS, B=self._columns, K=INPUTS,
        )  # fmt: skip
        arguments = (
            tiles.rows, gates.pre, gates.bias, self._mask, children, memory, h, base, keep, self._n, width, gates.arity,
            self._depth,
        )  # fmt: skip
        constants = {**self._options, "DROPPED": len(self._mask) > 0}
        rows = self._rows(self.forward_row, arguments, constants, gates.arity)
        return multiply, rows, triton.cdiv(width, self._columns)

    def _start_rows_back(self, gates: Gates) -> tuple[Launch, Launch, int]:
        """What the backward pass launches at a step: rows, products."""
        sent, (_, memory, base, children), tiles = self._sent, self._states, self._tiles
        width = gates.pre.shape[1]
        arguments = (
            tiles.rows, gates.pre, self._mask, children, memory, sent.row_memory, sent.h, sent.memory, sent.pointer,
            sent.edges, sent.parents, sent.edge_gates, sent.edge_h, base, self._n, width, gates.arity, self._depth,
        )  # fmt: skip
        constants = {**self._options, "DROPPED": len(self._mask) > 0, "GIVEN": len(sent.memory) > 0}
        rows = self._rows(self.backward_row, arguments, constants, gates.arity)
        send = self._products(
            sends, (tiles.tiles, gates.pre, gates.weight, sent.edge_h, self._n, gates.arity, width),
            PRECISION=self._precision, T=TILE_ROWS, B=self._columns, K=INPUTS,
        )  # fmt: skip
        return rows, send, triton.cdiv(gates.arity * self._n, self._columns)

    def _rows(
        self, function: Any, arguments: tuple[Tensor | int, ...], constants: dict[str, Any], arity: int | None
    ) -> Launch:
        """A program for each row, with about 4 elements of all children for each of a GPU's threads."""
        columns = triton.next_power_of_2(self._n)
        children = triton.next_power_of_2(max(1, arity or 0))
        if arity is not None:
            constants["A"] = children
        return Launch(function, arguments, {**constants, "B": columns}, min(8, max(1, columns * children // 128)))

    def _products(self, function: Any, arguments: tuple[Tensor | int, ...], **constants: Any) -> Launch:
        return Launch(function, arguments, constants, WARPS)
