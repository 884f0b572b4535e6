"""Numba: the step of the stack-augmented Tree-LSTM and of Tree-SMU.

A row of gates is ``[u; o; push; (pop); (noop); g_1 ... g_N; (data gate); (q)]``. The forward kernel activates it where
it lies, the backward kernel puts the gradients of the pre-activations in its place. What a row needs on the way is
in scratch space that fits into the first-level cache.
"""

import numpy as np

from dgltree.engine.kernels.compiled import activate, compiled, copy, tanh
from dgltree.engine.kernels.layout import COLUMNS, EDGE, KEY, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.numba_kernel import NumbaKernel
from dgltree.engine.kernels.numba_pass import NumbaRuns
from dgltree.engine.kernels.numba_paths import (
    BLOCK,
    KEPT_ROWS,
    PATH_ARITY,
    READ_ROWS,
    NumbaPaths,
    leave_root,
    path_children,
    path_gates,
    put_states,
    room_for_states,
)
from dgltree.engine.kernels.numba_runs import ARITY, gates_of, inputs_of, mask_of, pre_activations, send_back
from dgltree.engine.kernels.pulling import pull_h, pull_memory
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


@compiled
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``; see :class:`dgltree.engine.kernels.kernel.Kernel`."""
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


@compiled
def backward(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_S, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of rows ``lo:hi``; see :class:`dgltree.engine.kernels.kernel.Kernel`; d_memory may be memory."""
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
        pull_memory(d_S, row, given_S, pointer, edges, parents, base, kept_gates, d_memory)
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


@compiled
def forward_runs(lo, hi, table, maps, blas, mask, children, base, memory, h, spaces, options):
    """Runs ``lo:hi``, one after another; ``spaces`` are the sizes of what is needed on the way."""
    inputs, room, own = np.empty(spaces[0], h.dtype), np.empty(spaces[1], h.dtype), np.empty((1, COLUMNS), np.int64)
    arities, depth = maps[:, ARITY], memory.shape[1]
    for run in range(lo, hi):
        gates, bias = gates_of(run, table, maps, h)
        gates = pre_activations(
            run, own, table, maps, blas, inputs_of(run, table, maps, children, h, inputs), gates, room
        )
        forward(
            table[run, START], table[run, STOP], 0, own, gates, bias, mask_of(run, table, mask, base), children, base,
            memory, h, arities[table[run, KEY]], depth, depth, options
        )  # fmt: skip


@compiled
def backward_runs(
    lo, hi, table, maps, blas, mask, children, base, memory, d_memory, given_h, given_S, pointer, edges, parents,
    kept_gates, sent, options
):  # fmt: skip
    """Runs ``lo:hi``, from the last to the first."""
    arities = maps[:, ARITY]
    for run in range(hi - 1, lo - 1, -1):
        gates, _ = gates_of(run, table, maps, memory)
        backward(
            table[run, START], table[run, STOP], run, table, gates, mask_of(run, table, mask, base), children, base,
            memory, d_memory, given_h, given_S, pointer, edges, parents, kept_gates, sent, arities[table[run, KEY]],
            options
        )  # fmt: skip
        send_back(run, table, maps, blas, gates, sent)


@compiled
def forward_paths(
    lo, hi, paths, siblings, constants, blas, trees_h, trees_memory, fillers_h, fillers_memory, roots, options
):  # fmt: skip
    """Blocks ``lo:hi`` of fillers up all paths."""
    h, memory = room_for_states(trees_h, trees_memory, paths)
    room, own = np.empty(BLOCK * constants.shape[1], h.dtype), np.zeros((1, COLUMNS), np.int64)
    children, trees, unmasked = np.empty(BLOCK * siblings.shape[1], np.int64), len(trees_h), h[:0]
    for first in range(lo * BLOCK, min(hi * BLOCK, len(fillers_h)), BLOCK):
        rows = min(BLOCK, len(fillers_h) - first)
        put_states(h, memory, trees, fillers_h, fillers_memory, first, rows)
        for node in range(len(paths)):
            gates = path_gates(node, own, paths, blas, h, trees, rows, room)
            path_children(node, children, paths, siblings, trees, rows)
            forward(
                own[0, START], own[0, STOP], 0, own, gates, constants, unmasked, children, 0, memory, h,
                paths[node, PATH_ARITY], paths[node, READ_ROWS], paths[node, KEPT_ROWS], options
            )  # fmt: skip
            leave_root(node, roots, paths, h, trees, first, rows)


class NumbaStackKernel(NumbaKernel):
    """Steps of the stack-augmented Tree-LSTM."""

    forward_rows = staticmethod(forward)
    backward_rows = staticmethod(backward)


class StackRuns(NumbaRuns):
    """Passes of these cells."""

    forward_runs = staticmethod(forward_runs)
    backward_runs = staticmethod(backward_runs)


class StackPaths(NumbaPaths):
    """Paths through these cells."""

    forward_paths = staticmethod(forward_paths)
