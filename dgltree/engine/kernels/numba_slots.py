"""Numba: the slots of Ordered Memory at one word, one after another, with their products in one compiled call; see
``dgltree/encoders/latent/ordered_memory/slots.py``, which says the same in torch.

Rows are pairs of a slot and a sequence, slot after slot; those of a slot are the first of the rows of x. A row of gates
is ``[g_1; g_2; c; u]``, n values each.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.numba_compile import compile_kernel, copy, exponential, is_compiled, sigmoid
from dgltree.engine.kernels.numba_product import multiply, multiply_back

HALF_SQRT = math.sqrt(0.5)
INVERSE_SQRT = 1 / math.sqrt(2 * math.pi)  # sqrt(1/2) and the density of N(0, 1) at 0


@compile_kernel
def forward(counts, gelu, blas, eps, x, M, pi, weights, masks, kept, out):
    """M_hat of all rows (pairs, n) into ``out``, and what gradients need into ``kept``; see :class:`SlotKernel`."""
    vertical, second, second_bias, norm, norm_bias = weights
    below_mask, mask = masks
    hidden, active, gates, below, dropped, normal, rstd = kept
    start = before = 0
    for count in counts:
        stop = start + count
        for k in range(count):
            copy(below[start + k], out[start - before + k] if k < before else x[k])
        enter(below[start:stop], below_mask[start:stop], dropped[start:stop])
        multiply(blas, dropped[start:stop], vertical, hidden[start:stop], 1)
        activate(gelu, hidden[start:stop], mask[start:stop], active[start:stop])
        for row in range(start, stop):
            copy(gates[row], second_bias)
        multiply(blas, active[start:stop], second, gates[start:stop], 1)
        for k in range(count):
            row = start + k
            combine(
                gates[row], below[row], M[row], x[k], pi[row], norm, norm_bias, eps, normal[row], rstd[row:], out[row]
            )
        start = stop
        before = count


@compile_kernel
def backward(counts, gelu, blas, x, M, pi, weights, masks, kept, d, grads):
    """Gradients of what ``forward`` reads, from ``d`` (pairs, n) of its result, which is overwritten."""
    vertical, second, _, norm, norm_bias = weights
    below_mask, mask = masks
    hidden, active, gates, below, _, normal, rstd = kept
    d_x, d_hidden, d_gates, d_M, d_pi, d_h, d_below = grads
    stop = len(M)
    for slot in range(len(counts) - 1, -1, -1):
        count = counts[slot]
        before = counts[slot - 1] if slot else 0
        start = stop - count
        for k in range(count):
            row = start + k
            combine_back(
                gates[row], below[row], M[row], x[k], pi[row], norm, norm_bias, normal[row], rstd[row], d[row],
                d_gates[row], d_below[row], d_M[row], d_x[k], d_pi[row:], d_h[row]
            )  # fmt: skip
        multiply_back(blas, d_gates[start:stop], second, d_hidden[start:stop], 0)
        activate_back(gelu, hidden[start:stop], mask[start:stop], active[start:stop], d_hidden[start:stop])
        if len(below_mask):
            masked = np.empty((count, d.shape[1]), d.dtype)
            multiply_back(blas, d_hidden[start:stop], vertical, masked, 0)
            enter(masked, below_mask[start:stop], masked)
            add(d_below[start:stop], masked)
        else:
            multiply_back(blas, d_hidden[start:stop], vertical, d_below[start:stop], 1)
        for k in range(count):
            into = d[start - before + k] if k < before else d_x[k]
            for j in range(len(into)):
                into[j] += d_below[start + k, j]
        stop = start


@compile_kernel
def enter(rows, mask, into):
    """Rows times their mask, which has no rows without dropout; they may then be ``into`` already."""
    for k in range(len(mask)):
        for j in range(rows.shape[1]):
            into[k, j] = rows[k, j] * mask[k, j]


@compile_kernel
def add(into, rows):
    """Adds rows."""
    for k in range(len(rows)):
        for j in range(rows.shape[1]):
            into[k, j] += rows[k, j]


@compile_kernel
def activate(gelu, hidden, mask, active):
    """relu or GELU of the product with W_1, times the mask; ``active`` may be ``hidden`` for relu without a mask."""
    zero = hidden.dtype.type(0)
    half = hidden.dtype.type(0.5)
    one = hidden.dtype.type(1)
    root = hidden.dtype.type(HALF_SQRT)
    for row in range(len(hidden)):
        v = hidden[row]
        a = active[row]
        if gelu:
            for j in range(len(v)):
                a[j] = half * v[j] * (one + math.erf(v[j] * root))
        else:
            for j in range(len(v)):
                a[j] = v[j] if not v[j] < zero else zero  # NaN stays NaN
    enter(active, mask, active)


@compile_kernel
def activate_back(gelu, hidden, mask, active, d):
    """The gradient before the activation, from that of its result, in place."""
    zero = hidden.dtype.type(0)
    half = hidden.dtype.type(0.5)
    one = hidden.dtype.type(1)
    root = hidden.dtype.type(HALF_SQRT)
    density = hidden.dtype.type(INVERSE_SQRT)
    enter(d, mask, d)
    for row in range(len(hidden)):
        v = hidden[row]
        d_v = d[row]
        if gelu:
            for j in range(len(v)):
                d_v[j] *= half * (one + math.erf(v[j] * root)) + v[j] * density * exponential(-half * v[j] * v[j])
        else:
            for j in range(len(v)):
                d_v[j] = d_v[j] if v[j] > zero else zero


@compile_kernel
def combine(a, below, right, x, pi, weight, bias, eps, normal, rstd, out):
    """x + pi (h - x) of one row, whose pre-activations become gates, in place."""
    n = len(out)
    size = out.dtype.type(n)
    one = out.dtype.type(1)
    for j in range(3 * n):
        a[j] = sigmoid(a[j])
    g_1 = a[:n]
    g_2 = a[n : 2 * n]
    c = a[2 * n : 3 * n]
    u = a[3 * n :]
    mean = out.dtype.type(0)
    for j in range(n):
        normal[j] = g_1[j] * below[j] + g_2[j] * right[j] + c[j] * u[j]
        mean += normal[j]
    mean /= size
    variance = out.dtype.type(0)
    for j in range(n):
        normal[j] -= mean
        variance += normal[j] * normal[j]
    scale = one / np.sqrt(variance / size + out.dtype.type(eps))
    rstd[0] = scale
    near_x = pi < 0.5
    rest = one - pi
    for j in range(n):
        normal[j] *= scale
        h = normal[j] * weight[j] + bias[j]
        # From the nearer end, as torch's lerp does: pi = 1 gives h and pi = 0 gives x without rounding.
        out[j] = x[j] + pi * (h - x[j]) if near_x else h - rest * (h - x[j])


@compile_kernel
def combine_back(
    a, below, right, x, pi, weight, bias, normal, rstd, d, d_a, d_below, d_right, d_x, d_pi, d_h
):  # fmt: skip
    """The gradients of one row. That of x is added; ``d_h`` is that of the LayerNorm's result."""
    n = len(d)
    size = d.dtype.type(n)
    one = d.dtype.type(1)
    rest = d.dtype.type(1) - pi
    g_1 = a[:n]
    g_2 = a[n : 2 * n]
    c = a[2 * n : 3 * n]
    u = a[3 * n :]
    d_g_1 = d_a[:n]
    d_g_2 = d_a[n : 2 * n]
    d_c = d_a[2 * n : 3 * n]
    d_u = d_a[3 * n :]
    mean = along = of_pi = d.dtype.type(0)
    for j in range(n):
        of_pi += d[j] * (normal[j] * weight[j] + bias[j] - x[j])
        d_x[j] += d[j] * rest
        d_h[j] = d[j] * pi
        mean += d_h[j] * weight[j]
        along += d_h[j] * weight[j] * normal[j]
    d_pi[0] = of_pi
    mean /= size
    along /= size
    for j in range(n):
        d_s = rstd * (d_h[j] * weight[j] - mean - normal[j] * along)
        d_below[j], d_right[j] = d_s * g_1[j], d_s * g_2[j]
        d_g_1[j] = d_s * below[j] * g_1[j] * (one - g_1[j])
        d_g_2[j] = d_s * right[j] * g_2[j] * (one - g_2[j])
        d_c[j], d_u[j] = d_s * u[j] * c[j] * (one - c[j]), d_s * c[j]


