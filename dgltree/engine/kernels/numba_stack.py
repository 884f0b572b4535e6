"""Numba: the step of the stack-augmented Tree-LSTM and of Tree-SMU.

A row of gates is ``[u; o; push; (pop); (noop); g_1 ... g_N; (data gate); (q)]``. The forward kernel activates it where
it lies, the backward kernel puts the gradients of the pre-activations in its place. What a row needs on the way is
in scratch space that fits into the first-level cache.
"""

import numpy as np

from dgltree.engine.kernels.layout import EDGE, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.numba_compile import activate, compile_kernel, copy, pull_h, pull_memory, series, tanh

# ---------------------------------------------------------------------------------------------------------------------
# Numba: the parts of a stack's step, for one row, and each part's backward.
#
# ``a`` are the activated gates of the row, ``w`` (3, n) its actions, ``stack`` (1 + depth, n) what is pushed, u, and
# under it the children's stacks put together, Sc. All inner loops go over n elements of a few arrays.


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
        s, t, v = a[2 * n : 3 * n], a[3 * n : 4 * n], a[4 * n : 5 * n]
        x, y, z = w[0], w[1], w[2]
        for j in range(n):
            e, f, g = series(s[j] - half), series(t[j] - half), series(v[j] - half)
            total = e + f + g
            x[j], y[j], z[j] = e / total, f / total, g / total
        return
    total = np.zeros(n, a.dtype)
    for k in range(count):
        s, x = a[(2 + k) * n : (3 + k) * n], w[k]
        for j in range(n):
            x[j] = series(s[j] - half)
            total[j] += x[j]
    for k in range(count):
        x = w[k]
        for j in range(n):
            x[j] /= total[j]


@compile_kernel
def push_down(u, a, gate, mask, data_gate):
    """Into u (n,): what is pushed, of the activated gates."""
    n = len(u)
    copy(u, a[:n])
    if len(mask):
        for j in range(n):
            u[j] *= mask[j]
    if data_gate:
        d = a[gate : gate + n]
        for j in range(n):
            u[j] *= d[j]


@compile_kernel
def gather(Sc, a, first, children, base, memory):
    """Into Sc (depth, n): the children's stacks, each times its gate. Places under base have none."""
    depth, n = Sc.shape
    empty = True
    for k in range(len(children)):
        g, place = a[first + k * n : first + (k + 1) * n], children[k] - base
        if place < 0:
            continue
        for r in range(depth):
            S, row = memory[place, r], Sc[r]
            if empty:
                for j in range(n):
                    row[j] = g[j] * S[j]
            else:
                for j in range(n):
                    row[j] += g[j] * S[j]
        empty = False
    if empty:
        Sc[:] = 0
    zero = a.dtype.type(0)
    for k in range(len(children)):
        if children[k] < base:  # NaN times 0 is NaN
            g = a[first + k * n : first + (k + 1) * n]
            for r in range(depth):
                row = Sc[r]
                for j in range(n):
                    row[j] += g[j] * zero


@compile_kernel
def update(S, stack, w, pop, noop, kept):
    """Into S (>= kept, n): from stack = [u; Sc], rows pushed down, popped up and kept, each times its action."""
    n, depth = stack.shape[1], len(stack) - 1
    push = w[0]
    for r in range(kept):
        row, above = S[r], stack[r]
        if pop and noop and r + 1 < depth:
            up, stay, below, own = w[1], w[2], stack[r + 2], stack[r + 1]
            for j in range(n):
                row[j] = push[j] * above[j] + up[j] * below[j] + stay[j] * own[j]
            continue
        for j in range(n):
            row[j] = push[j] * above[j]
        if pop and r + 1 < depth:
            up, below = w[1], stack[r + 2]
            for j in range(n):
                row[j] += up[j] * below[j]
        if noop:
            stay, own = w[1 + pop], stack[r + 1]
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
def undo_read(d_S, d_h, S, a, q, top_k, gated):
    """Backward of h = o tanh(read): adds to d_S; puts the gradients of the pre-activations of o and q in place."""
    n = len(d_h)
    o, one = a[n : 2 * n], a.dtype.type(1)
    if top_k == 1:
        top, into = S[0], d_S[0]
        for j in range(n):
            t = tanh(top[j])
            d = d_h[j] * o[j]
            into[j] += d * (one - t * t)
            o[j] = d * t * (one - o[j])
        return
    read = np.empty(n, a.dtype)
    read_rows(read, S, a, q, top_k, gated)
    for j in range(n):
        t = tanh(read[j])
        d = d_h[j] * o[j]
        o[j] = d * t * (one - o[j])
        read[j] = d * (one - t * t)  # the gradient of what was read, from here on
    for r in range(top_k):
        row, into = S[r], d_S[r]
        if gated:
            v = a[q + r * n : q + (r + 1) * n]
            for j in range(n):
                into[j] += v[j] * read[j]
                v[j] *= read[j] * row[j] * (one - v[j])
            continue
        weight, total = a[q + r], a.dtype.type(0)
        for j in range(n):
            into[j] += weight * read[j]
            total += read[j] * row[j]
        a[q + r] = total * weight * (one - weight)


