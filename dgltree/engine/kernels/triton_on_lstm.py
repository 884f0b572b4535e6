"""Triton: one step of an ON-LSTM; see ``dgltree/encoders/latent/on_lstm.py``, which says the same in torch.

A row of gates is ``[f~; i~; f; i; o; c^]``, the first two with D_m values, the others with D. A program computes one
row as a tile of chunks (K) by units of a chunk (C), each up to a power of two.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from dgltree.engine.kernels.kernel import LayerGradients, LayerRows, LayerShape
from dgltree.engine.kernels.triton_launch import Launch
from dgltree.engine.kernels.triton_parts import sigmoid, tanh

VARYING = ["start", "first", "earlier"]
"""Numbers of a step, not to be compiled for where they are 1 or a multiple of 16."""
MAX_WARPS = 16
"""A row of 2,048 units has so many; with 8, its gradients take 189 registers of a thread instead of 114."""


@triton.jit
def cumax(a, k, count):
    """(K,) the softmax at ``a``, made in place of its pre-activations, and its sums, the last 1 without rounding."""
    inside = k < count
    z = tl.load(a + k, inside, float("-inf"))
    e = tl.exp(z - tl.max(z, 0))
    return soften(e / tl.sum(e, 0), k, count)


@triton.jit
def soften(soft, k, count):
    """(K,) a softmax and its sums, of which none is above 1; NaN stays NaN."""
    soft = tl.where(k < count, soft, 0.0)
    total = tl.cumsum(soft, 0)
    last = tl.sum(tl.where(k == count - 1, total, 0.0), 0)
    share = total / last
    share = tl.where(share > 1, 1.0, share)
    return soft, tl.where(k == count - 1, last * 0 + 1, share)


@triton.jit
def close_cumax(d, soft, k, count):
    """(K,) the gradient before a cumax, from that of its values; the last sum is 1 up to rounding."""
    later = tl.cumsum(tl.where(k < count, d, 0.0), 0, reverse=True)
    return soft * (later - tl.sum(later * soft, 0))


@triton.jit(do_not_specialize=VARYING)
def forward(
    start, first, earlier, gates, states, cells, masters, present, n, count, size,
    K: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """h_t, c_t and f~_t of a row; pre-activations become the softmax and the gates, in place."""
    i = tl.program_id(0).to(tl.int64)
    a = gates + (start + i) * (2 * count + 4 * n)
    k = tl.arange(0, K)
    soft_f, f_master = cumax(a, k, count)
    soft_i, i_complement = cumax(a + count, k, count)
    units, inside = places(k, count, size, C)
    b = a + 2 * count
    f, i_gate = sigmoid(tl.load(b + units, inside, 0.0)), sigmoid(tl.load(b + n + units, inside, 0.0))
    o, c_hat = sigmoid(tl.load(b + 2 * n + units, inside, 0.0)), tanh(tl.load(b + 3 * n + units, inside, 0.0))
    before = tl.load(cells + (earlier + i) * n + units, inside, 0.0)
    h = tl.load(states + (earlier + i) * n + units, inside, 0.0)
    here = tl.load(present + start + i) != 0
    f_tilde, i_tilde = f_master[:, None], (1 - i_complement)[:, None]
    omega = f_tilde * i_tilde
    now = (f_tilde - omega + f * omega) * before + (i_tilde - omega + i_gate * omega) * c_hat
    tl.debug_barrier()
    tl.store(a + k, soft_f, k < count)
    tl.store(a + count + k, soft_i, k < count)
    tl.store(b + units, f, inside)
    tl.store(b + n + units, i_gate, inside)
    tl.store(b + 2 * n + units, o, inside)
    tl.store(b + 3 * n + units, c_hat, inside)
    tl.store(masters + (start + i) * count + k, f_master, k < count)
    tl.store(cells + (first + i) * n + units, tl.where(here, now, before), inside)
    tl.store(states + (first + i) * n + units, tl.where(here, o * tanh(now), h), inside)


@triton.jit(do_not_specialize=VARYING)
def backward(
    start, first, earlier, gates, cells, present, d_states, d_cells, d_masters, d_gates, n, count, size,
    K: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The gradients of a row's pre-activations; those of c_{t-1}, and what an absent word passes on, are added."""
    i = tl.program_id(0).to(tl.int64)
    a, d_a = gates + (start + i) * (2 * count + 4 * n), d_gates + (start + i) * (2 * count + 4 * n)
    k = tl.arange(0, K)
    some = k < count
    soft_f, f_master = soften(tl.load(a + k, some, 0.0), k, count)
    soft_i, i_complement = soften(tl.load(a + count + k, some, 0.0), k, count)
    units, inside = places(k, count, size, C)
    b, d_b = a + 2 * count, d_a + 2 * count
    f, i_gate = tl.load(b + units, inside, 0.0), tl.load(b + n + units, inside, 0.0)
    o, c_hat = tl.load(b + 2 * n + units, inside, 0.0), tl.load(b + 3 * n + units, inside, 0.0)
    before = tl.load(cells + (earlier + i) * n + units, inside, 0.0)
    tanh_c = tanh(tl.load(cells + (first + i) * n + units, inside, 0.0))
    d_h = tl.load(d_states + (first + i) * n + units, inside, 0.0)
    d_c = tl.load(d_cells + (first + i) * n + units, inside, 0.0)
    passed_h, passed_c = d_states + (earlier + i) * n + units, d_cells + (earlier + i) * n + units
    earlier_h, earlier_c = tl.load(passed_h, inside, 0.0), tl.load(passed_c, inside, 0.0)
    here = tl.load(present + start + i) != 0
    earlier_h, earlier_c = earlier_h + tl.where(here, 0.0, d_h), earlier_c + tl.where(here, 0.0, d_c)
    d_h, d_c = tl.where(here, d_h, 0.0), tl.where(here, d_c, 0.0)
    f_tilde, i_tilde = f_master[:, None], (1 - i_complement)[:, None]
    omega = f_tilde * i_tilde
    d = d_c + d_h * o * (1 - tanh_c * tanh_c)
    d_f_hat, d_i_hat = d * before, d * c_hat
    d_omega = d_f_hat * (f - 1) + d_i_hat * (i_gate - 1)
    d_f = tl.sum(d_f_hat + d_omega * i_tilde, 1) + tl.load(d_masters + (start + i) * count + k, some, 0.0)
    d_i = tl.sum(-(d_i_hat + d_omega * f_tilde), 1)  # i~ is 1 - cumax
    tl.debug_barrier()
    tl.store(passed_h, earlier_h, inside)
    tl.store(passed_c, earlier_c + d * (f_tilde - omega + f * omega), inside)
    tl.store(d_b + units, d_f_hat * omega * f * (1 - f), inside)
    tl.store(d_b + n + units, d_i_hat * omega * i_gate * (1 - i_gate), inside)
    tl.store(d_b + 2 * n + units, d_h * tanh_c * o * (1 - o), inside)
    tl.store(d_b + 3 * n + units, d * (i_tilde - omega + i_gate * omega) * (1 - c_hat * c_hat), inside)
    tl.store(d_a + k, close_cumax(d_f, soft_f, k, count), some)
    tl.store(d_a + count + k, close_cumax(d_i, soft_i, k, count), some)


