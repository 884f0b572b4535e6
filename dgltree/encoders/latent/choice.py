"""Which neighbours are joined: choosing among scores, and a row of states that is one shorter afterwards."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from dgltree.support.torch_internals import without_autocast

# ---------------------------------------------------------------------------------------------------------------------
# How good it would be to join two neighbours: a score of what they would become, or of the two as they are.
#
# Scores are not computed in half precision, also if autocast has the products in it: rounded to three digits, many of
# them would be equal.


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
            h = h.to(self.query.dtype)
            return h @ self.query / self.divisor


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
            h = h.to(self.linear.weight.dtype)
            return self.linear(h).squeeze(-1)


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
        both = h[..., : self.slice_size].flatten(-2)  # (..., 2 k)
        with without_autocast(both.device):
            both = both.to(self.first.weight.dtype)
            hidden = nn.functional.gelu(self.first(both))
            return self.second(hidden).squeeze(-1)


Score = QueryScore | LinearScore | ChildrenScore


SCORE_TOLERANCE = 1e-9
"""Scores that differ by less, relative to the largest in size, are equal, and the leftmost of them wins: equal words
have equal scores except for rounding, which depends on what else is in a batch."""
ROUNDINGS = 16
"""The tolerance if that is more than SCORE_TOLERANCE, in units of the last place: for float32."""
LOG_EPSILON = 1e-20
"""Added to a probability before its logarithm, as the published programs do."""


def leftmost_best(scores: Tensor, count: int) -> Tensor:
    """(..., count) int64, the indices of the best of scores (..., S), best first; of equal ones the leftmost first.

    Args:
        scores: -inf if there is nothing to choose; such indices come last.
        count: 1 to S.
    """
    values = scores.detach().nan_to_num(-math.inf, math.inf, -math.inf)  # NaN has an index all the same, inside the row
    indices = torch.arange(values.shape[-1], device=values.device)
    magnitudes = values.masked_fill(values == -math.inf, 0).abs()
    margin = tolerance(values.dtype) * magnitudes.amax(-1, keepdim=True)
    is_free = torch.ones_like(values, dtype=torch.bool)
    chosen: list[Tensor] = []
    while True:
        best = values.amax(-1, keepdim=True)
        is_best = (values >= best - margin) & is_free
        leftmost = indices.where(is_best, len(indices)).amin(-1, keepdim=True)
        chosen.append(leftmost)
        if len(chosen) == count:
            return torch.cat(chosen, -1)
        values = values.scatter(-1, leftmost, -math.inf)
        is_free = is_free.scatter(-1, leftmost, False)


def tolerance(dtype: torch.dtype) -> float:
    """How much scores of a dtype may differ by and be equal, relative to the largest in size."""
    return max(SCORE_TOLERANCE, ROUNDINGS * torch.finfo(dtype).eps)


def log_probabilities(scores: Tensor, there: Tensor) -> Tensor:
    """(..., S), log(softmax(scores) + 1e-20) over the indices that are ``there``; of no meaning at the others."""
    p = scores.masked_fill(~there, -math.inf).softmax(-1)
    return (p + LOG_EPSILON).log()


def gumbel(like: Tensor) -> Tensor:
    """Gumbel noise of a shape: -log(-log u) of uniform u."""
    exponential = torch.empty_like(like).exponential_()
    return -exponential.log()


def straight_through(soft: Tensor, at: Tensor) -> Tensor:
    """One at place ``at`` (..., 1) of the last dimension, 0 elsewhere; its gradient is that of ``soft`` (..., S)."""
    hard = torch.zeros_like(soft).scatter(-1, at, 1.0)
    return hard + (soft - soft.detach())


def without(values: Tensor, at: Tensor) -> Tensor:
    """All S values but the one at an index: S - 1.

    Args:
        values: (..., S) or (..., S, D).
        at: (...) int64, 0 to S - 1.
    """
    size = values.shape[at.dim()] - 1
    indices = torch.arange(size, device=values.device)
    source = indices + (indices >= at.unsqueeze(-1))
    if values.dim() == source.dim():
        return values.gather(-1, source)
    wide = source.unsqueeze(-1).expand(*source.shape, values.shape[-1])
    return values.gather(-2, wide)


def shrink(h: Tensor, choice: Tensor, merged: Tensor) -> Tensor:
    r"""The remaining S states (or numbers of rows) when two neighbours have become one: S - 1.

    By weights m of the S - 1 pairs, with the sums :math:`cum_j = \sum_{k \le j} m_k`:

    .. math:: h'_j = m_j \, merged_j + (1 - cum_j) \, h_j + (cum_j - m_j) \, h_{j+1}

    By the number of a pair, which is what a weight of 1 gives, without its products.

    Args:
        h: (..., S, D) states, or (..., S) anything.
        choice: (..., S - 1) floating weights, soft or :func:`straight_through`; or (...) int64, the number of a pair.
        merged: by weights (..., S - 1, D), of all pairs; by number (..., D), or (...), of the one.
    """
    if choice.is_floating_point():
        m = choice.unsqueeze(-1)
        cum = m.cumsum(-2)
        left = h[..., :-1, :]
        right = h[..., 1:, :]
        return m * merged + (1 - cum) * left + (cum - m) * right
    rest = without(h, choice)
    indices = torch.arange(rest.shape[choice.dim()], device=h.device)
    is_merged = indices == choice.unsqueeze(-1)
    if h.dim() == is_merged.dim():
        return merged.unsqueeze(-1).where(is_merged, rest)
    return merged.unsqueeze(-2).where(is_merged.unsqueeze(-1), rest)
