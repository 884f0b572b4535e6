"""Parent attention: each word asks the nodes above it, so that its vector knows its place in the sentence."""

import math

import torch
from torch import Tensor, nn

HIGHEST = 10
"""Nodes that are higher above a word count as so high."""
WIDEST = 128
"""Of questions and keys."""
LAYERS = 2


class ParentAttention(nn.Module):
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
        super().__init__()
        d = min(WIDEST, hidden_size)
        self.enter, self.norm = nn.Linear(hidden_size, hidden_size), nn.LayerNorm(hidden_size)
        self.of_word, self.of_node = (nn.Linear(hidden_size, 2 * hidden_size) for _ in range(2))
        self.common = nn.Linear(hidden_size, d)
        self.scale, self.shift = nn.Parameter(torch.empty(3, d).normal_(std=0.02)), nn.Parameter(torch.zeros(3, d))
        self.heights = nn.Parameter(torch.empty(HIGHEST, d).normal_())
        self.out, self.drop = nn.Linear(2 * hidden_size, hidden_size), nn.Dropout(dropout)
        self.gate = nn.Linear(2 * hidden_size, hidden_size)
        self.divisor = math.sqrt(2 * d)

    def forward(self, x: Tensor, nodes: Tensor, below: Tensor, heights: Tensor) -> Tensor:
        """(R, T, n), the words in context.

        Args:
            x: (R, T, n), words.
            nodes: (R, P, n), inner nodes.
            below: (R, T, P) bool, whether a word is below a node.
            heights: (R, P) int64, of the nodes, 1 or more.
        """
        silu, s_p = nn.functional.silu, self.norm(self.enter(nodes))
        V = silu(self.of_node(s_p))
        K = silu(self.common(s_p)) * self.scale[2] + self.shift[2]
        E = heights.clamp(1, HIGHEST).unsqueeze(1) - 1  # (R, 1, P)
        for _ in range(LAYERS):
            s = self.norm(self.enter(x))
            Z = silu(self.common(s))
            Q, Q_E = (Z * self.scale[k] + self.shift[k] for k in range(2))
            e = Q @ K.transpose(1, 2) + (Q_E @ self.heights.t()).gather(2, E.expand(-1, x.shape[1], -1))
            asks = below.any(2, keepdim=True)
            alpha = (e / self.divisor).masked_fill(~below & asks, -math.inf).softmax(2)
            o = self.drop(self.out(silu(self.of_word(s)) * (alpha @ V))) * asks
            g = self.gate(torch.cat([o, x], 2)).sigmoid()
            x = g * o + (1 - g) * x
        return x