@triton.jit
def places(k, count, size, C: tl.constexpr):
    """(K, C) the numbers of the units of each chunk, and which there are."""
    j = tl.arange(0, C)
    return k[:, None] * size + j[None, :], (k < count)[:, None] & (j < size)[None, :]


def warps(elements: int) -> int:
    """Warps of a program with a tile of so many elements: four for each thread."""
    return min(MAX_WARPS, max(1, elements // 128))


class TritonONLSTM:
    """The steps of an ON-LSTM's layer, a launch for each step and direction next to the product of torch."""

    def __init__(self, rows: LayerRows) -> None:
        self._rows = rows
        self._sizes = rows.states.shape[1], rows.masters.shape[1], rows.states.shape[1] // rows.masters.shape[1]
        self._present = rows.present.view(torch.uint8)
        arguments = rows.gates, rows.states, rows.cells, rows.masters, self._present
        self._forward = self._launch(forward, *arguments)

    def forward(self, t: int) -> None:
        """:meth:`dgltree.encoders.latent.on_lstm.TorchSteps.forward` by Triton."""
        start, stop, first, earlier = self._rows.bounds[t]
        self._forward((stop - start, 1, 1), start, first, earlier)

    def start_backward(self, given: LayerGradients) -> None:
        """:meth:`dgltree.encoders.latent.on_lstm.TorchSteps.start_backward` by Triton."""
        self._backward = self._launch(backward, self._rows.gates, self._rows.cells, self._present, *given)

    def backward(self, t: int) -> None:
        """:meth:`dgltree.encoders.latent.on_lstm.TorchSteps.backward` by Triton."""
        start, stop, first, earlier = self._rows.bounds[t]
        self._backward((stop - start, 1, 1), start, first, earlier)

    def _launch(self, function: Any, *arguments: torch.Tensor) -> Launch:
        _, chunks, size = self._sizes
        K, C = triton.next_power_of_2(chunks), triton.next_power_of_2(size)
        return Launch(function, (*arguments, *self._sizes), {"K": K, "C": C}, warps(K * C))

    @classmethod
    def compile(
        cls, options: tuple[int, ...], dtype: torch.dtype, backward_too: bool, compile_it: bool, shape: LayerShape
    ) -> bool:
        """Whether layers of this shape can be computed, which compiles: a step of one sequence is.

        So no pass begins that cannot end. Triton does not say what it has on disk, so without ``compile_it`` the answer
        is no.
        """
        if not compile_it:
            return False
        where: dict[str, Any] = {"device": "cpu" if triton.knobs.runtime.interpret else "cuda", "dtype": dtype}
        n, chunks = shape
        gates, masters = torch.zeros(1, 2 * chunks + 4 * n, **where), torch.zeros(1, chunks, **where)
        states, cells = torch.zeros(2, 2, n, **where)
        present = torch.ones(1, dtype=torch.bool, device=gates.device)
        steps = cls(LayerRows(gates, states, cells, masters, present, [(0, 1, 1, 0)], [True]))
        steps.forward(0)
        if backward_too:
            steps.start_backward(LayerGradients(states.clone(), cells.clone(), masters.clone(), gates.clone()))
            steps.backward(0)
        return True
