"""Pair attention: the words of two sentences ask each other, and one vector answers for the pair."""

import torch
from torch import Tensor, nn

from dgltree.encoders.latent.gated_attention import GatedAttention
from dgltree.encoders.sequence.sequences import join_pairs

FARTHEST = 5
"""Positions that are farther apart count as so far."""
LAYERS = 3


class PairAttention(GatedAttention):
    r"""The vector of a pair of sentences, from their words in context (Ray Chowdhury & Caragea 2023, arXiv 2307.10779).

    With r_k the vector of sentence k, w_k1 .. w_kT its words in context, and u_1, u_2 and q vectors that are learnt,

    .. math::
        x &= [MLP(r_1) + u_1;\ w_{1i} + u_1;\ q;\ MLP(r_2) + u_2;\ w_{2i} + u_2] \\
        z &= \sum_t softmax_t(MLP'(x'_t)) \, x'_t

    where x' is x after three steps, with the same weights, of the attention of
    :class:`dgltree.encoders.latent.parent_attention.ParentAttention`, in which all ask all, themselves too, and the
    distance of two positions, from -5 to 5, has the place of the height. MLP and MLP' are Linear, GELU, Linear.

    Args:
        hidden_size: n.
        dropout: probability, in training only.

    Initialisation: as :class:`dgltree.encoders.latent.gated_attention.GatedAttention`; u 0, q N(0, 1).
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__(hidden_size, dropout, 2 * FARTHEST + 1)
        self.sentence, self.salience = _mlp(hidden_size, hidden_size), _mlp(hidden_size, 1)
        self.segment = nn.Parameter(torch.zeros(2, hidden_size))
        self.between = nn.Parameter(torch.empty(hidden_size).normal_())

    def forward(self, words: Tensor, roots: Tensor, lengths: Tensor) -> Tensor:
        """(P, n), of the sentences 2i and 2i + 1.

        Args:
            words: (2 P, T, n), in context.
            roots: (2 P, n), of the sentences.
            lengths: (2 P,) int64, 1 to T.

        Raises ``ValueError`` for an odd number of sentences.
        """
        y = torch.cat([self.sentence(roots).unsqueeze(1), words], 1)
        segment = self.segment[torch.arange(len(y), device=y.device) % 2]
        x, count = join_pairs(y + segment.unsqueeze(1), lengths + 1, self.between)
        t = torch.arange(x.shape[1], device=x.device)
        there = (t < count.unsqueeze(1)).unsqueeze(1)  # (P, 1, S)
        apart = (t - t.unsqueeze(1)).clamp(-FARTHEST, FARTHEST) + FARTHEST
        for _ in range(LAYERS):
            x, _ = self.step(x, self.keys(x), apart, there.expand(-1, len(t), -1))
        weights = self.salience(x).squeeze(2).masked_fill(~there.squeeze(1), -torch.inf).softmax(1)
        return (weights.unsqueeze(2) * x).sum(1)


def _mlp(hidden_size: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(hidden_size, hidden_size), nn.GELU(), nn.Linear(hidden_size, out))
