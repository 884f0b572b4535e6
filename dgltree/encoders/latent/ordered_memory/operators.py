"""The cells that may run inside Ordered Memory: two states to one.

The product with the state of the memory, h_2, is known before the slots are written and made for all of them at once
(``horizontal``); the one with the state of the slot below, h_1, is made slot by slot (``vertical``).
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from dgltree.cells.gated_recursive import gated_recursive


class MemoryOperator(nn.Module, ABC):
    """``vertical`` and ``horizontal`` side by side are the map of [h_1; h_2], and begin as one ``Linear`` of it.

    Args:
        hidden_size: D.
        width: of what the map gives.
        dropout: probability, in training only, on [h_1; h_2].
    """

    def __init__(self, hidden_size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.vertical = nn.Linear(hidden_size, width, bias=False)
        self.horizontal = nn.Linear(hidden_size, width)
        self.drop = nn.Dropout(dropout)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -((2 * hidden_size) ** -0.5), (2 * hidden_size) ** -0.5)

    def of_memory(self, h_2: Tensor) -> Tensor:
        """(rows, width), what h_2, (rows, D), adds to the product, with the bias."""
        return self.horizontal(self.drop(h_2))

    def product(self, h_1: Tensor, of_memory: Tensor) -> Tensor:
        """(rows, width), the map of [h_1; h_2]."""
        return torch.addmm(of_memory, self.drop(h_1), self.vertical.weight.t())

    @abstractmethod
    def forward(self, h_1: Tensor, h_2: Tensor, of_memory: Tensor, norm: nn.LayerNorm) -> Tensor:
        """(rows, D) from states (rows, D) and what ``of_memory`` gave; ``norm`` is the memory's own LayerNorm."""


class GatedRecursiveOperator(MemoryOperator):
    """:func:`dgltree.cells.gated_recursive.gated_recursive` of two states, with one set of weights.

    Args:
        hidden_size: D.
        dropout: probability, in training only, on [h_1; h_2] and before W_2.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__(hidden_size, 4 * hidden_size, dropout)
        self.second = nn.Linear(4 * hidden_size, 4 * hidden_size)

    def forward(self, h_1: Tensor, h_2: Tensor, of_memory: Tensor, norm: nn.LayerNorm) -> Tensor:
        hidden = self.product(h_1, of_memory)
        return gated_recursive(hidden, (h_1, h_2), self.second, drop=self.drop, norm=norm)["h"]


class TreeRNNOperator(MemoryOperator):
    """``tanh(W drop([h_1; h_2]) + b)``, the ablation; there is no LayerNorm.

    Args:
        hidden_size: D.
        dropout: probability, in training only, on [h_1; h_2].
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__(hidden_size, hidden_size, dropout)

    def forward(self, h_1: Tensor, h_2: Tensor, of_memory: Tensor, norm: nn.LayerNorm) -> Tensor:
        return torch.tanh(self.product(h_1, of_memory))


OPERATORS: dict[str, type[GatedRecursiveOperator] | type[TreeRNNOperator]] = {
    "tree_cell": GatedRecursiveOperator,
    "tree_rnn": TreeRNNOperator,
}