@compile_kernel
def undo_update(d_Sc, d_w, d_u, d_S, stack, w, pop, noop):
    """Backward of the update, from d_S (depth, n): into d_Sc (depth, n), d_w (3, n) and d_u (n,)."""
    depth, n = d_S.shape
    push, d_push, d_top, u = w[0], d_w[0], d_S[0], stack[0]
    for j in range(n):
        d_u[j] = push[j] * d_top[j]
        d_push[j] = u[j] * d_top[j]
    for k in range(1, 1 + pop + noop):
        d_w[k] = 0
    for r in range(depth):  # row r of Sc went down by push, up by pop, and stayed by noop
        into, Sc = d_Sc[r], stack[r + 1]
        if r + 1 < depth:
            d = d_S[r + 1]
            for j in range(n):
                into[j] = push[j] * d[j]
                d_push[j] += Sc[j] * d[j]
        else:
            into[:] = 0
        if pop and r > 0:
            up, d_up, d = w[1], d_w[1], d_S[r - 1]
            for j in range(n):
                into[j] += up[j] * d[j]
                d_up[j] += Sc[j] * d[j]
        if noop:
            stay, d_stay, d = w[1 + pop], d_w[1 + pop], d_S[r]
            for j in range(n):
                into[j] += stay[j] * d[j]
                d_stay[j] += Sc[j] * d[j]


@compile_kernel
def undo_weigh(a, d_w, w, n, count, normalize):
    """The gradients of the actions' pre-activations, in the place of their sigmoids."""
    one = a.dtype.type(1)
    mean = np.zeros(n, a.dtype)
    if normalize:
        for k in range(count):
            x, d = w[k], d_w[k]
            for j in range(n):
                mean[j] += x[j] * d[j]
    for k in range(count):
        s, x, d = a[(2 + k) * n : (3 + k) * n], w[k], d_w[k]
        if normalize:
            for j in range(n):
                s[j] = x[j] * (d[j] - mean[j]) * s[j] * (one - s[j])
        else:
            for j in range(n):
                s[j] = d[j] * s[j] * (one - s[j])


@compile_kernel
def undo_push(a, d_u, gate, mask, data_gate):
    """The gradients with respect to the pre-activations of u and of the data gate, in their place."""
    n = len(d_u)
    one = a.dtype.type(1)
    if len(mask):
        for j in range(n):
            d_u[j] *= mask[j]
    if data_gate:
        d = a[gate : gate + n]
        for j in range(n):
            kept = d[j]
            d[j] = d_u[j] * a[j] * kept * (one - kept)
            d_u[j] *= kept
    for j in range(n):
        a[j] = d_u[j] * (one - a[j] * a[j])


@compile_kernel
def undo_gather(a, first, kept_gates, d_Sc, children, base, memory):
    """The gradients of the gates' pre-activations in their place; the gates themselves go to the edges."""
    depth, n = d_Sc.shape
    one = a.dtype.type(1)
    total = np.empty(n, a.dtype)
    for k in range(len(children)):
        g, place, own = a[first + k * n : first + (k + 1) * n], children[k] - base, kept_gates[k]
        if place < 0:
            g[:] = 0
            continue
        total[:] = 0
        for r in range(depth):
            S, d = memory[place, r], d_Sc[r]
            for j in range(n):
                total[j] += S[j] * d[j]
        for j in range(n):
            own[j] = g[j]
            g[j] = total[j] * own[j] * (one - own[j])


@compile_kernel
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_runs`."""
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
    """Gradients of rows ``lo:hi``; see :mod:`dgltree.engine.kernels.numba_runs`; d_memory may be memory."""
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
