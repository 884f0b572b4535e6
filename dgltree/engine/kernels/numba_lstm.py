"""Numba: the step of the N-ary Tree-LSTM. A row of gates is ``[u; in; o; f_1 ... f_N]``; c is a memory of one row."""

import numpy as np

from dgltree.engine.kernels.compiled import EDGE, MATRIX, SLOT, START, STOP, activate, compiled, tanh
from dgltree.engine.kernels.numba_kernel import NumbaKernel
from dgltree.engine.kernels.pulling import pull_h, pull_memory


@compiled
def forward(
    lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options
):
    """New states of rows ``lo:hi``; see :class:`dgltree.engine.kernels.kernel.Kernel`."""
    n, begin, zero = h.shape[1], table[run, START], h.dtype.type(0)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        activate(a, bias[table[run, MATRIX]], n)
        u, i, o, c, out = a[:n], a[n : 2 * n], a[2 * n : 3 * n], memory[row - base, 0], h[row]
        if len(mask):
            dropped = mask[row - begin]
            for j in range(n):
                c[j] = i[j] * (u[j] * dropped[j])
        else:
            for j in range(n):
                c[j] = i[j] * u[j]
        for k in range(arity):
            f, child = a[(3 + k) * n : (4 + k) * n], children[edge + k] - base
            if child < 0:
                for j in range(n):
                    c[j] += f[j] * zero  # NaN times 0 is NaN
            else:
                c_k = memory[child, 0]
                for j in range(n):
                    c[j] += f[j] * c_k[j]
        for j in range(n):
            out[j] = o[j] * tanh(c[j])


@compiled
def backward(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_c, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of rows ``lo:hi``; see :class:`dgltree.engine.kernels.kernel.Kernel`. ``d_memory`` may be ``memory``."""
    n, begin, one = memory.shape[2], table[run, START], memory.dtype.type(1)
    d_h, d_c = np.empty(n, memory.dtype), np.empty((1, n), memory.dtype)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        pull_h(d_h, row, given_h, pointer, edges, sent)
        pull_memory(d_c, row, given_c, pointer, edges, parents, base, kept_gates, d_memory)
        u, i, o, c, d = a[:n], a[n : 2 * n], a[2 * n : 3 * n], memory[row - base, 0], d_c[0]
        for j in range(n):
            t = tanh(c[j])
            d[j] += d_h[j] * o[j] * (one - t * t)
            o[j] = d_h[j] * t * o[j] * (one - o[j])
        if len(mask):
            dropped = mask[row - begin]
            for j in range(n):
                v, w = u[j], i[j]
                u[j] = d[j] * w * dropped[j] * (one - v * v)
                i[j] = d[j] * v * dropped[j] * w * (one - w)
        else:
            for j in range(n):
                v, w = u[j], i[j]
                u[j] = d[j] * w * (one - v * v)
                i[j] = d[j] * v * w * (one - w)
        for k in range(arity):
            f, child, own = a[(3 + k) * n : (4 + k) * n], children[edge + k] - base, kept_gates[edge + k]
            if child < 0:
                f[:] = 0
                continue
            c_k = memory[child, 0]
            for j in range(n):
                own[j] = f[j]
                f[j] = d[j] * c_k[j] * own[j] * (one - own[j])
        d_memory[row - base, 0] = d


class LSTMKernel(NumbaKernel):
    """Steps of the N-ary Tree-LSTM."""

    forward_rows = staticmethod(forward)
    backward_rows = staticmethod(backward)
