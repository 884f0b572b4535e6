"""Numba: the step of the child-sum Tree-LSTM. A row of gates is ``[u; in; o]``; the gates f lie by edges.

If x adds to the gates, a row ends with what it adds to all f of the row's messages.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.engine.kernels.layout import COLUMNS, MATRIX, MAX_RUN_ROWS, SLOT, START, STOP
from dgltree.engine.kernels.numba_compile import Arguments, activate, compile_kernel, copy, pull_h, pull_memory, sigmoid
from dgltree.engine.kernels.numba_lstm import add, begin, end, undo, undo_add
from dgltree.engine.kernels.numba_pass import NumbaRuns
from dgltree.engine.kernels.numba_product import add_gradients, multiply, multiply_back
from dgltree.engine.kernels.numba_runs import (
    WEIGHT,
    gates_of,
    mask_of,
    pre_activations,
    take,
    weight_gradient_of,
    weight_of,
)
from dgltree.engine.kernels.threads import over_groups


@compile_kernel
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


@compile_kernel
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


@compile_kernel
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
        copy(d_memory[row - base, 0], d_c[0])


@compile_kernel
def forward_runs(lo, hi, table, maps, blas, mask, children, base, memory, h, pointer, f, message, f_bias, spaces):
    """Runs ``lo:hi``, one after another; ``spaces`` are the sizes of what is needed on the way."""
    inputs, room, own = np.empty(spaces[0], h.dtype), np.empty(spaces[1], h.dtype), np.empty((1, COLUMNS), np.int64)
    n = h.shape[1]
    for run in range(lo, hi):
        start, stop, weight = table[run, START], table[run, STOP], message[table[run, MATRIX]]
        for first in range(pointer[start], pointer[stop], MAX_RUN_ROWS):
            last = min(first + MAX_RUN_ROWS, pointer[stop])
            of_edges = inputs[: (last - first) * n].reshape(last - first, n)
            take(of_edges, children[first:last], h)
            multiply(blas, of_edges, weight, f[first:last], 0)
        total = inputs[: (stop - start) * n].reshape(stop - start, n) if pointer[start] < pointer[stop] else h[:0]
        add_up(start, start + len(total), pointer, start, children, h, total)
        gates, bias = gates_of(run, table, maps, h)
        gates = pre_activations(run, own, table, maps, blas, total, gates, room)
        forward(
            start, stop, 0, own, gates, bias, mask_of(run, table, mask, base), children, base, memory, h, pointer, f,
            f_bias
        )  # fmt: skip


@compile_kernel
def backward_runs(
    lo, hi, table, maps, blas, mask, children, base, memory, d_memory, given_h, given_c, inverse_pointer, edges,
    parents, f, sent, pointer, d_f, message
):  # fmt: skip
    """Runs ``lo:hi``, from the last to the first."""
    total = np.empty((MAX_RUN_ROWS, memory.shape[2]), memory.dtype)
    for run in range(hi - 1, lo - 1, -1):
        start, stop, slot = table[run, START], table[run, STOP], table[run, SLOT]
        gates, _ = gates_of(run, table, maps, memory)
        backward(
            start, stop, run, table, gates, mask_of(run, table, mask, base), children, base, memory, d_memory, given_h,
            given_c, inverse_pointer, edges, parents, f, sent, pointer, d_f
        )  # fmt: skip
        first, last = pointer[start], pointer[stop]
        if first < last:
            weight = weight_of(WEIGHT, run, table, maps, memory)
            multiply_back(blas, gates[slot : slot + stop - start], weight, total[: stop - start], 0)
            for edge in range(first, last):
                copy(sent[edge], total[parents[edge] - start])
            multiply_back(blas, d_f[first:last], message[table[run, MATRIX]], sent[first:last], 1)


@compile_kernel
def gradients_of_gates(lo, hi, groups, order, table, maps, blas, children, h, together, pointer):
    """As :func:`dgltree.engine.kernels.numba_runs.gradients`, if the inputs are sums over children."""
    i = np.empty((together, h.shape[1]), h.dtype)
    for group in range(lo, hi):
        first, k = order[groups[group]], 0
        gates, _ = gates_of(first, table, maps, h)
        d_weight, d_bias = weight_gradient_of(first, table, maps, h)
        slot = table[first, SLOT]
        for place in range(groups[group], groups[group + 1]):
            run = order[place]
            start, stop = table[run, START], table[run, STOP]
            if pointer[start] == pointer[stop]:  # leaves, which come first
                add_gradients(blas, gates[slot : slot + stop - start], i[:0], d_weight[:0], d_bias)
                slot += stop - start
                continue
            for row in range(start, stop):
                add_up(row, row + 1, pointer, row, children, h, i[k : k + 1])
                k += 1
                if k == together:
                    add_gradients(blas, gates[slot : slot + k], i, d_weight, d_bias)
                    slot, k = slot + k, 0
        add_gradients(blas, gates[slot : slot + k], i[:k], d_weight, d_bias)


@compile_kernel
def gradients_of_messages(
    lo, hi, groups, order, table, blas, children, h, together, pointer, d_f, d_message, d_f_bias
):  # fmt: skip
    """Of the weights of the messages' gates, to which they are added."""
    n = h.shape[1]
    child, d_out = np.empty((together, n), h.dtype), np.empty((together, n), h.dtype)
    for group in range(lo, hi):
        k, own = 0, table[order[groups[group]], MATRIX]
        d_weight = d_message[own] if len(d_message) else h[:0]
        d_bias = d_f_bias[own] if len(d_f_bias) else h[0][:0]
        for place in range(groups[group], groups[group + 1]):
            run = order[place]
            for edge in range(pointer[table[run, START]], pointer[table[run, STOP]]):
                copy(child[k], h[children[edge]])
                copy(d_out[k], d_f[edge])
                k += 1
                if k == together:
                    add_gradients(blas, d_out, child, d_weight, d_bias)
                    k = 0
        add_gradients(blas, d_out[:k], child[:k], d_weight, d_bias)


