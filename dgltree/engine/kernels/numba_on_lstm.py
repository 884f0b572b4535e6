"""Numba: one step of an ON-LSTM; see ``dgltree/encoders/latent/on_lstm.py``, which says the same in torch.

A row of gates is ``[f~; i~; f; i; o; c^]``, the first two with D_m values, the others with D.
"""

from typing import Any

import numpy as np
import torch

from dgltree.engine.kernels.kernel import LayerGradients, LayerRows
from dgltree.engine.kernels.numba_compile import compile_kernel, copy, exponential, is_compiled, sigmoid, tanh
from dgltree.engine.kernels.threads import over_rows


@compile_kernel
def soften(z: np.ndarray) -> None:
    """Softmax, in place."""
    most = z[0]
    total = np.float64(0)
    for k in range(1, len(z)):
        most = max(most, z[k])
    for k in range(len(z)):
        z[k] = exponential(z[k] - most)
    for k in range(len(z)):
        total += z[k]
    for k in range(len(z)):
        z[k] /= total


@compile_kernel
def open_masters(f_master: np.ndarray, i_master: np.ndarray, soft: np.ndarray, chunks: int) -> None:
    """f~ and i~ of each unit (D,), from both softmax; the last are 1 and 0 without rounding.

    Sums over chunks are in 64 bits: in 32 bits their rounding grows with the number of chunks.
    """
    size = len(f_master) // chunks
    f_sum = np.float64(0)
    i_sum = np.float64(0)
    for k in range(chunks):
        f_sum += soft[k]
        i_sum += soft[chunks + k]
    f = np.float64(0)
    i = np.float64(0)
    for k in range(chunks):
        f += soft[k]
        i += soft[chunks + k]
        f_k = f / f_sum
        i_k = 1 - i / i_sum
        if k == chunks - 1:  # a compiler may multiply by 1 / f_sum; NaN stays NaN
            f_k = f_sum * 0 + 1
            i_k = i_sum * 0
        for j in range(k * size, (k + 1) * size):
            f_master[j], i_master[j] = f_k, i_k


