"""Numba: the step of the child-sum Tree-LSTM. A row of gates is ``[u; in; o]``; the gates f lie by edges.

Where x adds to the gates, a row ends with what it adds to all f of the row's messages.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.engine.kernels.compiled import activate, compiled, sigmoid
from dgltree.engine.kernels.kernel import Sent, States, SumGates
from dgltree.engine.kernels.layout import MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.memory_cell import add, begin, end, undo, undo_add
from dgltree.engine.kernels.numba_kernel import Arguments, Nothing, NumbaStates, is_compiled
from dgltree.engine.kernels.pulling import pull_h, pull_memory
from dgltree.engine.kernels.threads import over_rows


@compiled
def add_up(lo, hi, pointer, first, children, h, total):
    """Into total (rows, n): the sum of the children's h of rows ``lo:hi``, of which ``first`` is its row 0."""
    n = h.shape[1]
    for row in range(lo, hi):
        into = total[row - first]
        into[:] = 0
        for edge in range(pointer[row], pointer[row + 1]):
            child = h[children[edge]]
            for j in range(n):
                into[j] += child[j]


@compiled
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, pointer, f, f_bias):
    """New states of rows ``lo:hi`` from pre-activations, which become gates: (slots, 3 n), and f (edges, n)."""
    n, first, unmasked = h.shape[1], table[run, START], mask[:0].reshape(-1)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        a, b = gates[table[run, SLOT] + row - table[run, START]], f_bias[table[run, MATRIX]]
        activate(a[: 3 * n], bias[table[run, MATRIX]], n)
        x = a[3 * n :]
        c = memory[row - base, 0]
        begin(c, a, mask[row - first] if len(mask) else unmasked)
        for edge in range(pointer[row], pointer[row + 1]):
            g = f[edge]
            for j in range(len(x)):
                g[j] += x[j]
            for j in range(n):
                g[j] = sigmoid(g[j] + b[j])
            add(c, g, children[edge] - base, memory)
        end(h[row], a, c)


@compiled
def backward(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_c, inverse_pointer, edges,
    parents, f, sent, pointer, d_f
):  # fmt: skip
    """Gradients of rows ``lo:hi``: of the pre-activations in the place of the gates, of those of f into d_f."""
    n, first, unmasked = memory.shape[2], table[run, START], mask[:0].reshape(-1)
    d_h, d_c = np.empty(n, memory.dtype), np.empty((1, n), memory.dtype)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        a = gates[table[run, SLOT] + row - table[run, START]]
        pull_h(d_h, row, given_h, inverse_pointer, edges, sent)
        pull_memory(d_c, row, given_c, inverse_pointer, edges, parents, base, f, d_memory)
        undo(d_c[0], d_h, a, memory[row - base, 0], mask[row - first] if len(mask) else unmasked)
        d_x = a[3 * n :]
        d_x[:] = 0
        for edge in range(pointer[row], pointer[row + 1]):
            own = d_f[edge]
            undo_add(own, f[edge], d_c[0], children[edge] - base, memory)
            for j in range(len(d_x)):
                d_x[j] += own[j]
        into, d = d_memory[row - base, 0], d_c[0]
        for j in range(n):
            into[j] = d[j]


class SumKernel(NumbaStates):
    """Steps of the child-sum Tree-LSTM, as :class:`dgltree.engine.kernels.kernel.Kernel` has them of other cells.

    Args:
        states: where it reads and writes.
        table: (runs, 5) int64, see :class:`dgltree.engine.kernels.layout.Layout`.
        parents: (edges,) int64, the row that each edge leads to.
    """

    def __init__(self, states: States, table: Tensor, parents: Tensor) -> None:
        super().__init__(states, table)
        count = torch.bincount(parents, minlength=len(states.h))
        self._pointer = torch.nn.functional.pad(count.cumsum(0), (1, 0)).numpy()

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backwards: bool, compile_it: bool) -> bool:
        """As :meth:`dgltree.engine.kernels.numba_kernel.NumbaKernel.compile`."""
        nothing = Nothing(dtype)
        some, (_, _, parents, *_) = nothing.matrix, nothing.sent
        kernel, gates = cls(nothing.states, nothing.table, parents), SumGates(some, some, some, some, some, 0)
        needed: list[tuple[Any, Arguments]] = [
            (add_up, (0, 0, *kernel._sums(0, some))),
            (forward, (0, 0, *kernel._forward(gates))),
        ]
        if backwards:
            kernel._receive(nothing.sent, nothing.index, nothing.index)
            needed += [(backward, (0, 0, *kernel._backward(gates, some))), *nothing.ends(kernel)]
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)

    def add_up(self, start: int, stop: int, total: Tensor) -> None:
        """Into total (rows, n): the sums of the children's h of rows ``start:stop``."""
        over_rows(add_up, start, stop, *self._sums(start, total))

    def forward(self, start: int, stop: int, gates: SumGates) -> None:
        """The states of rows ``start:stop``."""
        over_rows(forward, start, stop, *self._forward(gates))

    def start_backward(self, sent: Sent) -> None:
        """A backward pass begins, from the last step to the first."""
        self._begin(sent)

    def backward(self, start: int, stop: int, gates: SumGates, d_f: Tensor) -> None:
        """The gradients of the pre-activations of rows ``start:stop``, whose parents are done; those of f in d_f."""
        over_rows(backward, start, stop, *self._backward(gates, d_f))

    def _sums(self, start: int, total: Tensor) -> Arguments:
        return self._pointer, start, self._children, self._h, total.numpy()

    def _forward(self, gates: SumGates) -> Arguments:
        arrays = gates.pre.numpy(), gates.bias.numpy(), gates.mask.numpy()
        places = self._children, self._base, self._memory, self._h, self._pointer
        return gates.run, self._table, *arrays, *places, gates.edge_pre.numpy(), gates.edge_bias.numpy()

    def _backward(self, gates: SumGates, d_f: Tensor) -> Arguments:
        places = self._children, self._base, self._memory, self._row_memory
        own = gates.run, self._table, gates.pre.numpy(), gates.mask.numpy()
        return *own, *places, *self._given, *self._left, self._pointer, d_f.numpy()
