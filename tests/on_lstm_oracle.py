"""ON-LSTM as its equations say, unit by unit (Shen et al. 2019, arXiv 1810.09536)."""

import torch
from torch import Tensor

from dgltree.encoders.latent.on_lstm import ONLSTMLayer


def transcribed(layer: ONLSTMLayer, words: list[Tensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """States, distances and master gates of one layer for one sentence, unit by unit."""
    D, C = layer.hidden_size, layer.chunk_size
    D_m = D // C
    h, c = [torch.zeros((), dtype=torch.float64)] * D, [torch.zeros((), dtype=torch.float64)] * D
    states, distances, masters = [], [], []
    for x in words:
        pre = layer.input.weight @ x + layer.input.bias + layer.hidden.weight @ torch.stack(h) + layer.hidden.bias
        z_f, z_i, z = pre[:D_m], pre[D_m : 2 * D_m], pre[2 * D_m :]
        f_master = [sum(torch.softmax(z_f, 0)[: k + 1]) for k in range(D_m)]
        i_master = [1 - sum(torch.softmax(z_i, 0)[: k + 1]) for k in range(D_m)]
        distances.append(D_m - sum(f_master))
        masters.append(torch.stack([torch.stack(f_master), torch.stack(i_master)]))
        for unit in range(D):
            f, i, o = (torch.sigmoid(z[gate * D + unit]) for gate in range(3))
            c_hat = torch.tanh(z[3 * D + unit])
            F, I = f_master[unit // C], i_master[unit // C]  # noqa: E741
            omega = F * I
            c[unit] = (f * omega + (F - omega)) * c[unit] + (i * omega + (I - omega)) * c_hat
            h[unit] = o * torch.tanh(c[unit])
        states.append(torch.stack(h))
    return states, distances, masters
