"""Kernels compiled by Triton, for GPUs: what those of all families have in common.

Every row is a program of its own, and every step one launch. Gradients of children are added up in the order of the
edges to their parents, as in :mod:`dgltree.engine.kernels.numba_gradients`: no atomic additions, so always the same bits.
"""

from typing import Any, ClassVar

import torch
import triton
from torch import Tensor

from dgltree.engine.kernels.kernel import Gates, Kernel, KernelShape, Sent, States
from dgltree.engine.kernels.layout import START, STOP
from dgltree.engine.kernels.triton_parts import leaves


class TritonKernel(Kernel):
    """A subclass names its compiled functions of one row, and its options as they name them."""

    forward_row: ClassVar[Any]
    backward_row: ClassVar[Any]
    names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: tuple[int, ...], states: States, table: Tensor) -> None:
        self._options, self._states = dict(zip(self.names, options, strict=True)), states
        self._first, stop = int(table[0, START]), int(table[-1, STOP])
        on_device = table.to(states.h.device, non_blocking=True)
        counts = on_device[:, STOP] - on_device[:, START]
        self._runs = on_device.repeat_interleave(counts, 0, output_size=stop - self._first)
        self._depth, self._n = states.memory.shape[1:]

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
        arity, n, depth, width, dropped = shape
        where: dict[str, Any] = {"device": "cpu" if triton.knobs.runtime.interpret else "cuda", "dtype": dtype}
        children = torch.zeros(arity, dtype=torch.int64, device=where["device"])
        states = States(torch.zeros(2, n, **where), torch.zeros(2, depth, n, **where), 0, children)
        kernel = cls(options, states, torch.tensor([[1, 2, 0, 0, 0, 0]]))
        row, mask = torch.zeros(1, width, **where), torch.ones(int(dropped), n, **where)
        gates = Gates(row, row.clone(), mask, arity, 0)
        kernel.forward(1, 2, gates)
        if not backward:
            return True
        pointer, edges = torch.tensor([0, arity, arity], device=children.device), torch.arange(arity).to(children)
        edge_h, edge_gates = torch.zeros(2, arity, n, **where)
        given_h, given = torch.zeros(2, n, **where), torch.zeros(2, depth, n, **where)
        own = Sent(given_h, given, children + 1, edge_h, edge_gates, states.memory, pointer, edges)
        for some in (own, own._replace(memory=given[:0])):
            kernel.start_backward(some)
            kernel.backward(1, 2, gates)
            for leaf in (given[:1], given[:0]):
                kernel.leaves(given_h[:1].clone(), leaf.clone())
        return True

    def forward(self, start: int, stop: int, gates: Gates) -> None:
        h, memory, base, children = self._states
        self._launch(
            self.forward_row, stop - start, gates.arity,
            start, self._first, self._runs, gates.pre, gates.bias, gates.mask, children, memory, h, base,
            self._n, gates.pre.shape[1], gates.arity, self._depth, self._depth, self._depth,
            DROPPED=len(gates.mask) > 0, **self._options,
        )  # fmt: skip

    def start_backward(self, sent: Sent) -> None:
        self._sent = sent

    def backward(self, start: int, stop: int, gates: Gates) -> None:
        sent, (_, memory, base, children) = self._sent, self._states
        self._launch(
            self.backward_row, stop - start, gates.arity,
            start, self._first, self._runs, gates.pre, gates.mask, children, memory, sent.row_memory, sent.h,
            sent.memory, sent.pointer, sent.edges, sent.parents, sent.edge_gates, sent.edge_h, base,
            self._n, gates.pre.shape[1], gates.arity, self._depth, DROPPED=len(gates.mask) > 0,
            GIVEN=len(sent.memory) > 0, **self._options,
        )  # fmt: skip

    def leaves(self, d_h: Tensor, d_memory: Tensor) -> None:
        sent = self._sent
        self._launch(
            leaves, len(d_h), None,
            d_h, d_memory, sent.h, sent.memory, sent.pointer, sent.edges, sent.parents, sent.edge_gates, sent.edge_h,
            sent.row_memory, self._states.base, self._depth, self._n, MEMORY=len(d_memory) > 0,
            GIVEN=len(sent.memory) > 0,
        )  # fmt: skip

    def _launch(self, function: Any, rows: int, arity: int | None, *arguments: Any, **constants: Any) -> None:
        """A program for each row, with about 4 elements of all children for each of a GPU's threads."""
        columns = triton.next_power_of_2(self._n)
        children = triton.next_power_of_2(max(1, arity or 0))
        if arity is not None:
            constants["A"] = children
        warps = min(8, max(1, columns * children // 128))
        with torch.cuda.device_of(self._states.h):
            function[(rows,)](*arguments, **constants, B=columns, num_warps=warps)
