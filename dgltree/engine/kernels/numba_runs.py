"""Numba: the loops over the runs of a pass, and the products around the kernels of rows.

A table of maps has the columns below; of those of a run, all are of one map.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import overload

from dgltree.engine.kernels import numba_lstm, numba_stack
from dgltree.engine.kernels.layout import COLUMNS, EDGE, KEY, MATRIX, SLOT, START, STOP
from dgltree.engine.kernels.numba_compile import FLAGS, compile_kernel, copy
from dgltree.engine.kernels.numba_product import add_gradients, multiply, multiply_back, pointer

# ---------------------------------------------------------------------------------------------------------------------
# Numba: rows of the families that read their children one by one, as one function for the loops around them.
#
# The type of the options says which family's it is: six numbers of a stack (``numba_stack.py``), none of a Tree-LSTM
# (``numba_lstm.py``). Numba keeps no code on disk that gets a function as an argument, which would be the obvious way.


INLINED: dict[str, Any] = {**FLAGS, "forceinline": True}


def forward_rows(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    """New states of rows ``lo:hi``, from pre-activations without bias, which become gates; in kernels only.

    Args:
        lo, hi: the rows.
        run: of the table, that ``lo`` is in.
        table: (runs, 6) int64, see :class:`dgltree.engine.kernels.layout.Layout`.
        gates: (slots, widths), where a row's slot is that of its run and its place there.
        bias: (matrices, widths).
        mask: (rows from the run's first on, n), what dropout multiplies u by; (0, n) without dropout.
        children: (edges,) int64, the children's rows.
        base: rows under it have a memory of zeros, which lies nowhere.
        memory: (R - base, rows of a memory, n).
        h: (R, n).
        arity: of these rows.
        depth, kept: how many rows of memory are read, and written.
        options: of the family.
    """
    raise NotImplementedError


def backward_rows(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    """Gradients of the pre-activations of rows ``lo:hi``, in the place of the gates; in kernels only.

    Args:
        lo, hi, run, table, gates, mask, children, base, memory, arity, options: as in :func:`forward_rows`.
        d_memory, given_h, given_memory, pointer, edges, parents, kept_gates, sent: those of
            :class:`dgltree.engine.kernels.kernel.Sent`; d_memory may be memory.
    """
    raise NotImplementedError


@overload(forward_rows, jit_options=INLINED)
def _forward_rows(lo, hi, run, table, gates, bias, mask, children, base, memory, h, arity, depth, kept, options):
    return (numba_stack if isinstance(options, types.UniTuple) else numba_lstm).forward.py_func


@overload(backward_rows, jit_options=INLINED)
def _backward_rows(
    lo, hi, run, table, gates, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, arity, options
):  # fmt: skip
    return (numba_stack if isinstance(options, types.UniTuple) else numba_lstm).backward.py_func


ARITY, FAN_IN, FAN_OUT, MATRICES, WIDTH, SLOTS, FAN_X = range(7)
GATES, WEIGHT, BIAS, D_WEIGHT, D_BIAS, X, X_WEIGHT, D_X, D_X_WEIGHT = range(7, COLUMNS_OF_MAPS := 16)
"""Columns of a table of maps: sizes of the weights (matrices, out, in), of the gates (slots, width) and of the inputs
(slots, d), 0 if there are none; then addresses, 0 if there is none."""


@compile_kernel
def forward_runs(lo, hi, table, maps, blas, mask, children, base, memory, h, spaces, options):
    """Runs ``lo:hi``, one after another; ``spaces`` are the sizes of what is needed on the way."""
    inputs, room, own = np.empty(spaces[0], h.dtype), np.empty(spaces[1], h.dtype), np.empty((1, COLUMNS), np.int64)
    arities, depth = maps[:, ARITY], memory.shape[1]
    for run in range(lo, hi):
        gates, bias = gates_of(run, table, maps, h)
        gates = pre_activations(
            run, own, table, maps, blas, inputs_of(run, table, maps, children, h, inputs), gates, room
        )
        forward_rows(
            table[run, START], table[run, STOP], 0, own, gates, bias, mask_of(run, table, mask, base), children, base,
            memory, h, arities[table[run, KEY]], depth, depth, options
        )  # fmt: skip


@compile_kernel
def backward_runs(
    lo, hi, table, maps, blas, mask, children, base, memory, d_memory, given_h, given_memory, pointer, edges, parents,
    kept_gates, sent, options
):  # fmt: skip
    """Runs ``lo:hi``, from the last to the first."""
    arities = maps[:, ARITY]
    for run in range(hi - 1, lo - 1, -1):
        gates, _ = gates_of(run, table, maps, memory)
        backward_rows(
            table[run, START], table[run, STOP], run, table, gates, mask_of(run, table, mask, base), children, base,
            memory, d_memory, given_h, given_memory, pointer, edges, parents, kept_gates, sent,
            arities[table[run, KEY]], options
        )  # fmt: skip
        send_back(run, table, maps, blas, gates, sent)


@compile_kernel
def matrix(address, rows, columns, like):
    """(rows, columns) at an address; no rows at 0."""
    return carray(pointer(address), (rows if address else 0, columns), like.dtype)


@compile_kernel
def nth_matrix(address, number, rows, columns, like):
    """(rows, columns), that of a number among matrices that lie one after another; no rows at 0."""
    return matrix(address + number * rows * columns * like.itemsize if address else address, rows, columns, like)


@compile_kernel
def weight_of(column, run, table, maps, like):
    """(out, in), the matrix of a run, or its gradient, without rows if that is not wanted."""
    own = maps[table[run, KEY]]
    return nth_matrix(own[column], table[run, MATRIX], own[FAN_OUT], own[FAN_IN], like)


@compile_kernel
def weight_gradient_of(run, table, maps, like):
    """(out, in) and (out,), to which the gradients of a run's matrix and bias are added; 0 of what is not wanted."""
    own = maps[table[run, KEY]]
    biases = matrix(own[D_BIAS], own[MATRICES], own[FAN_OUT], like)
    none = matrix(own[D_BIAS], 1, 0, like)
    return weight_of(D_WEIGHT, run, table, maps, like), biases[table[run, MATRIX]] if len(biases) else none.reshape(-1)


@compile_kernel
def gates_of(run, table, maps, like):
    """(slots, width), the gates of the map of a run, and (matrices, out), its biases."""
    own = maps[table[run, KEY]]
    gates = matrix(own[GATES], own[SLOTS], own[WIDTH], like)
    return gates, matrix(own[BIAS], own[MATRICES], own[FAN_OUT], like)


@compile_kernel
def room_for(run, table, maps, room):
    """Of gates that are not kept: (rows, width) in a scratch space."""
    rows, width = table[run, STOP] - table[run, START], maps[table[run, KEY], WIDTH]
    return room[: rows * width].reshape(rows, width)


@compile_kernel
def inputs_of(run, table, maps, children, h, room):
    """(rows, arity * n): the children's h side by side, in a scratch space."""
    n, arity, rows = h.shape[1], maps[table[run, KEY], ARITY], table[run, STOP] - table[run, START]
    edge, i = table[run, EDGE], room[: rows * arity * n].reshape(rows * arity, n)
    take(i, children[edge : edge + rows * arity], h)
    return i.reshape(rows, arity * n)


@compile_kernel
def take(into, places, rows):
    """Into (places, n): some rows, (R, n)."""
    for k in range(len(places)):
        copy(into[k], rows[places[k]])


@compile_kernel
def pre_activations(run, own, table, maps, blas, inputs, gates, room):
    """Of a run, without bias: their (slots, width), and in ``own`` (1, columns) where they lie; from its inputs."""
    copy(own[0], table[run])
    if not len(gates):
        own[0, SLOT], gates = 0, room_for(run, table, maps, room)
    first, rows = own[0, SLOT], table[run, STOP] - table[run, START]
    weight = weight_of(WEIGHT, run, table, maps, inputs)
    multiply(blas, inputs, weight, gates[first : first + rows], 1 if maps[table[run, KEY], X] else 0)
    return gates


@compile_kernel
def mask_of(run, table, mask, base):
    """A run's rows of what dropout multiplies by."""
    return mask[table[run, START] - base : table[run, STOP] - base] if len(mask) else mask


@compile_kernel
def send_back(run, table, maps, blas, gates, sent):
    """Into sent (edges, n): the gradients of the inputs, from those of the pre-activations."""
    arity, rows, slot = maps[table[run, KEY], ARITY], table[run, STOP] - table[run, START], table[run, SLOT]
    if arity:
        edge, n = table[run, EDGE], sent.shape[1]
        into = sent[edge : edge + rows * arity].reshape(rows, arity * n)
        weight = weight_of(WEIGHT, run, table, maps, sent)
        multiply_back(blas, gates[slot : slot + rows], weight, into, 0)


@compile_kernel
def slots_of(group, groups, order, table):
    """The first slot and the one after the last of a group of runs that have one matrix."""
    last = order[groups[group + 1] - 1]
    return table[order[groups[group]], SLOT], table[last, SLOT] + table[last, STOP] - table[last, START]


@compile_kernel
def x_weight_of(column, run, table, maps, like):
    """(width, d), the matrix of a run's inputs, or its gradient, without rows if that is not wanted."""
    own = maps[table[run, KEY]]
    return nth_matrix(own[column], table[run, MATRIX], own[WIDTH], own[FAN_X], like)


@compile_kernel
def products_of_inputs(lo, hi, groups, order, table, maps, blas, like):
    """Into the gates: what inputs add, of groups ``lo:hi`` of runs that have one matrix.

    One product per run: a BLAS rounds a row differently if a product has more or fewer rows, and groups are smaller
    where gates are computed again.
    """
    for place in range(groups[lo], groups[hi]):
        run = order[place]
        own, first, rows = maps[table[run, KEY]], table[run, SLOT], table[run, STOP] - table[run, START]
        if own[X]:
            x, (gates, _) = matrix(own[X], own[SLOTS], own[FAN_X], like), gates_of(run, table, maps, like)
            weight = x_weight_of(X_WEIGHT, run, table, maps, like)
            multiply(blas, x[first : first + rows], weight, gates[first : first + rows], 0)


@compile_kernel
def gradients_of_inputs(lo, hi, groups, order, table, maps, blas, like):
    """Of inputs and their weights, of groups ``lo:hi``, from the gradients of the pre-activations."""
    for group in range(lo, hi):
        run = order[groups[group]]
        own, (first, stop) = maps[table[run, KEY]], slots_of(group, groups, order, table)
        if own[X]:
            x, (gates, _) = matrix(own[X], own[SLOTS], own[FAN_X], like), gates_of(run, table, maps, like)
            d_x, d_gates = matrix(own[D_X], own[SLOTS], own[FAN_X], like), gates[first:stop]
            d_weight = x_weight_of(D_X_WEIGHT, run, table, maps, like)
            add_gradients(blas, d_gates, x[first:stop], d_weight, d_weight[:0].reshape(-1))
            multiply_back(blas, d_gates, x_weight_of(X_WEIGHT, run, table, maps, like), d_x[first:stop], 0)


@compile_kernel
def gradients(lo, hi, groups, order, table, maps, blas, children, h, together):
    """Of the weights, to which they are added: of groups ``lo:hi`` of runs that have one matrix.

    Inputs are gathered once more, for so many rows ``together``.
    """
    n = h.shape[1]
    for group in range(lo, hi):
        first = order[groups[group]]
        gates, _ = gates_of(first, table, maps, h)
        arity, slot, k = maps[table[first, KEY], ARITY], table[first, SLOT], 0
        d_weight, d_bias = weight_gradient_of(first, table, maps, h)
        rows = 0
        for place in range(groups[group], groups[group + 1]):
            rows += table[order[place], STOP] - table[order[place], START]
        i = np.empty((min(rows, together), arity * n), h.dtype)
        for place in range(groups[group], groups[group + 1]):
            run = order[place]
            for row in range(table[run, STOP] - table[run, START]):
                edge = table[run, EDGE] + row * arity
                take(i[k].reshape(arity, n), children[edge : edge + arity], h)
                k += 1
                if k == len(i):
                    add_gradients(blas, gates[slot : slot + k], i, d_weight, d_bias)
                    slot, k = slot + k, 0
        add_gradients(blas, gates[slot : slot + k], i[:k], d_weight, d_bias)
