"""Triton: the products of a step in one launch each way, and the gradients of a map's weights in two.

A program has a tile: up to T rows of one matrix (``layout.py``), and B columns of what it computes. It reads K of the
inputs at a time. Products are summed up in one order, whatever runs at the same time: always the same bits.
"""

import triton
import triton.language as tl

from dgltree.engine.kernels.triton_parts import TABLES, VARYING


@triton.jit
def read_tile(tile, tiles):
    """The first row of a tile, how many it has, the first one's slot, their matrix, and the first edge."""
    m = tiles + tile * 5
    return tl.load(m), tl.load(m + 1), tl.load(m + 2), tl.load(m + 3), tl.load(m + 4)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def products(
    first, start, tiles, h, pre, weight, children, n, arity, width, keep, read,
    PRECISION: tl.constexpr, T: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """The pre-activations of a tile: the h of its children times its matrix, with ``read`` added to what is there.

    Without ``keep`` there is room for the gates of one step, which begins at ``start``.
    """
    row, count, slot, matrix, edge = read_tile(first + tl.program_id(0), tiles)
    slot = tl.where(keep != 0, slot, row - start)
    r, c = tl.arange(0, T), tl.program_id(1) * B + tl.arange(0, B)
    some, inside = r < count, c < width
    out = pre + (slot + r)[:, None] * width + c[None, :]
    there = some[:, None] & inside[None, :]
    acc = tl.load(out, there & (read != 0), 0.0)
    for k in range(arity):
        child = tl.load(children + edge + r * arity + k, some, 0)
        for lo in range(0, n, K):
            j = lo + tl.arange(0, K)
            x = tl.load(h + child[:, None] * n + j[None, :], some[:, None] & (j < n)[None, :], 0.0)
            place = (matrix * width + c[None, :]) * (arity * n) + k * n + j[:, None]
            w = tl.load(weight + place, inside[None, :] & (j < n)[:, None], 0.0)
            acc += tl.dot(x, w, input_precision=PRECISION, out_dtype=acc.dtype)
    tl.debug_barrier()
    tl.store(out, acc, there)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def sends(
    first, tiles, pre, weight, sent, n, arity, width,
    PRECISION: tl.constexpr, T: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """What a tile sends to the h of its children: the gradients of its pre-activations times its matrix."""
    _, count, slot, matrix, edge = read_tile(first + tl.program_id(0), tiles)
    r, c = tl.arange(0, T), tl.program_id(1) * B + tl.arange(0, B)
    some, inside = r < count, c < arity * n
    acc = tl.zeros((T, B), pre.dtype.element_ty)
    for lo in range(0, width, K):
        j = lo + tl.arange(0, K)
        d = tl.load(pre + (slot + r)[:, None] * width + j[None, :], some[:, None] & (j < width)[None, :], 0.0)
        place = (matrix * width + j)[:, None] * (arity * n) + c[None, :]
        w = tl.load(weight + place, (j < width)[:, None] & inside[None, :], 0.0)
        acc += tl.dot(d, w, input_precision=PRECISION, out_dtype=acc.dtype)
    tl.store(sent + (edge + r * arity)[:, None] * n + c[None, :], acc, some[:, None] & inside[None, :])


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def sums(
    chunk, slots, chunks, edges, pre, h, children, partial, partial_bias, n, arity, width,
    PRECISION: tl.constexpr, T: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The part of a chunk's rows in a weight's gradient, (B, B), and in its bias's by the first program of a line."""
    q = tl.program_id(0).to(tl.int64)
    slot, count = tl.load(chunks + (chunk + q) * 2), tl.load(chunks + (chunk + q) * 2 + 1)
    o, c = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(2) * B + tl.arange(0, B)
    rows_out, inside = o < width, c < arity * n
    acc, total = tl.zeros((B, B), pre.dtype.element_ty), tl.zeros((B,), pre.dtype.element_ty)
    for lo in range(0, count, T):
        r = lo + tl.arange(0, T)
        some = r < count
        d = tl.load(pre + (slot + r)[None, :] * width + o[:, None], some[None, :] & rows_out[:, None], 0.0)
        total += tl.sum(d, 1)
        if arity > 0:
            edge = tl.load(edges + slots + slot + r, some, 0)
            there = some[:, None] & inside[None, :]
            child = tl.load(children + edge[:, None] + c[None, :] // n, there, 0)
            x = tl.load(h + child * n + c[None, :] % n, there, 0.0)
            acc += tl.dot(d, x, input_precision=PRECISION, out_dtype=acc.dtype)
    place = (q * width + o)[:, None] * (arity * n) + c[None, :]
    tl.store(partial + place, acc, rows_out[:, None] & inside[None, :])
    if tl.program_id(2) == 0:
        tl.store(partial_bias + q * width + o, total, rows_out)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def add_up(matrix, firsts, partial, partial_bias, d_weight, d_bias, size, width, B: tl.constexpr):
    """The gradients of a matrix and its bias, ``size`` and ``width`` numbers: its chunks' ones, in their order."""
    m, e = tl.program_id(0).to(tl.int64), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B,), d_weight.dtype.element_ty)
    for q in range(tl.load(firsts + matrix + m), tl.load(firsts + matrix + m + 1)):
        acc += tl.load(partial + q * size + e, e < size, 0.0)
        acc += tl.load(partial_bias + q * width + e - size, (e >= size) & (e < size + width), 0.0)
    tl.store(d_weight + m * size + e, acc, e < size)
    tl.store(d_bias + m * width + e - size, acc, (e >= size) & (e < size + width))
