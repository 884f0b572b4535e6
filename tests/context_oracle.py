"""Words in context one sentence and one word at a time, from the equations."""

import math
from typing import Any

import torch
from beam_oracle import ZERO, searched
from latent_equations import affine, composed, norm, words
from torch import Tensor


def silu(v: Tensor) -> Tensor:
    return v / (1 + torch.exp(-v))


def above(core: Any, h: list[Tensor], order: list[int]) -> list[tuple[Tensor, set[int], int]]:
    """The inner nodes of a beam: the state of each, its words and its height."""
    items = [(state, {i}, 0) for i, state in enumerate(h)]
    gaps, found = list(range(len(h) - 1)), []
    for gap in order:
        j = gaps.index(gap)
        (l, l_words, l_high), (r, r_words, r_high) = items[j : j + 2]  # noqa: E741
        found.append((composed(core, l, r), l_words | r_words, max(l_high, r_high) + 1))
        items[j : j + 2], gaps[j : j + 1] = [found[-1]], []
    return found


def attended(unit: Any, x: Tensor, nodes: list[tuple[Tensor, int]]) -> tuple[Tensor, list[Tensor]]:
    """A word after one round of attention to its ancestors and their heights, and how much it asks each."""
    d = unit.common.out_features
    s = norm(unit.norm, affine(unit.enter, x))
    Z = silu(affine(unit.common, s))
    Q, Q_E = (Z * unit.scale[k] + unit.shift[k] for k in range(2))
    e, V = [], []
    for state, height in nodes:
        s_p = norm(unit.norm, affine(unit.enter, state))
        K = silu(affine(unit.common, s_p)) * unit.scale[2] + unit.shift[2]
        e.append((Q @ K + Q_E @ unit.relations[min(max(height, 1), 10) - 1]) / math.sqrt(2 * d))
        V.append(silu(affine(unit.of_node, s_p)))
    o, alpha = torch.zeros_like(x), torch.zeros(0, dtype=x.dtype)
    if nodes:
        alpha = torch.softmax(torch.stack(e), 0)
        o = affine(unit.out, silu(affine(unit.of_word, s)) * sum(a * v for a, v in zip(alpha, V, strict=True)))
    g = torch.sigmoid(affine(unit.gate, torch.cat([o, x])))
    return g * o + (1 - g) * x, list(alpha)


def ancestors_asked(core: Any, ids: list[int]) -> list[Tensor]:
    """(T, T - 1) of each beam, the heaviest first: how much each word asks what each merge made."""
    h, n = words(core, ids), core.cell.hidden_size
    beams = searched(core, [(h, ZERO, list(range(len(h) - 1)), [])], False, None)
    asked = []
    for _, _, _, order in sorted(beams, key=lambda beam: -float(beam[1])):
        nodes, table = above(core, h, order), torch.zeros(len(h), len(h) - 1, dtype=torch.float64)
        for i, state in enumerate(h):
            x, merges = state[:n], [m for m, (_, below, _) in enumerate(nodes) if i in below]
            for _ in range(2):
                x, alpha = attended(core.context, x, [(nodes[m][0][:n], nodes[m][2]) for m in merges])
            for m, share in zip(merges, alpha, strict=True):
                table[i, m] = share
        asked.append(table)
    return asked


def words_in_context(core: Any, ids: list[int], training: bool) -> list[Tensor]:
    h, n = words(core, ids), core.cell.hidden_size
    beams = searched(core, [(h, ZERO, list(range(len(h) - 1)), [])], training, None)
    weights = torch.softmax(torch.stack([a for _, a, *_ in beams]), 0)
    total = [torch.zeros(n, dtype=torch.float64) for _ in h]
    for w, (*_, order) in zip(weights, beams, strict=True):
        nodes = above(core, h, order)
        for i, state in enumerate(h):
            x, ancestors = state[:n], [(node[:n], high) for node, below, high in nodes if i in below]
            for _ in range(2):
                x, _ = attended(core.context, x, ancestors)
            total[i] = total[i] + w * x
    return total
