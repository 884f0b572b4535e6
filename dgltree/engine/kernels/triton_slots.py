"""Triton: the slots of Ordered Memory at one word, one after another, with their products; see
``dgltree/encoders/latent/ordered_memory/slots.py``, which says the same in torch, and ``triton_memory.py`` for the
buffers.

A program computes all slots of T sequences, with the weights from the cache of the device; it reads K inputs of a
product and computes B columns at a time. What a slot writes, the next steps of the same program read, behind a barrier.
A row of gates is ``[g_1; g_2; c; u]``, n values each.
"""

import math

import triton
import triton.language as tl

from dgltree.engine.kernels.triton_attention import VARYING
from dgltree.engine.kernels.triton_parts import sigmoid

HALF_SQRT, INVERSE_SQRT = tl.constexpr(math.sqrt(0.5)), tl.constexpr(1 / math.sqrt(2 * math.pi))
"""sqrt(1/2) and the density of N(0, 1) at 0."""

WARPS = 8
"""Warps of a program: with 4 a thread has not enough registers for tiles of 64 columns."""


@triton.jit
def multiply(acc, rows, some, matrix, row, inside, size, PRECISION: tl.constexpr, K: tl.constexpr):
    """(T, B) plus the rows (T) at ``rows``, (., size), times the rows of a matrix (., size) at ``row`` (B)."""
    for lo in range(0, size, K):
        k = lo + tl.arange(0, K)
        x = tl.load(rows[:, None] + k[None, :], some[:, None] & (k < size)[None, :], 0.0)
        m = tl.load(matrix + row[None, :] * size + k[:, None], inside[None, :] & (k < size)[:, None], 0.0)
        acc += tl.dot(x, m, input_precision=PRECISION, out_dtype=acc.dtype)
    return acc


@triton.jit
def multiply_back(acc, rows, some, matrix, c, inside, size, columns, PRECISION: tl.constexpr, K: tl.constexpr):
    """(T, B) plus the rows (T) at ``rows``, (., size), times the columns ``c`` (B) of a matrix (size, columns)."""
    for lo in range(0, size, K):
        k = lo + tl.arange(0, K)
        x = tl.load(rows[:, None] + k[None, :], some[:, None] & (k < size)[None, :], 0.0)
        m = tl.load(matrix + k[:, None] * columns + c[None, :], (k < size)[:, None] & inside[None, :], 0.0)
        acc += tl.dot(x, m, input_precision=PRECISION, out_dtype=acc.dtype)
    return acc


