"""A balanced binary tree over the words, whatever they are."""

from typing import Any

import torch
from torch import Tensor

from dgltree.encoders.encoder import Merges
from dgltree.encoders.latent.joining_core import Items, JoiningCore, JoinResult
from dgltree.induction.merges import CLOSED


class SequenceBalancedTree(JoiningCore):
    r"""Neighbours 1 and 2, 3 and 4, ... are joined, level by level; an odd last one passes (BBT-GRC; Shi et al. 2018).

    .. math:: h'_i = cell(h_{2i-1}, h_{2i}), \quad g = h_1 \text{ of the last level}

    Args:
        size: the number of ids.
        hidden_size: n.
        shared: as in :class:`dgltree.encoders.latent.joining_core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`dgltree.encoders.latent.joining_core.JoiningCore` does.
    """

    def __init__(self, size: int, hidden_size: int, **shared: Any) -> None:
        super().__init__(size, hidden_size, {}, **shared)

    def join(self, items: Items) -> JoinResult:
        """The result has no trace."""
        device = items.states.device
        sizes = items.lengths.cpu()  # all indices are known by these, so that a GPU is waited for once
        words = items.rows.shape[1]
        is_word = torch.arange(words) < sizes.unsqueeze(1)
        sequence, t = is_word.nonzero(as_tuple=True)
        place = (sequence * words + t).to(device, non_blocking=True)
        order = level_order(sizes, words).to(device, non_blocking=True)
        h = items.states[items.rows.flatten()[place]]  # (m, D), the states of one level, sequence after sequence
        while len(h) > len(sizes):
            start = sizes.cumsum(0) - sizes
            i = torch.arange(len(h)) - start[sequence]
            is_left = i % 2 == 0
            of_next_level = is_left.nonzero().squeeze(1)
            has_right = is_left & (i + 1 < sizes[sequence])
            left = has_right.nonzero().squeeze(1).to(device, non_blocking=True)
            joined = self.cell(h[left], h[left + 1], self.norm)
            h = h.index_copy(0, left, joined)
            h = h[of_next_level.to(device, non_blocking=True)]
            sequence = sequence[of_next_level]
            sizes = (sizes + 1) // 2
        return JoinResult(h, Merges(order))


def level_order(lengths: Tensor, longest: int) -> Tensor:
    """(B, T - 1) int64, the merges level by level: gap g closes at level v, the largest with 2^v dividing g + 1."""
    gap = torch.arange(longest - 1, device=lengths.device)
    highest_power = (gap + 1) & -(gap + 1)
    level = highest_power.double().log2().long()
    order = (level * longest + gap).argsort()
    order = order.expand(len(lengths), -1)
    is_missing = order >= lengths.unsqueeze(1) - 1
    kept = is_missing.long().argsort(dim=1, stable=True)  # those of longer sequences to the end
    return order.gather(1, kept).masked_fill(is_missing.gather(1, kept), CLOSED)
