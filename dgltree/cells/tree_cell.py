"""The Tree Cell: the Gated Recursive Cell of Ordered Memory on a given tree."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.cell import Cell
from dgltree.cells.compose import LayerNorm, gated_recursive
from dgltree.engine.contract import Children, Computed, Shapes, State, Widths
from dgltree.engine.typed_linear import Affine, Linear


class TreeCell(Cell):
    r"""The Gated Recursive Cell (Shen et al. 2019, Ordered Memory, arXiv 1910.13466) at any arity N.

    .. math::
        [g_1; ...; g_N; c; u] &= W_2 \, drop(relu(W_1 \, drop(i) + b_1)) + b_2, \quad i = [h_{c_1}; ...; h_{c_N}] \\
        h &= LayerNorm(\sum_k \sigma(g_k) \odot h_{c_k} + \sigma(c) \odot u)

    The feed-forward layer is 4n wide; the paper's cell is binary (N = 2). The LayerNorm (eps 1e-5, starting at weight 1
    and bias 0) is one for all nodes.

    State: ``h`` (n,).

    Args:
        typed: whether each function has W_1 and W_2 of its own; the paper has one cell for all nodes.
        vocabulary, hidden_size, options: see :class:`Cell`, which also documents the initialisation.
    """

    drops_inputs = True

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, typed: bool = False, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=typed, **options)
        self.norm = LayerNorm(hidden_size)
        self.build()

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> Widths:
        return {"hidden": 4 * self.hidden_size}

    def products(self, arity: int) -> dict[str, Affine]:
        n = self.hidden_size
        return {"out": Affine(4 * n, (arity + 2) * n)}

    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        second = partial(linear, "out")
        return gated_recursive(pre["hidden"], children["h"], second, self.drop, self.norm, self.act)

    def act(self, v: Tensor) -> Tensor:
        """The non-linearity."""
        return torch.relu(v)