@triton.jit(do_not_specialize=VARYING)
def write(
    start, count, slots, base, later, count_later, opens, x, present, M_hat, M_hat_dropped, M, pi, hidden, active,
    gates, below, below_dropped, normal, rstd, states, vertical, second, second_bias, norm, norm_bias, below_mask,
    active_mask, key_mask, n, EPS: tl.constexpr,
    GELU: tl.constexpr, DROPPED: tl.constexpr, MASKED: tl.constexpr, KEYED: tl.constexpr, PRECISION: tl.constexpr,
    T: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """M^ of all slots of a word for T sequences, as the next word reads it, and the state after the word."""
    r = tl.program_id(0).to(tl.int64) * T + tl.arange(0, T)
    some, word = r < count, start + r
    here = (tl.load(present + word, some, 0) != 0)[:, None]
    for lo in range(0, n, B):
        c = lo + tl.arange(0, B)
        there = some[:, None] & (c < n)[None, :]
        v = tl.load(x + word[:, None] * n + c[None, :], there, 0.0)
        place = (base + r)[:, None] * n + c[None, :]
        tl.store(below + place, v, there)
        if MASKED:
            tl.store(below_dropped + place, v * tl.load(below_mask + place, there, 0.0), there)
        if opens != 0:
            v = tl.where(here, v, tl.load(M_hat + place, there, 0.0))
            place, there = (later + r)[:, None] * n + c[None, :], there & (r < count_later)[:, None]
            tl.debug_barrier()
            tl.store(M_hat + place, v, there)
            if KEYED:
                tl.store(M_hat_dropped + place, v * tl.load(key_mask + place, there, 0.0), there)
    for slot in range(slots):
        row = base + slot * count + r
        tl.debug_barrier()
        for lo in range(0, 4 * n, B):
            c = lo + tl.arange(0, B)
            inside = c < 4 * n
            there, place = some[:, None] & inside[None, :], row[:, None] * (4 * n) + c[None, :]
            v = tl.load(hidden + place, there, 0.0)
            v = multiply(v, below_dropped + row * n, some, vertical, c, inside, n, PRECISION, K)
            tl.debug_barrier()
            if GELU:
                tl.store(hidden + place, v, there)
                v = 0.5 * v * (1 + tl.math.erf(v * HALF_SQRT))
            else:
                v = tl.where(v < 0, 0.0, v)  # NaN stays NaN
            if DROPPED:
                v *= tl.load(active_mask + place, there, 0.0)
            tl.store(active + place, v, there)
        tl.debug_barrier()
        mean, square = tl.zeros((T,), M.dtype.element_ty), tl.zeros((T,), M.dtype.element_ty)
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            inside = c < n
            there, place = some[:, None] & inside[None, :], row[:, None] * n + c[None, :]
            a, gate = active + row * (4 * n), gates + row[:, None] * (4 * n) + c[None, :]
            zero = tl.zeros((T, B), M.dtype.element_ty)
            bias = second_bias + c
            g_1 = zero + tl.load(bias, inside, 0.0)[None, :]
            g_2 = zero + tl.load(bias + n, inside, 0.0)[None, :]
            o = zero + tl.load(bias + 2 * n, inside, 0.0)[None, :]
            u = zero + tl.load(bias + 3 * n, inside, 0.0)[None, :]
            for at in range(0, 4 * n, K):
                k = at + tl.arange(0, K)
                v = tl.load(a[:, None] + k[None, :], some[:, None] & (k < 4 * n)[None, :], 0.0)
                m, own = second + k[:, None], inside[None, :] & (k < 4 * n)[:, None]
                line, block = c[None, :] * (4 * n), 4 * n * n  # below 2^31 up to 11,000 columns
                g_1 += tl.dot(v, tl.load(m + line, own, 0.0), input_precision=PRECISION, out_dtype=g_1.dtype)
                g_2 += tl.dot(v, tl.load(m + line + block, own, 0.0), input_precision=PRECISION, out_dtype=g_1.dtype)
                o += tl.dot(v, tl.load(m + line + 2 * block, own, 0.0), input_precision=PRECISION, out_dtype=g_1.dtype)
                u += tl.dot(v, tl.load(m + line + 3 * block, own, 0.0), input_precision=PRECISION, out_dtype=g_1.dtype)
            g_1, g_2, o = sigmoid(g_1), sigmoid(g_2), sigmoid(o)
            tl.store(gate, g_1, there)
            tl.store(gate + n, g_2, there)
            tl.store(gate + 2 * n, o, there)
            tl.store(gate + 3 * n, u, there)
            v = g_1 * tl.load(below + place, there, 0.0) + g_2 * tl.load(M + place, there, 0.0) + o * u
            v = tl.where(there, v, 0.0)
            tl.store(normal + place, v, there)
            mean += tl.sum(v, 1)
        mean /= n
        tl.debug_barrier()
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            there = some[:, None] & (c < n)[None, :]
            v = tl.load(normal + row[:, None] * n + c[None, :], there, 0.0) - mean[:, None]
            square += tl.sum(tl.where(there, v * v, 0.0), 1)
        scale = 1 / tl.sqrt(square / n + EPS)
        tl.store(rstd + row, scale, some)
        share = tl.load(pi + row, some, 0.0)[:, None]
        after = later + (slot + opens) * count_later + r
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            inside = c < n
            there, place = some[:, None] & inside[None, :], row[:, None] * n + c[None, :]
            v = (tl.load(normal + place, there, 0.0) - mean[:, None]) * scale[:, None]
            tl.debug_barrier()
            tl.store(normal + place, v, there)
            h = v * tl.load(norm + c, inside, 0.0)[None, :] + tl.load(norm_bias + c, inside, 0.0)[None, :]
            w = tl.load(x + word[:, None] * n + c[None, :], there, 0.0)
            # From the nearer end, as torch's lerp does: pi = 1 gives h and pi = 0 gives x without rounding.
            v = tl.where(share < 0.5, w + share * (h - w), h - (1 - share) * (h - w))
            if slot + 1 < slots:
                place_above = (row + count)[:, None] * n + c[None, :]
                tl.store(below + place_above, v, there)
                if MASKED:
                    tl.store(
                        below_dropped + place_above, v * tl.load(below_mask + place_above, there, 0.0), there
                    )  # fmt: skip
            v = tl.where(here, v, tl.load(M_hat + place, there, 0.0))
            if slot + 1 == slots:
                tl.store(states + word[:, None] * n + c[None, :], v, there)
            place, there = after[:, None] * n + c[None, :], there & (r < count_later)[:, None]
            tl.store(M_hat + place, v, there)
            if KEYED:
                tl.store(M_hat_dropped + place, v * tl.load(key_mask + place, there, 0.0), there)


@triton.jit
def pulled(d_M_hat, d_key, key_mask, rows, c, some, n, KEYED: tl.constexpr):
    """(T, B) what the next word sends to M^: through its slots and through its keys."""
    there, place = some[:, None] & (c < n)[None, :], rows[:, None] * n + c[None, :]
    d = tl.load(d_key + place, there, 0.0)
    if KEYED:
        d *= tl.load(key_mask + place, there, 0.0)
    return d + tl.load(d_M_hat + place, there, 0.0)


@triton.jit(do_not_specialize=VARYING)
def write_back(
    start, count, slots, base, later, count_later, opens, x, present, M, pi, hidden, active, gates, below, normal,
    rstd, vertical, second, norm, norm_bias, below_mask, active_mask, key_mask, d_states, d_M_hat, d_key, d_x, d_M,
    d_pi, d_hidden, d_gates, d_h, d_below, n,
    GELU: tl.constexpr, DROPPED: tl.constexpr, MASKED: tl.constexpr, KEYED: tl.constexpr, PRECISION: tl.constexpr,
    T: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """The gradients of all slots of a word for T sequences: of M and pi added to what there is."""
    r = tl.program_id(0).to(tl.int64) * T + tl.arange(0, T)
    some, word, goes_on = r < count, start + r, r < count_later
    here = (tl.load(present + word, some, 0) != 0)[:, None]
    for lo in range(0, n, B):
        c = lo + tl.arange(0, B)
        there = some[:, None] & (c < n)[None, :]
        d = tl.zeros((T, B), M.dtype.element_ty)
        if opens != 0:
            d = pulled(d_M_hat, d_key, key_mask, later + r, c, goes_on, n, KEYED)
        tl.debug_barrier()
        # What a slot that opens at the next word reads: x~, or if the word is absent what that was before.
        tl.store(d_x + word[:, None] * n + c[None, :], tl.where(here, d, 0.0), there)
        tl.store(d_M_hat + (base + r)[:, None] * n + c[None, :], tl.where(here, 0.0, d), there)
    for back in range(slots):
        slot = slots - 1 - back
        row, after = base + slot * count + r, later + (slot + opens) * count_later + r
        share, scale = tl.load(pi + row, some, 0.0)[:, None], tl.load(rstd + row, some, 0.0)[:, None]
        zero = tl.zeros((T,), M.dtype.element_ty)
        of_pi, across, along = zero, zero, zero
        tl.debug_barrier()
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            inside = c < n
            there, place = some[:, None] & inside[None, :], row[:, None] * n + c[None, :]
            place_x = word[:, None] * n + c[None, :]
            d = pulled(d_M_hat, d_key, key_mask, after, c, goes_on, n, KEYED)
            passed = tl.zeros((T, B), M.dtype.element_ty)
            if slot == 0:
                passed += tl.load(d_M_hat + place, there, 0.0)
            if back == 0:
                d += tl.load(d_states + place_x, there, 0.0)
            passed += tl.where(here, 0.0, d)
            if back != 0:
                d += tl.load(d_below + place, there, 0.0)
            d = tl.where(here, d, 0.0)
            y, w = tl.load(normal + place, there, 0.0), tl.load(norm + c, inside, 0.0)[None, :]
            v = tl.load(x + place_x, there, 0.0)
            of_pi += tl.sum(tl.where(there, d * (y * w + tl.load(norm_bias + c, inside, 0.0)[None, :] - v), 0.0), 1)
            d_v = tl.load(d_x + place_x, there, 0.0) + d * (1 - share)
            d *= share
            across += tl.sum(d * w, 1)
            along += tl.sum(d * w * y, 1)
            tl.debug_barrier()
            tl.store(d_M_hat + place, passed, there)
            tl.store(d_x + place_x, d_v, there)
            tl.store(d_h + place, d, there)
        d_sum = tl.load(d_pi + row, some, 0.0) + of_pi
        tl.debug_barrier()
        tl.store(d_pi + row, d_sum, some)
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            inside = c < n
            there, place = some[:, None] & inside[None, :], row[:, None] * n + c[None, :]
            gate = row[:, None] * (4 * n) + c[None, :]
            y, w = tl.load(normal + place, there, 0.0), tl.load(norm + c, inside, 0.0)[None, :]
            d = tl.load(d_h + place, there, 0.0) * w - across[:, None] / n - y * (along[:, None] / n)
            d = tl.where(there, scale * d, 0.0)
            g_1, g_2 = tl.load(gates + gate, there, 0.0), tl.load(gates + gate + n, there, 0.0)
            o, u = tl.load(gates + gate + 2 * n, there, 0.0), tl.load(gates + gate + 3 * n, there, 0.0)
            tl.store(d_gates + gate, d * tl.load(below + place, there, 0.0) * g_1 * (1 - g_1), there)
            tl.store(d_gates + gate + n, d * tl.load(M + place, there, 0.0) * g_2 * (1 - g_2), there)
            tl.store(d_gates + gate + 2 * n, d * u * o * (1 - o), there)
            tl.store(d_gates + gate + 3 * n, d * o, there)
            d_right = tl.load(d_M + place, there, 0.0) + d * g_2
            tl.debug_barrier()
            tl.store(d_M + place, d_right, there)
            tl.store(d_below + place, d * g_1, there)
        tl.debug_barrier()
        for lo in range(0, 4 * n, B):
            c = lo + tl.arange(0, B)
            inside = c < 4 * n
            there, place = some[:, None] & inside[None, :], row[:, None] * (4 * n) + c[None, :]
            d = multiply_back(
                tl.zeros((T, B), M.dtype.element_ty), d_gates + row * (4 * n), some, second, c, inside, 4 * n, 4 * n,
                PRECISION, K
            )  # fmt: skip
            if DROPPED:
                d *= tl.load(active_mask + place, there, 0.0)
            if GELU:
                v = tl.load(hidden + place, there, 0.0)
                d *= 0.5 * (1 + tl.math.erf(v * HALF_SQRT)) + v * INVERSE_SQRT * tl.exp(-0.5 * v * v)
            else:
                d = tl.where(tl.load(active + place, there, 0.0) > 0, d, 0.0)
            tl.store(d_hidden + place, d, there)
        tl.debug_barrier()
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            inside = c < n
            there, place = some[:, None] & inside[None, :], row[:, None] * n + c[None, :]
            d = multiply_back(
                tl.zeros((T, B), M.dtype.element_ty), d_hidden + row * (4 * n), some, vertical, c, inside, 4 * n, n,
                PRECISION, K
            )  # fmt: skip
            if MASKED:
                d *= tl.load(below_mask + place, there, 0.0)
            d += tl.load(d_below + place, there, 0.0)
            if slot == 0:
                place = word[:, None] * n + c[None, :]
                d += tl.load(d_x + place, there, 0.0)
                tl.debug_barrier()
                tl.store(d_x + place, d, there)
            else:
                tl.store(d_below + (row - count)[:, None] * n + c[None, :], d, there)
