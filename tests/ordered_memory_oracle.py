"""Ordered Memory one sentence at a time, from the equations: word by word, slot by slot."""

import math

import torch
from latent_equations import gelu, norm
from torch import Tensor

from dgltree.encoders import MemorySteps, OrderedMemory


def transcribed(memory: OrderedMemory, words: list[Tensor], N: int) -> MemorySteps:
    """The equations for one sentence."""
    D = 6
    M = [torch.zeros(D, dtype=torch.float64) for _ in range(N)]
    M_hat = [torch.zeros(D, dtype=torch.float64) for _ in range(N)]
    states, attention, slots, sums, pi = [], [], [], [], []
    for t, x in enumerate(words):
        x_t = norm(memory.norm, memory.input.weight @ x + memory.input.bias)
        p = attend(memory, x_t, M_hat, pi) if t else [torch.zeros((), dtype=torch.float64)] * N
        pi = [sum(p[: i + 1]) for i in range(N)]
        back = [sum(p[i:]) if t else 1.0 for i in range(N)]
        M = [M[i] * (1 - back[i]) + M_hat[i] * back[i] for i in range(N)]
        M_hat, below = [], x_t
        for i in range(N):
            below = x_t * (1 - pi[i]) + combined(memory, below, M[i]) * pi[i]
            M_hat.append(below)
        states.append(below)
        attention.append(torch.stack(p))
        slots.append(torch.stack(M_hat))
        sums.append(torch.stack(pi))
    kept = [torch.stack(part) for part in (states, attention, slots, sums)]
    return MemorySteps(states[-1], kept[0], kept[1], 0, kept[2], kept[3])


def attend(memory: OrderedMemory, x: Tensor, M_hat: list[Tensor], pi: list[Tensor]) -> list[Tensor]:
    form, N, alpha = memory.attention, len(M_hat), []
    for slot in M_hat:
        if type(form).__name__ == "PublishedAttention":
            q = norm(form.query_norm, form.query.weight @ x + form.query.bias)
            k = norm(form.key_norm, form.key.weight @ slot + form.key.bias)
            alpha.append(form.w.weight[0] @ torch.relu(q + k) / math.sqrt(6))
        else:
            W = torch.cat([form.key.weight, form.query.weight], 1)
            alpha.append(form.w.weight[0] @ torch.tanh(W @ torch.cat([slot, x])) / math.sqrt(N))
    mask = [*pi[1:], torch.ones((), dtype=torch.float64)]
    mask = [m if m >= 1e-5 else torch.zeros((), dtype=torch.float64) for m in mask]
    allowed = [a for a, m in zip(alpha, mask, strict=True) if m > 0 or not memory.allowed_maximum]
    top = max(allowed)
    beta = [torch.exp(a - top) * m if m > 0 else m for a, m in zip(alpha, mask, strict=True)]
    total = sum(beta)
    return [b / (total if total > 1e-12 else 1e-12) for b in beta]


def combined(memory: OrderedMemory, h_1: Tensor, h_2: Tensor) -> Tensor:
    cell = memory.cell
    weight = torch.cat([cell.vertical.weight, cell.horizontal.weight], 1)
    z = weight @ torch.cat([h_1, h_2]) + cell.horizontal.bias
    if type(cell).__name__ == "TanhComposition":
        return torch.tanh(z)
    bent = gelu(z) if type(cell).__name__ == "GELUGatedRecursive" else torch.relu(z)
    v, g, c, u = (cell.second.weight @ bent + cell.second.bias).split(6)
    return norm(memory.norm, torch.sigmoid(v) * h_1 + torch.sigmoid(g) * h_2 + torch.sigmoid(c) * u)
