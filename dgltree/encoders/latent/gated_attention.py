"""Gated attention: vectors ask others, and take as much of the answer as a gate lets through."""

import math

import torch
from torch import Tensor, nn

from dgltree.encoders.sequence.linearization import join_pairs

MAX_KEY_WIDTH = 128
"""Of questions and keys."""


class GatedAttention(nn.Module):
    """One step of the gated attention that :class:`dgltree.encoders.latent.gated_attention.ParentAttention` states.

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


# ---------------------------------------------------------------------------------------------------------------------
# Parent attention: each word asks the nodes above it, so that its vector knows its place in the sentence.


MAX_HEIGHT = 10
"""Nodes that are higher above a word count as so high."""
PARENT_LAYERS = 2


class ParentAttention(GatedAttention):
    r"""The gated attention of words to their ancestors (Ray Chowdhury & Caragea 2023, arXiv 2307.10779), two times with
    the same weights.

    With x_i a word's vector and x_p a node's, d the smaller one of n and 128, and height_p the number of nodes on the
    longest way from p down to a word, p included,

    .. math::
        s &= LN(W_0 x + b_0), \quad U_i = SiLU(W_u s_i), \quad V_p = SiLU(W_v s_p), \quad Z = SiLU(W_z s) \\
        Q_i &= Z_i \odot \gamma_1 + \beta_1, \quad Q'_i = Z_i \odot \gamma_2 + \beta_2, \quad
        K_p = Z_p \odot \gamma_3 + \beta_3 \\
        \alpha_{ip} &= softmax_p((Q_i \cdot K_p + Q'_i \cdot E_{\min(height_p, 10)}) / \sqrt{2 d}) \\
        o_i &= drop(W_o (U_i \odot \sum_p \alpha_{ip} V_p)), \quad g_i = \sigma(W_g [o_i; x_i]), \quad
        x_i \leftarrow g_i \odot o_i + (1 - g_i) \odot x_i

    The sum and the softmax are over the ancestors of i; of a word without any, o is 0. The nodes' vectors stay.

    Args:
        hidden_size: n.
        dropout: probability, in training only.

    Initialisation: :math:`\gamma` N(0, 0.02), :math:`\beta` 0, E N(0, 1); torch's of the rest.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__(hidden_size, dropout, MAX_HEIGHT)

    def forward(self, x: Tensor, nodes: Tensor, below: Tensor, heights: Tensor) -> tuple[Tensor, Tensor]:
        r"""(R, T, n), the words in context, and (R, T, P), :math:`\alpha` of the second time, 0 of no ancestors.

        Args:
            x: (R, T, n), words.
            nodes: (R, P, n), inner nodes.
            below: (R, T, P) bool, whether a word is below a node.
            heights: (R, P) int64, of the nodes, 1 or more.
        """
        keys, alpha = self.keys(nodes), below
        for _ in range(PARENT_LAYERS):
            x, alpha = self.step(x, keys, heights.clamp(1, MAX_HEIGHT).unsqueeze(1) - 1, below)
        return x, alpha


# ---------------------------------------------------------------------------------------------------------------------
# Pair attention: the words of two sentences ask each other, and one vector answers for the pair.


FARTHEST = 5
"""Positions that are farther apart count as so far."""
PAIR_LAYERS = 3


class PairAttention(GatedAttention):
    r"""The vector of a pair of sentences, from their words in context (Ray Chowdhury & Caragea 2023, arXiv 2307.10779).

    With r_k the vector of sentence k, w_k1 .. w_kT its words in context, and u_1, u_2 and q vectors that are learnt,

    .. math::
        x &= [MLP(r_1) + u_1;\ w_{1i} + u_1;\ q;\ MLP(r_2) + u_2;\ w_{2i} + u_2] \\
        z &= \sum_t softmax_t(MLP'(x'_t)) \, x'_t

    where x' is x after three steps, with the same weights, of the attention of
    :class:`dgltree.encoders.latent.gated_attention.ParentAttention`, in which all ask all, themselves too, and the
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
        for _ in range(PAIR_LAYERS):
            x, _ = self.step(x, self.keys(x), apart, there.expand(-1, len(t), -1))
        weights = self.salience(x).squeeze(2).masked_fill(~there.squeeze(1), -torch.inf).softmax(1)
        return (weights.unsqueeze(2) * x).sum(1)


def _mlp(hidden_size: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(hidden_size, hidden_size), nn.GELU(), nn.Linear(hidden_size, out))
