"""Gated attention: vectors ask others, and take as much of the answer as a gate lets through."""

import math

import torch
from torch import Tensor, nn

MAX_KEY_WIDTH = 128
"""Of questions and keys."""


class GatedAttention(nn.Module):
    """One step of the gated attention that :class:`dgltree.encoders.latent.parent_attention.ParentAttention` states.

    A subclass has the vectors E of how two of them are related, by which a question finds a key as well.

    Args:
        hidden_size: n.
        dropout: probability, in training only.
        relations: how many vectors E are.

    Initialisation: scales N(0, 0.02), shifts 0, E N(0, 1); torch's of the rest.
    """

    def __init__(self, hidden_size: int, dropout: float, relations: int) -> None:
        super().__init__()
        self.hidden_size, d = hidden_size, min(MAX_KEY_WIDTH, hidden_size)
        self.enter, self.norm = nn.Linear(hidden_size, hidden_size), nn.LayerNorm(hidden_size)
        self.of_word, self.of_node = (nn.Linear(hidden_size, 2 * hidden_size) for _ in range(2))
        self.common = nn.Linear(hidden_size, d)
        self.scale, self.shift = nn.Parameter(torch.empty(3, d).normal_(std=0.02)), nn.Parameter(torch.zeros(3, d))
        self.relations = nn.Parameter(torch.empty(relations, d).normal_())
        self.out, self.drop = nn.Linear(2 * hidden_size, hidden_size), nn.Dropout(dropout)
        self.gate = nn.Linear(2 * hidden_size, hidden_size)
        self.divisor = math.sqrt(2 * d)

    def keys(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """K (R, P, d) and V (R, P, 2n) of what is asked, y (R, P, n)."""
        silu, s = nn.functional.silu, self.norm(self.enter(y))
        return silu(self.common(s)) * self.scale[2] + self.shift[2], silu(self.of_node(s))

    def step(self, x: Tensor, keys: tuple[Tensor, Tensor], relation: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
        r"""x (R, T, n) after it has asked, and :math:`\alpha` (R, T, P), 0 where nobody is asked.

        Args:
            x: (R, T, n).
            keys: of the P vectors that are asked.
            relation: int64 that expands to (R, T, P), which of E relates two of them.
            asked: bool that expands to (R, T, P), who asks whom; who asks nobody gets 0 for an answer.
        """
        silu, (K, V) = nn.functional.silu, keys
        s = self.norm(self.enter(x))
        Z = silu(self.common(s))
        Q, Q_E = (Z * self.scale[k] + self.shift[k] for k in range(2))
        e = Q @ K.transpose(1, 2) + (Q_E @ self.relations.t()).gather(2, relation.expand(len(x), x.shape[1], -1))
        asks = asked.any(2, keepdim=True)
        alpha = (e / self.divisor).masked_fill(~asked & asks, -math.inf).softmax(2) * asks
        o = self.drop(self.out(silu(self.of_word(s)) * (alpha @ V))) * asks
        g = self.gate(torch.cat([o, x], 2)).sigmoid()
        return g * o + (1 - g) * x, alpha
