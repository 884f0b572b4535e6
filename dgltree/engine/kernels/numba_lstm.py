"""Numba: the step of the N-ary Tree-LSTM. A row of gates is ``[u; in; o; f_1 ... f_N]``; c is a memory of one row."""

import numpy as np

from dgltree.engine.kernels.layout import EDGE, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.memory_cell import add, begin, end, undo, undo_add
from dgltree.engine.kernels.numba_compile import activate, compile_kernel, copy
from dgltree.engine.kernels.numba_gradients import pull_h, pull_memory


@compile_kernel
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_rows`."""
    n, first, unmasked = h.shape[1], table[run, START], mask[:0].reshape(-1)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        activate(a, bias[table[run, MATRIX]], n)
        c = memory[row - base, 0]
        begin(c, a, mask[row - first] if len(mask) else unmasked)
        for k in range(arity):
            add(c, a[(3 + k) * n : (4 + k) * n], children[edge + k] - base, memory)
        end(h[row], a, c)


@compile_kernel
def backward(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_rows`; d_memory may be memory."""
    n, first, unmasked = memory.shape[2], table[run, START], mask[:0].reshape(-1)
    d_h, d_c = np.empty(n, memory.dtype), np.empty((1, n), memory.dtype)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        pull_h(d_h, row, given_h, pointer, edges, sent)
        pull_memory(d_c, row, given_memory, pointer, edges, parents, base, kept_gates, d_memory)
        undo(d_c[0], d_h, a, memory[row - base, 0], mask[row - first] if len(mask) else unmasked)
        for k in range(arity):
            f, own = a[(3 + k) * n : (4 + k) * n], kept_gates[edge + k]
            copy(own, f)
            undo_add(f, own, d_c[0], children[edge + k] - base, memory)
        copy(d_memory[row - base, 0], d_c[0])
