"""How good it would be to join two neighbours: a score of what they would become, or of the two as they are.

Scores are not computed in half precision, also if autocast has the products in it: rounded to three digits, many of
them would be equal.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from dgltree.torch_internals import without_autocast


class QueryScore(nn.Module):
    r""":math:`q \cdot h`, divided by a root of n (Choi et al. 2018; the division is in their program alone).

    Args:
        hidden_size: n.
        divisor: by which it is divided.

    Initialisation: q ~ N(0, 0.01), a standard deviation of 0.01.
    """

    of_children: ClassVar[bool] = False

    def __init__(self, hidden_size: int, divisor: float) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(hidden_size).normal_(std=0.01))
        self.divisor = divisor

    def forward(self, h: Tensor) -> Tensor:
        """(...) of what two states would become, (..., n)."""
        with without_autocast(h.device):
            return h.to(self.query.dtype) @ self.query / self.divisor


class LinearScore(nn.Module):
    r""":math:`w \cdot h + b` of what two states would become.

    Args:
        hidden_size: n.
    """

    of_children: ClassVar[bool] = False

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_size, 1)

    def forward(self, h: Tensor) -> Tensor:
        """(...) of (..., n)."""
        with without_autocast(h.device):
            return self.linear(h.to(self.linear.weight.dtype)).squeeze(-1)


class ChildrenScore(nn.Module):
    r""":math:`v \cdot GELU(U [l_{1..k}; r_{1..k}] + d) + d'`, of the first k numbers of the two states.

    Args:
        hidden_size: n.
        slice_size: k, and the width of the hidden layer; None: n. At most n are there.
    """

    of_children: ClassVar[bool] = True

    def __init__(self, hidden_size: int, slice_size: int | None) -> None:
        super().__init__()
        self.slice_size = hidden_size if slice_size is None else min(slice_size, hidden_size)
        self.first = nn.Linear(2 * self.slice_size, self.slice_size)
        self.second = nn.Linear(self.slice_size, 1)

    def forward(self, h: Tensor) -> Tensor:
        """(...) of two states each, (..., 2, n)."""
        both = h[..., : self.slice_size].flatten(-2)
        with without_autocast(both.device):
            hidden = nn.functional.gelu(self.first(both.to(self.first.weight.dtype)))
            return self.second(hidden).squeeze(-1)


Score = QueryScore | LinearScore | ChildrenScore
