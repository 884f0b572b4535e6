"""Numba: the step of the N-ary Tree-LSTM. A row of gates is ``[u; in; o; f_1 ... f_N]``; c is a memory of one row."""

import numpy as np

from dgltree.engine.kernels.layout import EDGE, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.numba_compile import activate, compile_kernel, copy, pull_h, pull_memory, tanh

# ---------------------------------------------------------------------------------------------------------------------
# Numba: the memory cell that both Tree-LSTMs have, c = in * u + what the children's become, h = o tanh(c).
#
# A row of gates begins ``[u; in; o]``.


@compile_kernel
def begin(c, a, dropped):
    """Into c (n,): in * u, with what dropout multiplies u by, (n,), or (0,) without dropout."""
    n = len(c)
    u, i = a[:n], a[n : 2 * n]
    for j in range(n):
        c[j] = i[j] * u[j]
    if len(dropped):
        for j in range(n):
            c[j] *= dropped[j]


@compile_kernel
def add(c, f, child, memory):
    """Adds to c (n,) the child's memory through the gate f; a place under 0 has one of zeros."""
    n = len(c)
    if child < 0:
        zero = c.dtype.type(0)
        for j in range(n):
            c[j] += f[j] * zero  # NaN times 0 is NaN
        return
    c_k = memory[child, 0]
    for j in range(n):
        c[j] += f[j] * c_k[j]


@compile_kernel
def end(h, a, c):
    """Into h (n,): what is read."""
    n = len(c)
    o = a[2 * n : 3 * n]
    for j in range(n):
        h[j] = o[j] * tanh(c[j])


@compile_kernel
def undo(d_c, d_h, a, c, dropped):
    """Adds to d_c what comes by way of h; puts the gradients of the pre-activations of u, in and o in their place."""
    n = len(c)
    u, i, o, one = a[:n], a[n : 2 * n], a[2 * n : 3 * n], c.dtype.type(1)
    for j in range(n):
        t = tanh(c[j])
        d_c[j] += d_h[j] * o[j] * (one - t * t)
        o[j] = d_h[j] * t * o[j] * (one - o[j])
    for j in range(n):
        d_h[j] = d_c[j]  # of in * u, from here on
    if len(dropped):
        for j in range(n):
            d_h[j] *= dropped[j]
    for j in range(n):
        v, w = u[j], i[j]
        u[j] = d_h[j] * w * (one - v * v)
        i[j] = d_h[j] * v * w * (one - w)


@compile_kernel
def undo_add(d_f, f, d_c, child, memory):
    """Into d_f (n,): the gradient of the pre-activation of the gate f. It may lie where f does."""
    n = len(d_c)
    if child < 0:
        d_f[:] = 0
        return
    c_k, one = memory[child, 0], d_c.dtype.type(1)
    for j in range(n):
        d_f[j] = d_c[j] * c_k[j] * f[j] * (one - f[j])


@compile_kernel
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_runs`."""
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
    """Gradients of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_runs`; d_memory may be memory."""
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