@compile_kernel
def forward(lo, hi, shift, first, gates, present, states, cells, f_tilde):
    """h_t, c_t and f~_t of rows ``lo:hi``, whose states begin at ``first``, the earlier ones at ``shift``.

    Pre-activations become the softmax and the gates, in place.
    """
    n = cells.shape[1]
    chunks = f_tilde.shape[1]
    f_master = np.empty(n, cells.dtype)
    i_master = np.empty(n, cells.dtype)
    for row in range(lo, hi):
        a = gates[row]
        soften(a[:chunks])
        soften(a[chunks : 2 * chunks])
        open_masters(f_master, i_master, a, chunks)
        for k in range(chunks):
            f_tilde[row, k] = f_master[k * (n // chunks)]
        for j in range(2 * chunks, 2 * chunks + 3 * n):
            a[j] = sigmoid(a[j])
        f, i, o, c_hat = parts(a, chunks, n)
        for j in range(n):
            c_hat[j] = tanh(c_hat[j])
        into_h = states[first + row]
        into_c = cells[first + row]
        earlier = cells[shift + row]
        if not present[row]:
            copy(into_h, states[shift + row])
            copy(into_c, earlier)
            continue
        for j in range(n):
            omega = f_master[j] * i_master[j]
            now = (f_master[j] - omega + f[j] * omega) * earlier[j] + (i_master[j] - omega + i[j] * omega) * c_hat[j]
            into_c[j], into_h[j] = now, o[j] * tanh(now)


@compile_kernel
def backward(lo, hi, shift, first, gates, present, cells, d_states, d_cells, d_f_tilde, d_gates):
    """Gradients of the pre-activations of rows ``lo:hi``; those of c_{t-1}, and of all that an absent word passes on,
    are added.
    """
    n = cells.shape[1]
    chunks = d_f_tilde.shape[1]
    f_master = np.empty(n, cells.dtype)
    i_master = np.empty(n, cells.dtype)
    d_f = np.empty(n, cells.dtype)
    d_i = np.empty(n, cells.dtype)
    one = cells.dtype.type(1)
    for row in range(lo, hi):
        a = gates[row]
        d_a = d_gates[row]
        d_h = d_states[first + row]
        d_c = d_cells[first + row]
        d_earlier = d_cells[shift + row]
        now = cells[first + row]
        before = cells[shift + row]
        if not present[row]:
            d_passed = d_states[shift + row]
            for j in range(n):
                d_passed[j] += d_h[j]
                d_earlier[j] += d_c[j]
            d_h[:] = 0
            d_c[:] = 0
        open_masters(f_master, i_master, a, chunks)
        f, i, o, c_hat = parts(a, chunks, n)
        df, di, do, dc_hat = parts(d_a, chunks, n)
        for j in range(n):
            tanh_c = tanh(now[j])
            d = d_c[j] + d_h[j] * o[j] * (one - tanh_c * tanh_c)
            do[j] = d_h[j] * tanh_c * o[j] * (one - o[j])
            omega = f_master[j] * i_master[j]
            d_f_hat = d * before[j]
            d_i_hat = d * c_hat[j]
            df[j], di[j] = d_f_hat * omega * f[j] * (one - f[j]), d_i_hat * omega * i[j] * (one - i[j])
            dc_hat[j] = d * (i_master[j] - omega + i[j] * omega) * (one - c_hat[j] * c_hat[j])
            d_earlier[j] += d * (f_master[j] - omega + f[j] * omega)
            d_omega = d_f_hat * (f[j] - one) + d_i_hat * (i[j] - one)
            d_f[j] = d_f_hat + d_omega * i_master[j]
            d_i[j] = -(d_i_hat + d_omega * f_master[j])  # i~ is 1 - cumax
        close_masters(d_a[:chunks], a[:chunks], d_f, d_f_tilde[row])
        close_masters(d_a[chunks : 2 * chunks], a[chunks : 2 * chunks], d_i, d_f_tilde[row, :0])


@compile_kernel
def close_masters(d_pre: np.ndarray, soft: np.ndarray, d_units: np.ndarray, d_values: np.ndarray) -> None:
    """The gradient before a cumax, from those of its units (D,), and of its values (D_m,) or (0,) if none came."""
    size = len(d_units) // len(soft)
    later = np.float64(0)
    mean = np.float64(0)  # see open_masters
    for k in range(len(soft) - 1, -1, -1):
        for j in range(k * size, (k + 1) * size):
            later += d_units[j]
        if len(d_values):
            later += d_values[k]
        d_pre[k] = later
        mean += later * soft[k]
    for k in range(len(soft)):
        d_pre[k] = soft[k] * (d_pre[k] - mean)


@compile_kernel
def parts(a: np.ndarray, chunks: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """f, i, o and c^ of a row of gates."""
    units = a[2 * chunks :]
    return units[:n], units[n : 2 * n], units[2 * n : 3 * n], units[3 * n :]


class ONLSTMKernel:
    """The steps of an ON-LSTM's layer; float32 or float64, each tensor without gaps."""

    def __init__(self, rows: LayerRows) -> None:
        self._bounds = rows.bounds
        gates, states, cells, masters = (part.numpy() for part in rows[:4])
        self._arrays = gates, rows.present.numpy(), states, cells, masters

    def forward(self, t: int) -> None:
        """:meth:`dgltree.encoders.latent.on_lstm.TorchSteps.forward`, compiled; of pre-activations the gates are
        made in place.
        """
        start, stop, first, earlier = self._bounds[t]
        over_rows(forward, start, stop, earlier - start, first - start, *self._arrays)

    def start_backward(self, given: LayerGradients) -> None:
        """:meth:`dgltree.encoders.latent.on_lstm.TorchSteps.start_backward`, compiled."""
        gates, present, _, cells, _ = self._arrays
        self._given = gates, present, cells, *(part.numpy() for part in given)

    def backward(self, t: int) -> None:
        """:meth:`dgltree.encoders.latent.on_lstm.TorchSteps.backward`, compiled."""
        start, stop, first, earlier = self._bounds[t]
        over_rows(backward, start, stop, earlier - start, first - start, *self._given)

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward_too: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        some = torch.empty(0, 0, dtype=dtype).numpy()
        present = torch.empty(0, dtype=torch.bool).numpy()
        needed: list[tuple[Any, int]] = [(forward, 3), *([(backward, 5)] if backward_too else [])]
        return all(
            is_compiled(function, (0, 0, 0, 0, some, present, *[some] * count), compile_it)
            for function, count in needed
        )
