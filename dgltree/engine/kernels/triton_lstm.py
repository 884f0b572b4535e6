"""Triton: the step of the N-ary Tree-LSTM. A row of gates is ``[u; in; o; f_1 ... f_N]``; c is a memory of one row."""

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
    tanh,
)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def forward(
    start, rows, pre, bias, mask, children, memory, h, base, keep, n, width, arity, depth,
    DROPPED: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The new state of a row; see :class:`dgltree.engine.kernels.triton_kernel.TritonKernel`."""
    row, c = start + tl.program_id(0).to(tl.int64), tl.arange(0, B)
    inside, k = c < n, tl.arange(0, A)[:, None]
    some = k < arity
    slot, matrix, edge = find(row, base, rows)
    slot = tl.where(keep != 0, slot, row - start)
    a, b = pre + slot * width, bias + matrix * width
    u = tanh(tl.load(a + c, inside, 0.0) + tl.load(b + c, inside, 0.0))
    i, o = apply_sigmoid(a, b, 1, n, c, inside), apply_sigmoid(a, b, 2, n, c, inside)
    own = inside[None, :] & some
    f = apply_sigmoid(a, b, 3 + k, n, c[None, :], own)
    places, there = child_memories(children, edge, k, some, base, memory, 1, n)
    c_k = tl.load(places + c[None, :], there & inside[None, :], 0.0)
    tl.debug_barrier()
    tl.store(a + c, u, inside)
    tl.store(a + n + c, i, inside)
    tl.store(a + 2 * n + c, o, inside)
    tl.store(a + (3 + k) * n + c[None, :], f, own)
    if DROPPED:
        u *= tl.load(mask + (row - base) * n + c, inside, 0.0)
    new = i * u + tl.sum(f * c_k, 0)
    tl.store(memory + (row - base) * n + c, new, inside)
    tl.store(h + row * n + c, o * tanh(new), inside)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def backward(
    start, rows, pre, mask, children, memory, d_memory, given_h, given_c, pointer, edges, parents, kept_gates,
    sent, base, n, width, arity, depth,
    DROPPED: tl.constexpr, GIVEN: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """A row's gradients; see :class:`dgltree.engine.kernels.triton_kernel.TritonKernel`; d_memory may be memory."""
    row, c = start + tl.program_id(0).to(tl.int64), tl.arange(0, B)
    inside, k = c < n, tl.arange(0, A)[:, None]
    some = k < arity
    slot, _, edge = find(row, base, rows)
    a = pre + slot * width
    u, i = tl.load(a + c, inside, 0.0), tl.load(a + n + c, inside, 0.0)
    o, t = tl.load(a + 2 * n + c, inside, 0.0), tanh(tl.load(memory + (row - base) * n + c, inside, 0.0))
    d_h = pull_h(row, given_h, pointer, edges, sent, n, c, inside)
    d_c = pull_memory(
        row, 0, given_c, pointer, edges, parents, base, kept_gates, d_memory, 1, n, c, inside, GIVEN
    ) + d_h * o * (1 - t * t)
    d_pushed = d_c * tl.load(mask + (row - base) * n + c, inside, 0.0) if DROPPED else d_c
    gates, own = (3 + k) * n + c[None, :], inside[None, :] & some
    f = tl.load(a + gates, own, 0.0)
    places, there = child_memories(children, edge, k, some, base, memory, 1, n)
    c_k = tl.load(places + c[None, :], there & inside[None, :], 0.0)
    tl.debug_barrier()
    tl.store(a + c, d_pushed * i * (1 - u * u), inside)
    tl.store(a + n + c, d_pushed * u * i * (1 - i), inside)
    tl.store(a + 2 * n + c, d_h * t * o * (1 - o), inside)
    tl.store(kept_gates + (edge + k) * n + c[None, :], f, own)
    tl.store(a + gates, d_c[None, :] * c_k * f * (1 - f), own)
    tl.store(d_memory + (row - base) * n + c, d_c, inside)


class TritonLSTMKernel(TritonKernel):
    """Steps of the N-ary Tree-LSTM."""

    forward_row = forward
    backward_row = backward
