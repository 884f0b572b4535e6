"""The cells that may run inside Ordered Memory: two states to one."""

from typing import Any

import torch
from torch import Tensor, nn

from dgltree.cells.gated_recursive import gated_recursive


class GatedRecursiveOperator(nn.Module):
    """:func:`dgltree.cells.gated_recursive.gated_recursive` of two states, with one set of weights.

    Args:
        hidden_size: D.
        dropout: probability, in training only, on [h_1; h_2] and before W_2.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(2 * hidden_size, 4 * hidden_size)
        self.second = nn.Linear(4 * hidden_size, 4 * hidden_size)
        self.drop = nn.Dropout(dropout)

    def forward(self, h_1: Tensor, h_2: Tensor, norm: nn.LayerNorm) -> Tensor:
        """(rows, D) from (rows, D) each; ``norm`` is the memory's own LayerNorm."""
        hidden = self.first(self.drop(torch.cat([h_1, h_2], -1)))
        return gated_recursive(hidden, (h_1, h_2), self.second, drop=self.drop, norm=norm)["h"]


class TreeRNNOperator(nn.Module):
    """``tanh(W drop([h_1; h_2]) + b)``, the ablation.

    Args:
        hidden_size: D.
        dropout: probability, in training only, on [h_1; h_2].
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(2 * hidden_size, hidden_size)
        self.drop = nn.Dropout(dropout)

    def forward(self, h_1: Tensor, h_2: Tensor, *unused: Any) -> Tensor:
        """(rows, D) from (rows, D) each; there is no LayerNorm."""
        return torch.tanh(self.first(self.drop(torch.cat([h_1, h_2], -1))))


OPERATORS: dict[str, type[GatedRecursiveOperator] | type[TreeRNNOperator]] = {
    "tree_cell": GatedRecursiveOperator,
    "tree_rnn": TreeRNNOperator,
}