class SumRuns(NumbaRuns):
    """Passes of these cells, of which ``more`` is f, d_f (edges, n), and the message's weights and biases."""

    forward_runs = staticmethod(forward_runs)
    backward_runs = staticmethod(backward_runs)
    gradient_groups = staticmethod(gradients_of_gates)

    @classmethod
    def nothing(cls, dtype: torch.dtype) -> tuple[Tensor, ...]:
        edges, weights = torch.empty(0, 0, dtype=dtype), torch.empty(0, 0, 0, dtype=dtype)
        return edges, edges, weights, edges, weights, edges

    def gradients(self, together: int, others: Sequence[NumbaRuns]) -> None:
        """Adds those of the messages' weights, too, to the last two of ``more``."""
        super().gradients(together, others)
        own = (each._message_gradients(together) for each in (self, *others) if isinstance(each, SumRuns))
        over_groups(gradients_of_messages, self.layout.group_rows, self.layout.addend, *own)

    def _forward(self) -> Arguments:
        f, _, weight, bias = (tensor.numpy() for tensor in self.more[:4])
        *before, spaces, _ = super()._forward()
        return *before, self.layout.first_edge.numpy(), f, weight, bias, spaces

    def _backward(self) -> Arguments:
        *before, _ = super()._backward()
        return *before, self.layout.first_edge.numpy(), self.more[1].numpy(), self.more[2].numpy()

    def _gradients(self, together: int) -> Arguments:
        return *super()._gradients(together), self.layout.first_edge.numpy()

    def _message_gradients(self, together: int) -> Arguments:
        groups, order, table, _, *others = self._gradients(together)
        return groups, order, table, *others, *(self.more[k].numpy() for k in (1, 4, 5))

    def _ends(self) -> list[tuple[Any, Arguments]]:
        return [*super()._ends(), (gradients_of_messages, (0, 0, *self._message_gradients(1)))]
