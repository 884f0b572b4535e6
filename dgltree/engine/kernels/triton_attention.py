"""Triton: where Ordered Memory writes at a word; see ``dgltree/encoders/latent/ordered_memory``, which says the same in
torch, and ``triton_memory.py`` for the buffers.

A program computes one sequence: a tile of slots (S, up to a power of two) by B columns at a time. ``slots`` are open at
the word, ``opened`` of them (none or one) for the first time: before it they had M = 0 and pi = 0.
"""

import triton
import triton.language as tl

from dgltree.engine.kernels.triton_parts import tanh

VARYING = ["start", "count", "slots", "base", "earlier", "count_earlier", "opened", "later", "count_later", "opens"]
"""Numbers of a word, not to be compiled for where they are 1 or a multiple of 16."""
LEAST_MASK, LEAST_SUM = tl.constexpr(1e-5), tl.constexpr(1e-12)
"""The least values of :func:`dgltree.encoders.latent.ordered_memory.slots.allocate`."""


@triton.jit
def activation(q, key, mean, rstd, norm, norm_bias, c, inside, PAPER: tl.constexpr):
    """(S, B) the key's normal form, and the activation of it and the query (B,)."""
    if PAPER:
        normal = key
        active = tanh(q[None, :] + key)
    else:
        normal = (key - mean[:, None]) * rstd[:, None]
        z = normal * tl.load(norm + c, inside, 0.0)[None, :] + tl.load(norm_bias + c, inside, 0.0)[None, :] + q[None, :]
        active = tl.where(z < 0, 0.0, z)  # NaN stays NaN
    return normal, active


@triton.jit
def moments(key, rows, some, n, EPS: tl.constexpr, PAPER: tl.constexpr, S: tl.constexpr, B: tl.constexpr):
    """(S,) the mean of each slot's key, and 1 over its deviation; those of the paper's form are not read."""
    mean, scale = tl.zeros((S,), key.dtype.element_ty), tl.zeros((S,), key.dtype.element_ty)
    if not PAPER:
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            mean += tl.sum(tl.load(key + rows[:, None] * n + c[None, :], some[:, None] & (c < n)[None, :], 0.0), 1)
        mean /= n
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            there = some[:, None] & (c < n)[None, :]
            off = tl.where(there, tl.load(key + rows[:, None] * n + c[None, :], there, 0.0) - mean[:, None], 0.0)
            scale += tl.sum(off * off, 1)
        scale = 1 / tl.sqrt(scale / n + EPS)
    return mean, scale


