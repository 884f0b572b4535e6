"""Triton: the step of the stack-augmented Tree-LSTM and of Tree-SMU.

A row of gates is ``[u; o; push; (pop); (noop); g_1 ... g_N; (data gate); (q)]``. A program goes down the stack with the
row above, its own and the one below in registers; children are side by side, up to the next power of two, A.
"""

from typing import ClassVar

import triton
import triton.language as tl

from dgltree.engine.kernels.triton_kernel import TritonKernel
from dgltree.engine.kernels.triton_parts import (
    TABLES,
    VARYING,
    apply_sigmoid,
    child_memories,
    find,
    pull_h,
    pull_memory,
    sigmoid,
    tanh,
)


@triton.jit
def weigh(s, count, NORMALIZE: tl.constexpr):
    """An action of its sigmoid: its part of the sum of all, or itself; ``count`` is e^(s - 1/2) of all together."""
    return tl.exp(s - 0.5) / count if NORMALIZE else s


@triton.jit
def combine_rows(g, places, there, r, depth, n, c, inside):
    """Row r of the children's stacks, (A, B), and (B,) their sum, each times its gate; rows from depth on are 0."""
    whole = tl.full([1, 1], r, tl.int32) < depth
    S = tl.load(places + r * n + c[None, :], there & inside[None, :] & whole, 0.0)
    return S, tl.sum(g * S, 0)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def forward(
    start, rows, pre, bias, mask, children, memory, h, base, keep, n, width, arity, depth,
    POP: tl.constexpr, NOOP: tl.constexpr, NORMALIZE: tl.constexpr, DATA_GATE: tl.constexpr, TOP_K: tl.constexpr,
    GATED: tl.constexpr, DROPPED: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The new state of a row; see :class:`dgltree.engine.kernels.triton_kernel.TritonKernel`."""
    row, c = start + tl.program_id(0).to(tl.int64), tl.arange(0, B)
    inside, k = c < n, tl.arange(0, A)[:, None]
    some = k < arity
    slot, matrix, edge = find(row, base, rows)
    slot = tl.where(keep != 0, slot, row - start)
    a, b = pre + slot * width, bias + matrix * width
    u = tanh(tl.load(a + c, inside, 0.0) + tl.load(b + c, inside, 0.0))
    o, push = apply_sigmoid(a, b, 1, n, c, inside), apply_sigmoid(a, b, 2, n, c, inside)
    pop = apply_sigmoid(a, b, 3, n, c, inside) if POP else push
    noop = apply_sigmoid(a, b, 3 + POP, n, c, inside) if NOOP else push
    gates, q = 3 + POP + NOOP + k, 3 + POP + NOOP + arity
    g = apply_sigmoid(a, b, gates, n, c[None, :], inside[None, :] & some)
    data = apply_sigmoid(a, b, q, n, c, inside) if DATA_GATE else u
    tl.debug_barrier()
    tl.store(a + c, u, inside)
    tl.store(a + n + c, o, inside)
    tl.store(a + 2 * n + c, push, inside)
    if POP:
        tl.store(a + 3 * n + c, pop, inside)
    if NOOP:
        tl.store(a + (3 + POP) * n + c, noop, inside)
    tl.store(a + gates * n + c[None, :], g, inside[None, :] & some)
    if DROPPED:
        u *= tl.load(mask + (row - base) * n + c, inside, 0.0)
    if DATA_GATE:
        tl.store(a + q * n + c, data, inside)
        u *= data
        q += 1
    total = tl.exp(push - 0.5)
    if POP:
        total += tl.exp(pop - 0.5)
    if NOOP:
        total += tl.exp(noop - 0.5)
    push, pop, noop = weigh(push, total, NORMALIZE), weigh(pop, total, NORMALIZE), weigh(noop, total, NORMALIZE)
    places, there = child_memories(children, edge, k, some, base, memory, depth, n)
    above, read = u, tl.zeros_like(u)
    _, own = combine_rows(g, places, there, 0, depth, n, c, inside)
    for r in range(depth):
        _, below = combine_rows(g, places, there, r + 1, depth, n, c, inside)
        new = push * above
        if POP:
            new += pop * below
        if NOOP:
            new += noop * own
        tl.store(memory + ((row - base) * depth + r) * n + c, new, inside)
        if r < TOP_K:
            if TOP_K == 1:
                read = new
            elif GATED:
                weights = apply_sigmoid(a, b, q + r, n, c, inside)
                tl.debug_barrier()
                tl.store(a + (q + r) * n + c, weights, inside)
                read += weights * new
            else:
                weight = sigmoid(tl.load(a + q * n + r) + tl.load(b + q * n + r))
                tl.debug_barrier()
                tl.store(a + q * n + r, weight)
                read += weight * new
        above, own = own, below
    tl.store(h + row * n + c, o * tanh(read), inside)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def backward(
    start, rows, pre, mask, children, memory, d_memory, given_h, given_S, pointer, edges, parents, kept_gates,
    sent, base, n, width, arity, depth,
    POP: tl.constexpr, NOOP: tl.constexpr, NORMALIZE: tl.constexpr, DATA_GATE: tl.constexpr, TOP_K: tl.constexpr,
    GATED: tl.constexpr, DROPPED: tl.constexpr, GIVEN: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """A row's gradients; see :class:`dgltree.engine.kernels.triton_kernel.TritonKernel`; d_memory may be memory."""
    row, c = start + tl.program_id(0).to(tl.int64), tl.arange(0, B)
    inside, k = c < n, tl.arange(0, A)[:, None]
    some = k < arity
    slot, _, edge = find(row, base, rows)
    a, S = pre + slot * width, memory + (row - base) * depth * n
    gate = (3 + POP + NOOP + arity) * n
    q = gate + n if DATA_GATE else gate

    d_h = pull_h(row, given_h, pointer, edges, sent, n, c, inside)
    o, read = tl.load(a + n + c, inside, 0.0), tl.zeros_like(d_h)
    for r in tl.static_range(TOP_K):
        read += weight_of(a, q, r, n, c, inside, TOP_K, GATED) * tl.load(S + r * n + c, inside, 0.0)
    t = tanh(read)
    d_read = d_h * o * (1 - t * t)
    s_push, s_pop, s_noop = tl.load(a + 2 * n + c, inside, 0.0), tl.zeros_like(d_h), tl.zeros_like(d_h)
    total = tl.exp(s_push - 0.5)
    if POP:
        s_pop = tl.load(a + 3 * n + c, inside, 0.0)
        total += tl.exp(s_pop - 0.5)
    if NOOP:
        s_noop = tl.load(a + (3 + POP) * n + c, inside, 0.0)
        total += tl.exp(s_noop - 0.5)
    push, pop, noop = weigh(s_push, total, NORMALIZE), weigh(s_pop, total, NORMALIZE), weigh(s_noop, total, NORMALIZE)
    u, scale = tl.load(a + c, inside, 0.0), tl.zeros_like(d_h) + 1
    if DROPPED:
        scale *= tl.load(mask + (row - base) * n + c, inside, 0.0)
    data = tl.load(a + gate + c, inside, 0.0) if DATA_GATE else tl.zeros_like(d_h) + 1

    gates, own = (3 + POP + NOOP + k) * n + c[None, :], inside[None, :] & some
    g = tl.load(a + gates, own, 0.0)
    places, there = child_memories(children, edge, k, some, base, memory, depth, n)
    tl.debug_barrier()
    tl.store(a + n + c, d_h * t * o * (1 - o), inside)
    above, here = tl.zeros_like(d_h), tl.zeros_like(d_h)  # gradients of rows of S
    d_push, d_pop, d_noop, d_u = tl.zeros_like(d_h), tl.zeros_like(d_h), tl.zeros_like(d_h), tl.zeros_like(d_h)
    d_g = tl.zeros_like(g)
    for r in range(depth + 1):  # here: of row r - 1
        below = tl.zeros_like(d_h)
        if r < depth:
            below = pull_memory(
                row, r, given_S, pointer, edges, parents, base, kept_gates, d_memory, depth, n, c, inside, GIVEN
            )
            if r < TOP_K:
                weight = weight_of(a, q, r, n, c, inside, TOP_K, GATED)
                below += weight * d_read
                if TOP_K > 1:
                    d_weight = d_read * tl.load(S + r * n + c, inside, 0.0)
                    tl.debug_barrier()
                    undo_weight(a, q, r, weight, d_weight, n, c, inside, GATED)
        if r == 0:
            d_push, d_u = u * scale * data * below, push * below
        else:
            S_k, Sc = combine_rows(g, places, there, r - 1, depth, n, c, inside)
            d_Sc = push * below
            d_push += Sc * below
            if POP:
                d_Sc += pop * above
                d_pop += Sc * above
            if NOOP:
                d_Sc += noop * here
                d_noop += Sc * here
            d_g += S_k * d_Sc[None, :]
            tl.store(d_memory + ((row - base) * depth + r - 1) * n + c, d_Sc, inside)
        above, here = here, below

    if NORMALIZE:
        mean = push * d_push + pop * d_pop + noop * d_noop
        d_push, d_pop, d_noop = push * (d_push - mean), pop * (d_pop - mean), noop * (d_noop - mean)
    tl.store(a + 2 * n + c, d_push * s_push * (1 - s_push), inside)
    if POP:
        tl.store(a + 3 * n + c, d_pop * s_pop * (1 - s_pop), inside)
    if NOOP:
        tl.store(a + (3 + POP) * n + c, d_noop * s_noop * (1 - s_noop), inside)
    if DATA_GATE:
        tl.store(a + gate + c, d_u * u * scale * data * (1 - data), inside)
    tl.store(a + c, d_u * scale * data * (1 - u * u), inside)
    tl.store(kept_gates + (edge + k) * n + c[None, :], g, own)
    tl.store(a + gates, d_g * g * (1 - g), own)


@triton.jit
def weight_of(a, q, r, n, c, inside, TOP_K: tl.constexpr, GATED: tl.constexpr):
    """The factor of row r when it is read, from activated gates that begin at q: 1, one number or a vector."""
    if TOP_K == 1:
        weight = tl.zeros_like(c).to(a.dtype.element_ty) + 1
    elif GATED:
        weight = tl.load(a + q + r * n + c, inside, 0.0)
    else:
        weight = tl.zeros_like(c) + tl.load(a + q + r)
    return weight


@triton.jit
def undo_weight(a, q, r, weight, d, n, c, inside, GATED: tl.constexpr):
    """The gradient of a weight's pre-activation in its place, from those of the weight (B,) and it at each element."""
    if GATED:
        tl.store(a + q + r * n + c, d * weight * (1 - weight), inside)
    else:
        one = tl.max(weight, 0)  # of which each element has a copy
        tl.store(a + q + r, tl.sum(d, 0) * one * (1 - one))


class TritonStackKernel(TritonKernel):
    """Steps of the stack-augmented Tree-LSTM."""

    forward_row = forward
    backward_row = backward
    names: ClassVar = ("POP", "NOOP", "NORMALIZE", "DATA_GATE", "TOP_K", "GATED")
