"""GRC as a recurrence, from left to right and from right to left."""

import torch
from torch import Tensor, nn

from dgltree.cells.compose import GELUGatedRecursive
from dgltree.encoders.sequence.core import SequenceCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import padding_mask, reverse_places
from dgltree.support.arguments import check_dropout, check_size


class SequenceRecurrentGRC(SequenceCore):
    r"""RecurrentGRC: two GRCs of n / 2 each, one per direction (Ray Chowdhury & Caragea 2023, arXiv 2311.04449).

    .. math::
        [x_t; y_t] &= LN(W_0 \, drop(e_t) + b_0)\quad(1) \\
        f_t &= GRC(f_{t-1}, x_t), \quad b_t = GRC'(b_{t+1}, y_t), \quad f_0 = b_{T+1} = 0\quad(2) \\
        g &= \frac 1 T \sum_t (W [f_t; b_t] + b)\quad(3)

    Args:
        size: the number of ids.
        hidden_size: n, even.
        padded_mean: whether the mean is over the padded width of the batch, as in the published program, so that it
            depends on the rest of the batch: after an end f stays as it is, and the other direction is still 0.
        dropout: probability, in training only, on the embeddings.
        cell_dropout: probability, in training only, inside the cells.
        max_length: of a sequence; None: any.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` for a size below 1, an odd n, and a dropout outside of 0 to below 1.
    """

    grouped = False  # padded_mean needs the whole batch

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        padded_mean: bool = False,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        drops = {"dropout": dropout, "cell_dropout": cell_dropout}
        super().__init__(size, max_length, hidden_size=hidden_size, padded_mean=padded_mean, **drops)
        check_size("hidden_size", hidden_size)
        if hidden_size % 2:
            raise ValueError(f"hidden_size is {hidden_size}; it must be even, half of it for each direction")
        for p in drops.values():
            check_dropout(p)
        self.padded_mean = padded_mean
        half = hidden_size // 2
        self.embedding = nn.Embedding(size, hidden_size, padding_idx=PADDING)
        self.dropout = nn.Dropout(dropout)
        self.leaf = nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        self.cells = nn.ModuleList(GELUGatedRecursive(half, cell_dropout) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(half) for _ in range(2))
        self.out = nn.Linear(hidden_size, hidden_size)

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n)."""
        padding = padding_mask(ids, lengths).unsqueeze(2)
        e = self.dropout(self.embedding(ids))
        x, y = self.norm(self.leaf(e)).chunk(2, 2)  # (1)
        reverse = reverse_places(lengths, ids.shape[1]).unsqueeze(2)
        f = self._states(0, x, padding)  # (2)
        b = self._states(1, y.gather(1, reverse.expand_as(y)), padding)
        b = b.masked_fill(padding, 0)
        if self.padded_mean:
            mean = torch.cat([f.mean(1), b.mean(1)], 1)
        else:
            sums = torch.cat([f.masked_fill(padding, 0).sum(1), b.sum(1)], 1)
            mean = sums / lengths.unsqueeze(1)
        return self.out(mean)  # (3), which is linear, so that the mean may come first

    def _states(self, direction: int, words: Tensor, padding: Tensor) -> Tensor:
        """(B, T, n / 2) of words in the order of the direction; after an end the last one stays."""
        cell = self.cells[direction]
        norm = self.norms[direction]
        h = torch.zeros_like(words[:, 0])
        states: list[Tensor] = []
        for word, ended in zip(words.unbind(1), padding.unbind(1), strict=True):
            h = h.where(ended, cell(h, word, norm))
            states.append(h)
        return torch.stack(states, 1)