@triton.jit
def allocate(
    i, row, rows, some, s, slots, opened, earlier, count_earlier, queries, key, norm, norm_bias, w, score_mask, pi, n,
    EPS: tl.constexpr, SCALE: tl.constexpr, PAPER: tl.constexpr, ALLOWED: tl.constexpr, DROPPED: tl.constexpr,
    S: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """(S,) scores, their exponentials, what is allowed, which slots are closed, and the attention; its sum; moments."""
    mean, rstd = moments(key, rows, some, n, EPS, PAPER, S, B)
    alpha = tl.zeros((S,), key.dtype.element_ty)
    for lo in range(0, n, B):
        c = lo + tl.arange(0, B)
        inside = c < n
        there = some[:, None] & inside[None, :]
        q = tl.load(queries + row * n + c, inside, 0.0)
        keys = tl.load(key + rows[:, None] * n + c[None, :], there, 0.0)
        _, active = activation(q, keys, mean, rstd, norm, norm_bias, c, inside, PAPER)
        if DROPPED:
            active *= tl.load(score_mask + rows[:, None] * n + c[None, :], there, 0.0)
        alpha += tl.sum(active * tl.load(w + c, inside, 0.0)[None, :], 1)
    alpha *= SCALE
    above = earlier + (s + 1 - opened) * count_earlier + i  # of the slot behind this one, before the word
    mask = tl.where(s + 1 < slots, tl.load(pi + above, s + 1 < slots, 0.0), 1.0)
    closed = (mask < LEAST_MASK) | (s >= slots)
    mask = tl.where(closed, 0.0, mask)
    alpha = tl.where((closed if ALLOWED else s >= slots), float("-inf"), alpha)
    e = tl.exp(alpha - tl.max(alpha, 0))
    total = tl.sum(e * mask, 0)
    return alpha, e, mask, closed, e * mask / at_least(total), total, mean, rstd


@triton.jit
def at_least(total):
    """A sum, or ``LEAST_SUM`` if it is less; NaN stays NaN."""
    return tl.where(total < LEAST_SUM, total * 0 + LEAST_SUM, total)


@triton.jit(do_not_specialize=VARYING)
def attend(
    start, count, slots, base, earlier, count_earlier, opened, queries, present, attends, M_hat, M, M_dropped, key, pi,
    p, norm, norm_bias, w, score_mask, right_mask, n, width, EPS: tl.constexpr, SCALE: tl.constexpr,
    PAPER: tl.constexpr, ALLOWED: tl.constexpr, DROPPED: tl.constexpr, MASKED: tl.constexpr, S: tl.constexpr,
    B: tl.constexpr,
):  # fmt: skip
    """p, the sums of it up to each slot (pi), and M of a word of one sequence."""
    i = tl.program_id(0).to(tl.int64)
    row, s = start + i, tl.arange(0, S)
    some, rows = s < slots, base + s * count + i
    had, before = (s >= opened) & some, earlier + (s - opened) * count_earlier + i
    here = tl.load(present + row) != 0
    _, _, _, _, share, _, _, _ = allocate(
        i, row, rows, some, s, slots, opened, earlier, count_earlier, queries, key, norm, norm_bias, w, score_mask, pi,
        n, EPS, SCALE, PAPER, ALLOWED, DROPPED, S, B
    )  # fmt: skip
    share = tl.where((tl.load(attends + row) != 0) & some, share, 0.0)
    left, right = tl.cumsum(share, 0, reverse=True), tl.cumsum(share, 0)
    right = tl.where(here, right, tl.load(pi + before, had, 0.0))
    tl.debug_barrier()
    tl.store(p + row * width + (width - slots) + s, share, some)
    tl.store(pi + rows, right, some)
    for lo in range(0, n, B):
        c = lo + tl.arange(0, B)
        there = some[:, None] & (c < n)[None, :]
        place = rows[:, None] * n + c[None, :]
        new = tl.load(M_hat + place, there, 0.0)
        old = tl.load(M + before[:, None] * n + c[None, :], had[:, None] & (c < n)[None, :], 0.0)
        # From the nearer end, as torch's lerp does: 1 gives M_hat and 0 gives M without rounding.
        near = left[:, None] < 0.5
        mixed = tl.where(near, old + left[:, None] * (new - old), new - (1 - left[:, None]) * (new - old))
        tl.debug_barrier()
        tl.store(M + place, mixed, there)
        if MASKED:
            tl.store(M_dropped + place, mixed * tl.load(right_mask + place, there, 0.0), there)


@triton.jit(do_not_specialize=VARYING)
def attend_back(
    start, count, slots, base, earlier, count_earlier, opened, queries, present, attends, M_hat, M, key, pi, norm,
    norm_bias, w, score_mask, right_mask, d_p, d_M, d_right, d_pi, d_M_hat, d_key, d_queries, of_w, of_norm, n, width,
    EPS: tl.constexpr, SCALE: tl.constexpr,
    PAPER: tl.constexpr, ALLOWED: tl.constexpr, DROPPED: tl.constexpr, MASKED: tl.constexpr, S: tl.constexpr,
    B: tl.constexpr,
):  # fmt: skip
    """The gradients of a word of one sequence, from those of p, pi and M: of M and pi before the word and of the keys
    as they are, of M^ added to what there is; of the query, w and the LayerNorm's weights one row per word.
    """
    i = tl.program_id(0).to(tl.int64)
    row, s = start + i, tl.arange(0, S)
    some, rows = s < slots, base + s * count + i
    had, before = (s >= opened) & some, earlier + (s - opened) * count_earlier + i
    here, read = tl.load(present + row) != 0, tl.load(attends + row) != 0
    alpha, e, mask, closed, share, total, mean, rstd = allocate(
        i, row, rows, some, s, slots, opened, earlier, count_earlier, queries, key, norm, norm_bias, w, score_mask, pi,
        n, EPS, SCALE, PAPER, ALLOWED, DROPPED, S, B
    )  # fmt: skip
    left = tl.cumsum(tl.where(read & some, share, 0.0), 0, reverse=True)
    d_left = tl.zeros((S,), key.dtype.element_ty)
    for lo in range(0, n, B):
        c = lo + tl.arange(0, B)
        inside = (c < n)[None, :]
        there, place = some[:, None] & inside, rows[:, None] * n + c[None, :]
        place_before = before[:, None] * n + c[None, :]
        d = tl.load(d_right + place, there, 0.0)
        if MASKED:
            d *= tl.load(right_mask + place, there, 0.0)
        d += tl.load(d_M + place, there, 0.0)
        new, old = tl.load(M_hat + place, there, 0.0), tl.load(M + place_before, had[:, None] & inside, 0.0)
        d_left += tl.sum(d * (new - old), 1)
        d_new = tl.load(d_M_hat + place, there, 0.0) + d * left[:, None]
        tl.debug_barrier()
        tl.store(d_M + place_before, d * (1 - left[:, None]), had[:, None] & inside)
        tl.store(d_M_hat + place, d_new, there)
    d_sum = tl.load(d_pi + rows, some, 0.0)
    d_share = tl.load(d_p + row * width + (width - slots) + s, some, 0.0) + tl.cumsum(d_left, 0)
    d_share += tl.cumsum(tl.where(here, d_sum, 0.0), 0, reverse=True)
    d_share = tl.where(read & some, d_share, 0.0)
    at = tl.where(total < LEAST_SUM, 0.0, tl.sum(share * d_share, 0))
    d_beta = (d_share - at) / at_least(total)
    d_beta = tl.where(read & some, d_beta, 0.0)
    d_alpha = e * mask * d_beta
    highest = (alpha == tl.max(alpha, 0)) & some
    d_alpha -= tl.where(highest, tl.sum(d_alpha, 0) / tl.sum(highest.to(alpha.dtype), 0), 0.0)
    d_alpha *= SCALE
    tl.debug_barrier()
    above = earlier + (s + 1 - opened) * count_earlier + i
    tl.store(d_pi + above, tl.where(closed, 0.0, e * d_beta), tl.where(here, s + 1 < slots, False))
    tl.store(d_pi + before, d_sum, (here == 0) & had)
    along, across = tl.zeros((S,), key.dtype.element_ty), tl.zeros((S,), key.dtype.element_ty)
    for lo in range(0, n, B):
        c = lo + tl.arange(0, B)
        inside = c < n
        there, place = some[:, None] & inside[None, :], rows[:, None] * n + c[None, :]
        q = tl.load(queries + row * n + c, inside, 0.0)
        normal, active = activation(
            q, tl.load(key + place, there, 0.0), mean, rstd, norm, norm_bias, c, inside, PAPER
        )  # fmt: skip
        d = d_alpha[:, None] * tl.load(w + c, inside, 0.0)[None, :]
        used = active
        if DROPPED:
            drop = tl.load(score_mask + place, there, 0.0)
            used, d = active * drop, d * drop
        if PAPER:
            d = tl.where(there, d * (1 - active * active), 0.0)
        else:
            d = tl.where(there & (active > 0), d, 0.0)
            tl.store(of_norm + row * n + c, tl.sum(tl.where(there, d * normal, 0.0), 0), inside)
            scaled = d * tl.load(norm + c, inside, 0.0)[None, :]
            across += tl.sum(scaled, 1)
            along += tl.sum(scaled * normal, 1)
        tl.store(of_w + row * n + c, tl.sum(tl.where(there, d_alpha[:, None] * used, 0.0), 0), inside)
        tl.store(d_queries + row * n + c, tl.sum(d, 0), inside)
        tl.store(d_key + place, d, there)
    if not PAPER:
        tl.debug_barrier()
        for lo in range(0, n, B):
            c = lo + tl.arange(0, B)
            inside = c < n
            there, place = some[:, None] & inside[None, :], rows[:, None] * n + c[None, :]
            normal = (tl.load(key + place, there, 0.0) - mean[:, None]) * rstd[:, None]
            scaled = tl.load(d_key + place, there, 0.0) * tl.load(norm + c, inside, 0.0)[None, :]
            d = rstd[:, None] * (scaled - across[:, None] / n - normal * (along[:, None] / n))
            tl.debug_barrier()
            tl.store(d_key + place, d, there)
