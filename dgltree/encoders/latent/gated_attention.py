"""Gated attention: vectors ask others, and take as much of the answer as a gate lets through."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from dgltree.encoders.sequence.linearization import join_pairs

MAX_KEY_WIDTH = 128
"""The largest width d of questions and keys."""


class GatedAttention(nn.Module):
    """One step of the gated attention that :class:`dgltree.encoders.latent.gated_attention.ParentAttention` states.

    A subclass says how two vectors are related. Each relation has a vector E, by which a question finds a key as well.

    Args:
        hidden_size: n.
        dropout: probability, in training only.
        relations: how many vectors E are.

    Initialisation: scales N(0, 0.02), shifts 0, E N(0, 1); torch's of the rest.
    """

    def __init__(self, hidden_size: int, dropout: float, relations: int) -> None:
        super().__init__()
        n = hidden_size
        d = min(MAX_KEY_WIDTH, n)
        self.hidden_size = n
        self.enter = nn.Linear(n, n)  # W_0
        self.norm = nn.LayerNorm(n)
        self.of_word = nn.Linear(n, 2 * n)  # W_u
        self.of_node = nn.Linear(n, 2 * n)  # W_v
        self.common = nn.Linear(n, d)  # W_z
        self.scale = nn.Parameter(torch.empty(3, d).normal_(std=0.02))  # gamma
        self.shift = nn.Parameter(torch.zeros(3, d))  # beta
        self.relations = nn.Parameter(torch.empty(relations, d).normal_())  # E
        self.out = nn.Linear(2 * n, n)  # W_o
        self.drop = nn.Dropout(dropout)
        self.gate = nn.Linear(2 * n, n)  # W_g
        self.divisor = math.sqrt(2 * d)

    def keys(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """K (R, P, d) and V (R, P, 2n) of what is asked, y (R, P, n)."""
        s = self._entered(y)
        V = silu(self.of_node(s))  # (3)
        Z = silu(self.common(s))  # (4)
        K = Z * self.scale[2] + self.shift[2]  # (6)
        return K, V

    def step(self, x: Tensor, keys: tuple[Tensor, Tensor], relation: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
        r"""x (R, T, n) after it has asked, and :math:`\alpha` (R, T, P), 0 where nobody is asked.

        Args:
            x: (R, T, n).
            keys: of the P vectors that are asked.
            relation: int64 that expands to (R, T, P), which of E relates two of them.
            asked: bool that expands to (R, T, P), who asks whom; who asks nobody gets 0 for an answer.
        """
        K, V = keys
        s = self._entered(x)
        U = silu(self.of_word(s))  # (2), (R, T, 2n)
        Z = silu(self.common(s))  # (4), (R, T, d)
        Q = Z * self.scale[0] + self.shift[0]  # (5)
        Q_E = Z * self.scale[1] + self.shift[1]
        rows, T, _ = x.shape
        by_relation = (Q_E @ self.relations.t()).gather(2, relation.expand(rows, T, -1))
        e = Q @ K.transpose(1, 2) + by_relation  # (R, T, P)
        asks = asked.any(2, keepdim=True)
        e = (e / self.divisor).masked_fill(~asked & asks, -math.inf)
        alpha = e.softmax(2) * asks  # (7)
        o = self.drop(self.out(U * (alpha @ V))) * asks  # (8)
        g = self.gate(torch.cat([o, x], 2)).sigmoid()  # (9)
        return g * o + (1 - g) * x, alpha  # (10)

    def _entered(self, x: Tensor) -> Tensor:
        """s (..., n) of equation (1)."""
        return self.norm(self.enter(x))


# ---------------------------------------------------------------------------------------------------------------------
# Parent attention: each word asks the nodes above it, so that its vector knows its place in the sentence.


MAX_HEIGHT = 10
"""A node that is higher above a word is treated as if it were so high."""
PARENT_LAYERS = 2


class ParentAttention(GatedAttention):
    r"""The gated attention of words to their ancestors (Ray Chowdhury & Caragea 2023, arXiv 2307.10779), two times with
    the same weights.

    With x_i a word's vector and x_p a node's, d the smaller one of n and 128, and height_p the number of nodes on the
    longest way from p down to a word, p included,

    .. math::
        s &= LN(W_0 x + b_0)\quad(1) \\
        U_i &= SiLU(W_u s_i)\quad(2) \\
        V_p &= SiLU(W_v s_p)\quad(3) \\
        Z &= SiLU(W_z s)\quad(4) \\
        Q_i &= Z_i \odot \gamma_1 + \beta_1, \quad Q'_i = Z_i \odot \gamma_2 + \beta_2\quad(5) \\
        K_p &= Z_p \odot \gamma_3 + \beta_3\quad(6) \\
        \alpha_{ip} &= softmax_p((Q_i \cdot K_p + Q'_i \cdot E_{\min(height_p, 10)}) / \sqrt{2 d})\quad(7) \\
        o_i &= drop(W_o (U_i \odot \sum_p \alpha_{ip} V_p))\quad(8) \\
        g_i &= \sigma(W_g [o_i; x_i])\quad(9) \\
        x_i &\leftarrow g_i \odot o_i + (1 - g_i) \odot x_i\quad(10)

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
            heights: (R, P) int64, of the nodes, 1 or more; any number of nodes that are above no word.
        """
        keys = self.keys(nodes)
        relation = heights.clamp(1, MAX_HEIGHT).unsqueeze(1) - 1
        alpha = below
        for _ in range(PARENT_LAYERS):
            x, alpha = self.step(x, keys, relation, below)
        return x, alpha


# ---------------------------------------------------------------------------------------------------------------------
# Pair attention: the words of two sentences ask each other, and one vector answers for the pair.


FARTHEST = 5
"""Words that are farther apart are treated as if they were so far apart."""
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
        self.sentence = _mlp(hidden_size, hidden_size)
        self.salience = _mlp(hidden_size, 1)
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
        y = torch.cat([self.sentence(roots).unsqueeze(1), words], 1)  # (2 P, T + 1, n)
        side = torch.arange(len(y), device=y.device) % 2
        y = y + self.segment[side].unsqueeze(1)
        x, count = join_pairs(y, lengths + 1, self.between)  # (P, S, n)
        t = torch.arange(x.shape[1], device=x.device)
        is_item = t < count.unsqueeze(1)
        asked = is_item.unsqueeze(1).expand(-1, len(t), -1)
        distance = (t - t.unsqueeze(1)).clamp(-FARTHEST, FARTHEST)
        for _ in range(PAIR_LAYERS):
            x, _ = self.step(x, self.keys(x), distance + FARTHEST, asked)
        salience = self.salience(x).squeeze(2)
        weights = salience.masked_fill(~is_item, -torch.inf).softmax(1)
        return (weights.unsqueeze(2) * x).sum(1)


def _mlp(hidden_size: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(hidden_size, hidden_size), nn.GELU(), nn.Linear(hidden_size, out))
