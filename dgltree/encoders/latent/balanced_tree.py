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
        """There is nothing to trace."""
        lengths, width = items.lengths.cpu(), items.rows.shape[1]  # all places are known by these
        row, column = (torch.arange(width) < lengths.unsqueeze(1)).nonzero(as_tuple=True)

        def there(index: Tensor) -> Tensor:
            return index.to(items.states.device, non_blocking=True)

        h, sizes = items.states[items.rows.flatten()[there(row * width + column)]], lengths
        while len(h) > len(sizes):
            start = sizes.cumsum(0) - sizes
            place = torch.arange(len(h)) - start[row]
            left = there(torch.nonzero((place % 2 == 0) & (place + 1 < sizes[row])).squeeze(1))
            joined = self.cell(h[left], h[left + 1], self.norm)
            stays = torch.nonzero(place % 2 == 0).squeeze(1)
            h = h.index_copy(0, left, joined)[there(stays)]
            row, sizes = row[stays], (sizes + 1) // 2
        return JoinResult(h, Merges(there(level_order(lengths, width))))


def level_order(lengths: Tensor, longest: int) -> Tensor:
    """(B, T - 1) int64, the merges level by level; gap g closes at level v if 2^v is the highest power in g + 1."""
    gaps = torch.arange(longest - 1, device=lengths.device)
    level = ((gaps + 1) & -(gaps + 1)).double().log2().long()
    order = (level * longest + gaps).argsort().expand(len(lengths), -1)
    missing = order >= lengths.unsqueeze(1) - 1
    kept = missing.long().argsort(dim=1, stable=True)  # those of longer sequences to the end
    return order.gather(1, kept).masked_fill(missing.gather(1, kept), CLOSED)