class SlotKernel:
    """All slots of a word; float32 or float64, each tensor without gaps.

    Args of a call are those of the functions above: ``weights`` are W_1's part for the slot below (4n, n), W_2 (4n, 4n)
    and b_2, and the LayerNorm's (n,) and (n,); ``masks`` of what dropout multiplies the slot below (pairs, n) and the
    activation (pairs, 4n) by, without rows if it does not; ``kept`` are the products with W_1 (pairs, 4n), which hold
    what M adds to them when ``forward`` begins, their activations, the gates, the slots below (pairs, n), the same
    after dropout, what the LayerNorm gives before its weights, and 1 over the deviation (pairs,).
    """

    @staticmethod
    def forward(counts: Tensor, gelu: bool, eps: float, *arguments: Any) -> None:
        """The compiled ``forward`` of this file, of tensors."""
        blas = product_address(arguments[-1].dtype)
        forward(counts.numpy(), gelu, blas, eps, *map(_arrays, arguments))

    @staticmethod
    def backward(counts: Tensor, gelu: bool, *arguments: Any) -> None:
        """The compiled ``backward`` of this file, of tensors."""
        blas = product_address(arguments[0].dtype)
        backward(counts.numpy(), gelu, blas, *map(_arrays, arguments))

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward_too: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        some = torch.empty(0, 0, dtype=dtype).numpy()
        row = torch.empty(0, dtype=dtype).numpy()
        counts = np.empty(0, np.int64)
        read = some, some, row, (some, some, row, row, row), (some, some), (*[some] * 6, row)
        needed: list[tuple[Any, tuple[Any, ...]]] = [(forward, (counts, False, 0, 0.0, *read, some))]
        if backward_too:
            needed.append((backward, (counts, False, 0, *read, some, (*[some] * 4, row, some, some))))
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)


def _arrays(tensors: Tensor | tuple[Tensor, ...]) -> Any:
    return tensors.numpy() if isinstance(tensors, Tensor) else tuple(tensor.numpy() for tensor in tensors)
