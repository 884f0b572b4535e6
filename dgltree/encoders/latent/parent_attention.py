"""Parent attention: each word asks the nodes above it, so that its vector knows its place in the sentence."""

from torch import Tensor

from dgltree.encoders.latent.gated_attention import GatedAttention

MAX_HEIGHT = 10
"""Nodes that are higher above a word count as so high."""
LAYERS = 2


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
        for _ in range(LAYERS):
            x, alpha = self.step(x, keys, heights.clamp(1, MAX_HEIGHT).unsqueeze(1) - 1, below)
        return x, alpha
