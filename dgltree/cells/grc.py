"""GRC: the Tree Cell as the later latent-tree networks run it, on a given tree."""

from typing import Any

from torch import Tensor, nn

from dgltree.cells.cell import Embedding
from dgltree.cells.compose import LayerNorm
from dgltree.cells.tree_cell import TreeCell


class GRC(TreeCell):
    r"""The Gated Recursive Cell with GELU (Ray Chowdhury & Caragea 2021, arXiv 2106.06038) at any arity N.

    .. math::
        [g_1; ...; g_N; c; u] &= W_2 \, drop(GELU(W_1 i + b_1)) + b_2, \quad i = [h_{c_1}; ...; h_{c_N}] \\
        h &= LayerNorm(\sum_k \sigma(g_k) \odot h_{c_k} + \sigma(c) \odot u)

    A leaf with an embedding x is :math:`h = LayerNorm_0(W_0 x + b_0)`. All else is as in :class:`TreeCell`.

    State: ``h`` (n,).

    Args:
        typed: whether each function has W_1 and W_2 of its own; the papers have one cell for all nodes.
        vocabulary, hidden_size, options: see :class:`Cell`, which also documents the initialisation.
    """

    drops_inputs = False

    def build(self) -> None:
        super().build()
        if self.leaf != "gates":
            tokens = len(self.vocabulary.tokens)
            self.embedding = NormedEmbedding(
                tokens,
                self.hidden_size,
                network=self.leaf == "network",
                numbers=self.numbers,
                number_scale=self.number_scale,
                parts=self.embedding.parts,
            )

    def act(self, v: Tensor) -> Tensor:
        return nn.functional.gelu(v)


class NormedEmbedding(Embedding):
    """:math:`LayerNorm(W_0 x + b_0)` of what an :class:`Embedding` gives."""

    def __init__(self, tokens: int, size: int, **options: Any) -> None:
        super().__init__(tokens, size, **options)
        self.affine = nn.Linear(size, size)
        self.norm = LayerNorm(size)

    def forward(self, token: Tensor, value: Tensor | None) -> Tensor:
        return self.norm(self.affine(super().forward(token, value)))
