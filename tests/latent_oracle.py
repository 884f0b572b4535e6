"""Latent-tree networks one sentence at a time, from the equations: every pair composed anew in every step, nothing
shared.

Slow and obvious. They share with the library the parameters alone, and the rule by which equal scores are chosen among.
"""

from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import torch
from beam_oracle import beam_tree, recursion
from crvnn_oracle import crvnn
from latent_equations import Noise, Told, best, composed, score, words
from torch import Tensor

from dgltree.encoders import (
    SequenceBalancedTree,
    SequenceBeamTree,
    SequenceCRvNN,
    SequenceEfficientBeamTree,
    SequenceGumbelTree,
)


def along(core: Any, h: list[Tensor], order: list[int]) -> Tensor:
    """What the words become if the gaps are closed in this order."""
    h, gaps = list(h), list(range(len(h) - 1))
    for gap in order:
        j = gaps.index(gap)
        h[j : j + 2], gaps[j : j + 1] = [composed(core, h[j], h[j + 1])], []
    [root] = h
    return root[: core.cell.hidden_size]


def read(core: Any, ids: list[int], training: bool, noise: Noise) -> Told:
    """The literal form of a core, in chunks where it has them."""
    join, level = ORACLES[type(core)], [(h, t) for t, h in enumerate(words(core, ids))]  # with each its last word
    k = core.chunk_size if training or core.chunks_in_evaluation else None
    n, order, penalty = core.cell.hidden_size, list[int](), 0.0
    if k is not None and core.config.get("handed_on", "mean") != "mean":
        told = recursion(core, [h for h, _ in level], training, noise, k)
        return told._replace(root=told.root[:n])
    if k is None:
        told = join(core, [h for h, _ in level], training, noise)
        return told._replace(root=told.root[:n])
    while len(level) > 1:
        size, above = k if len(level) >= 1.5 * k else len(level), []
        for start in range(0, len(level), size):
            chunk = level[start : start + size]
            told = join(core, [h for h, _ in chunk], training, noise)
            order += [chunk[gap][1] for gap in told.order]
            penalty = penalty + told.penalty
            above.append((told.root, chunk[-1][1]))
        level = above
    return Told(level[0][0][:n], order, penalty)


def balanced(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    level = list(zip(h, range(len(h)), strict=True))  # with each its last word
    order = []
    while len(level) > 1:
        above = []
        for (l, end), (r, last) in zip(level[::2], level[1::2], strict=False):  # noqa: E741
            order.append(end)
            above.append((composed(core, l, r), last))
        level = above + level[len(above) * 2 :]
    return Told(level[0][0], order)


def gumbel_tree(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    gaps, order, n, nodes = list(range(len(h) - 1)), [], core.cell.hidden_size, list(h)
    while len(h) > 1:
        s = torch.stack([score(core, *pair) for pair in pairwise(h)])
        s = s if noise is None else s + next(noise).flatten()
        [j] = best(s.tolist(), 1)
        y = torch.softmax(s / core.temperature, 0)
        hard = torch.zeros_like(y)
        hard[j] = 1
        m = hard + y - y.detach() if training else hard
        c = [composed(core, *pair) for pair in pairwise(h)]
        if core.config["composed"] == "mixture":
            l, r = (sum(m_i * h_i for m_i, h_i in zip(m, side, strict=True)) for side in (h[:-1], h[1:]))  # noqa: E741
            c = [composed(core, l, r)] * len(c)
        h = [
            m[i] * c[i] + (1 - m[: i + 1].sum()) * h[i] + (m[: i + 1].sum() - m[i]) * h[i + 1]
            for i in range(len(h) - 1)
        ]
        nodes.append(sum(m_i * h_i for m_i, h_i in zip(m, h, strict=True)))
        order.append(gaps.pop(j))
    if not core.attention:
        return Told(h[0], order)
    k = torch.stack(nodes)[:, :n]
    return Told(torch.cat([torch.softmax(k @ k.mean(0), 0) @ k, h[0][n:]]), order)


ORACLES: dict[type, Callable[[Any, list[Tensor], bool, Noise], Told]] = {
    SequenceBalancedTree: balanced,
    SequenceGumbelTree: gumbel_tree,
    SequenceCRvNN: crvnn,
    SequenceBeamTree: beam_tree,
    SequenceEfficientBeamTree: beam_tree,
}
"""The literal form of how each network joins neighbours."""


def over_all_orders(core: Any, ids: list[int]) -> Tensor:
    """The mean over all (T - 1)! orders of merges, each weighed by the product of its choices' probabilities."""
    h, orders = words(core, ids), list(permutations(range(len(ids) - 1)))
    logs = []
    for order in orders:
        states, gaps, log = list(h), list(range(len(ids) - 1)), 0.0
        for gap in order:
            j = gaps.index(gap)
            s = torch.stack([score(core, *pair) for pair in pairwise(states)])
            log = log + torch.log(torch.softmax(s, 0)[j] + 1e-20)
            states[j : j + 2], gaps[j : j + 1] = [composed(core, states[j], states[j + 1])], []
        logs.append(torch.as_tensor(log, dtype=torch.float64))
    weights = torch.softmax(torch.stack(logs), 0)
    return sum(w * along(core, h, list(order)) for w, order in zip(weights, orders, strict=True))
