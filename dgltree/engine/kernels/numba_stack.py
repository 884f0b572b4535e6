"""Numba: the step of the stack-augmented Tree-LSTM and of Tree-SMU.

A row of gates is ``[u; o; push; (pop); (noop); g_1 ... g_N; (data gate); (q)]``. The forward kernel activates it where
it lies, the backward kernel puts the gradients of the pre-activations in its place. What a row needs on the way is
in scratch space that fits into the first-level cache.
"""

import numpy as np

from dgltree.engine.kernels.layout import EDGE, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.numba_compile import activate, compile_kernel, copy, tanh
from dgltree.engine.kernels.numba_gradients import pull_h, pull_memory
from dgltree.engine.kernels.stack_update import (
    gather,
    push_down,
    read_rows,
    undo_gather,
    undo_push,
    undo_read,
    undo_update,
    undo_weigh,
    update,
    weigh,
)


@compile_kernel
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_rows`."""
    pop, noop, normalize, data_gate, top_k, gated = options
    n, begin = h.shape[1], table[run, START]
    g = (3 + pop + noop) * n
    gate = g + arity * n
    q = gate + data_gate * n
    stack, w, read = np.empty((depth + 1, n), h.dtype), np.empty((3, n), h.dtype), np.empty(n, h.dtype)
    unmasked = mask[:0].reshape(-1)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        activate(a, bias[table[run, MATRIX]], n)
        weigh(w, a, n, pop, noop, normalize)
        push_down(stack[0], a, gate, mask[row - begin] if len(mask) else unmasked, data_gate)
        gather(stack[1:], a, g, children[edge : edge + arity], base, memory)
        S, out, o = memory[row - base], h[row], a[n : 2 * n]
        update(S, stack, w, pop, noop, kept)
        if top_k == 1:
            top = S[0]
            for j in range(n):
                out[j] = o[j] * tanh(top[j])
            continue
        read_rows(read, S, a, q, top_k, gated)
        for j in range(n):
            out[j] = o[j] * tanh(read[j])


@compile_kernel
def backward(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_rows`; d_memory may be memory."""
    pop, noop, normalize, data_gate, top_k, gated = options
    depth, n = memory.shape[1:]
    begin, count, dtype = table[run, START], 1 + pop + noop, memory.dtype
    g = (2 + count) * n
    gate = g + arity * n
    q = gate + data_gate * n
    stack, d_S, d_Sc = np.empty((depth + 1, n), dtype), np.empty((depth, n), dtype), np.empty((depth, n), dtype)
    w, d_w, d_h, d_u = np.empty((3, n), dtype), np.empty((3, n), dtype), np.empty(n, dtype), np.empty(n, dtype)
    unmasked = mask[:0].reshape(-1)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        own, dropped = children[edge : edge + arity], mask[row - begin] if len(mask) else unmasked
        pull_h(d_h, row, given_h, pointer, edges, sent)
        pull_memory(d_S, row, given_memory, pointer, edges, parents, base, kept_gates, d_memory)
        undo_read(d_S, d_h, memory[row - base], a, q, top_k, gated)
        weigh(w, a, n, pop, noop, normalize)
        push_down(stack[0], a, gate, dropped, data_gate)
        gather(stack[1:], a, g, own, base, memory)
        undo_update(d_Sc, d_w, d_u, d_S, stack, w, pop, noop)
        undo_weigh(a, d_w, w, n, count, normalize)
        undo_push(a, d_u, gate, dropped, data_gate)
        undo_gather(a, g, kept_gates[edge : edge + arity], d_Sc, own, base, memory)
        for r in range(depth):
            copy(d_memory[row - base, r], d_Sc[r])
