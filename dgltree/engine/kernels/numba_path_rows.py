"""Numba: the rows of a path's node, one for each filler of a block, of the Tree-LSTM and of the cells with a stack.

Rows are activated where they lie. What a row needs on the way is in scratch space that fits into the first-level cache.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from dgltree.engine.kernels.numba_compile import FLAGS, activate, compile_kernel, copy, series, tanh

# ---------------------------------------------------------------------------------------------------------------------
# Both families as one function for the loop around them.
#
# The type of the options says which family's it is: six numbers of a stack, none of a Tree-LSTM. Numba keeps no code on
# disk that gets a function as an argument, which would be the obvious way.


INLINED: dict[str, Any] = {**FLAGS, "forceinline": True}


def forward_rows(gates, bias, start, children, memory, h, arity, depth, kept, options):
    """New states of rows from ``start`` on, from pre-activations without bias, which become gates; in kernels only.

    Args:
        gates: (rows, widths).
        bias: (widths,).
        start: where the first of the rows is among those of memory and h.
        children: (rows * arity or more,) int64, the children's rows.
        memory: (R, rows of a memory, n).
        h: (R, n).
        arity: of these rows.
        depth, kept: how many rows of memory are read, and written.
        options: of the family.
    """
    raise NotImplementedError


@overload(forward_rows, jit_options=INLINED)
def _forward_rows(gates, bias, start, children, memory, h, arity, depth, kept, options):
    return (forward_stacks if isinstance(options, types.UniTuple) else forward_lstm).py_func


@compile_kernel
def forward_lstm(gates, bias, start, children, memory, h, arity, depth, kept, options):
    """See :func:`forward_rows`. A row of gates is ``[u; in; o; f_1 ... f_N]``; c is a memory of one row."""
    n = h.shape[1]
    for place in range(len(gates)):
        a = gates[place]
        c = memory[start + place, 0]
        out = h[start + place]
        activate(a, bias, n)
        u = a[:n]
        i = a[n : 2 * n]
        o = a[2 * n : 3 * n]
        for j in range(n):
            c[j] = i[j] * u[j]
        for k in range(arity):
            f = a[(3 + k) * n : (4 + k) * n]
            c_k = memory[children[place * arity + k], 0]
            for j in range(n):
                c[j] += f[j] * c_k[j]
        for j in range(n):
            out[j] = o[j] * tanh(c[j])


# ---------------------------------------------------------------------------------------------------------------------
# The parts of a stack's step, for one row.
#
# A row of gates is ``[u; o; push; (pop); (noop); g_1 ... g_N; (data gate); (q)]``. ``a`` are the activated gates of the
# row, ``w`` (3, n) its actions, ``stack`` (1 + depth, n) what is pushed, u, and under it the children's stacks put
# together, Sc. All inner loops go over n elements of a few arrays.


@compile_kernel
def weigh(w, a, n, pop, noop, normalize):
    """Into w (3, n): the actions push, pop and noop, of those that there are the softmax if they are normalized."""
    count = 1 + pop + noop
    if not normalize:
        for k in range(count):
            copy(w[k], a[(2 + k) * n : (3 + k) * n])
        return
    half = a.dtype.type(0.5)  # e^(s - 1/2), for s from 0 to 1
    if count == 3:
        s = a[2 * n : 3 * n]
        t = a[3 * n : 4 * n]
        v = a[4 * n : 5 * n]
        x = w[0]
        y = w[1]
        z = w[2]
        for j in range(n):
            e = series(s[j] - half)
            f = series(t[j] - half)
            g = series(v[j] - half)
            total = e + f + g
            x[j], y[j], z[j] = e / total, f / total, g / total
        return
    total = np.zeros(n, a.dtype)
    for k in range(count):
        s = a[(2 + k) * n : (3 + k) * n]
        x = w[k]
        for j in range(n):
            x[j] = series(s[j] - half)
            total[j] += x[j]
    for k in range(count):
        x = w[k]
        for j in range(n):
            x[j] /= total[j]


@compile_kernel
def push_down(u, a, gate, data_gate):
    """Into u (n,): what is pushed, of the activated gates."""
    n = len(u)
    copy(u, a[:n])
    if data_gate:
        d = a[gate : gate + n]
        for j in range(n):
            u[j] *= d[j]


@compile_kernel
def gather(Sc, a, first, children, memory):
    """Into Sc (depth, n): the children's stacks, each times its gate."""
    depth, n = Sc.shape
    for k in range(len(children)):
        g = a[first + k * n : first + (k + 1) * n]
        for r in range(depth):
            S = memory[children[k], r]
            row = Sc[r]
            if k == 0:
                for j in range(n):
                    row[j] = g[j] * S[j]
            else:
                for j in range(n):
                    row[j] += g[j] * S[j]


@compile_kernel
def update(S, stack, w, pop, noop, kept):
    """Into S (>= kept, n): from stack = [u; Sc], rows pushed down, popped up and kept, each times its action."""
    n = stack.shape[1]
    depth = len(stack) - 1
    push = w[0]
    for r in range(kept):
        row = S[r]
        above = stack[r]
        if pop and noop and r + 1 < depth:
            up = w[1]
            stay = w[2]
            below = stack[r + 2]
            own = stack[r + 1]
            for j in range(n):
                row[j] = push[j] * above[j] + up[j] * below[j] + stay[j] * own[j]
            continue
        for j in range(n):
            row[j] = push[j] * above[j]
        if pop and r + 1 < depth:
            up = w[1]
            below = stack[r + 2]
            for j in range(n):
                row[j] += up[j] * below[j]
        if noop:
            stay = w[1 + pop]
            own = stack[r + 1]
            for j in range(n):
                row[j] += stay[j] * own[j]


@compile_kernel
def read_rows(read, S, a, q, top_k, gated):
    """Into read (n,): the first rows of S, each times its q, one number per row or one vector per row; row 0 of one."""
    n = len(read)
    if top_k == 1:
        for j in range(n):
            read[j] = S[0, j]
        return
    read[:] = 0
    for r in range(top_k):
        row = S[r]
        if gated:
            v = a[q + r * n : q + (r + 1) * n]
            for j in range(n):
                read[j] += v[j] * row[j]
        else:
            for j in range(n):
                read[j] += a[q + r] * row[j]


@compile_kernel
def forward_stacks(gates, bias, start, children, memory, h, arity, depth, kept, options):
    """See :func:`forward_rows`."""
    pop, noop, normalize, data_gate, top_k, gated = options
    n = h.shape[1]
    g = (3 + pop + noop) * n
    gate = g + arity * n
    q = gate + data_gate * n
    stack = np.empty((depth + 1, n), h.dtype)
    w = np.empty((3, n), h.dtype)
    read = np.empty(n, h.dtype)
    for place in range(len(gates)):
        a = gates[place]
        S = memory[start + place]
        out = h[start + place]
        activate(a, bias, n)
        weigh(w, a, n, pop, noop, normalize)
        push_down(stack[0], a, gate, data_gate)
        gather(stack[1:], a, g, children[place * arity : (place + 1) * arity], memory)
        update(S, stack, w, pop, noop, kept)
        read_rows(read, S, a, q, top_k, gated)
        o = a[n : 2 * n]
        for j in range(n):
            out[j] = o[j] * tanh(read[j])
