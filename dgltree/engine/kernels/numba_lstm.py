"""Numba: the step of the N-ary Tree-LSTM. A row of gates is ``[u; in; o; f_1 ... f_N]``; c is a memory of one row."""

import numpy as np

from dgltree.engine.kernels.compiled import activate, compiled, copy
from dgltree.engine.kernels.layout import COLUMNS, EDGE, KEY, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.memory_cell import add, begin, end, undo, undo_add
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


@compiled
def forward(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``; see :class:`dgltree.engine.kernels.kernel.Kernel`."""
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


@compiled
def backward(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_c, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of rows ``lo:hi``; see :class:`dgltree.engine.kernels.kernel.Kernel`; d_memory may be memory."""
    n, first, unmasked = memory.shape[2], table[run, START], mask[:0].reshape(-1)
    d_h, d_c = np.empty(n, memory.dtype), np.empty((1, n), memory.dtype)
    for row in range(lo, hi):
        while row >= table[run, STOP]:
            run += 1
        place = row - table[run, START]
        a, edge = gates[table[run, SLOT] + place], table[run, EDGE] + place * arity
        pull_h(d_h, row, given_h, pointer, edges, sent)
        pull_memory(d_c, row, given_c, pointer, edges, parents, base, kept_gates, d_memory)
        undo(d_c[0], d_h, a, memory[row - base, 0], mask[row - first] if len(mask) else unmasked)
        for k in range(arity):
            f, own = a[(3 + k) * n : (4 + k) * n], kept_gates[edge + k]
            copy(own, f)
            undo_add(f, own, d_c[0], children[edge + k] - base, memory)
        copy(d_memory[row - base, 0], d_c[0])


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
    lo, hi, table, maps, blas, mask, children, base, memory, d_memory, given_h, given_c, pointer, edges, parents,
    kept_gates, sent, options
):  # fmt: skip
    """Runs ``lo:hi``, from the last to the first."""
    arities = maps[:, ARITY]
    for run in range(hi - 1, lo - 1, -1):
        gates, _ = gates_of(run, table, maps, memory)
        backward(
            table[run, START], table[run, STOP], run, table, gates, mask_of(run, table, mask, base), children, base,
            memory, d_memory, given_h, given_c, pointer, edges, parents, kept_gates, sent, arities[table[run, KEY]],
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


class NumbaLSTMKernel(NumbaKernel):
    """Steps of the N-ary Tree-LSTM."""

    forward_rows = staticmethod(forward)
    backward_rows = staticmethod(backward)


class LSTMRuns(NumbaRuns):
    """Passes of these cells."""

    forward_runs = staticmethod(forward_runs)
    backward_runs = staticmethod(backward_runs)


class LSTMPaths(NumbaPaths):
    """Paths through these cells."""

    forward_paths = staticmethod(forward_paths)
