"""Neighbours among nodes that exist in part: each is the nearer the less exists between."""

from typing import Literal, get_args

import torch
from torch import Tensor

Neighbours = Literal["cut", "product"]
NEIGHBOURS = get_args(Neighbours)


def neighbours(e: Tensor, how: Neighbours = "cut") -> tuple[Tensor, Tensor]:
    """L and R, (b, S, S) each, the weights of left and right neighbours, from the existences (b, S).

    Args:
        e: 0 to 1.
        how: "cut" as all programs of CRvNN do, until an existence of 1 is used up; "product": equation 6 of its paper.
    """
    return _cut(e) if how == "cut" else _product(e)


def _cut(e: Tensor) -> tuple[Tensor, Tensor]:
    """With K_ab what exists after place a up to place b, at most 1: R_ij = K_ij - K_i,j-1, which is e_j until 1 is used
    up, and L_ij = K_j-1,i-1 - K_j,i-1.

    In float64: differences of sums from the first place on lose a digit of float32 every ten places (at 300 places
    states were 1.3e-2 off).
    """
    sums = torch.nn.functional.pad(e.double().cumsum(1), (1, 0))  # from before the first place
    K = (sums.unsqueeze(1) - sums.unsqueeze(2)).clamp(max=1).triu()
    left, right = (K[:, :-1, :-1] - K[:, 1:, :-1]).transpose(1, 2), K[:, 1:, 1:] - K[:, 1:, :-1]
    return left.to(e.dtype), right.to(e.dtype)


def _product(e: Tensor) -> tuple[Tensor, Tensor]:
    return _right_product(e.flip(1)).flip(1, 2), _right_product(e)


def _right_product(e: Tensor) -> Tensor:
    """R_ij: e_j times the product of 1 - e_k over i < k < j."""
    size = e.shape[1]
    upper = torch.ones(size, size, dtype=torch.bool, device=e.device).triu(1)
    absent = (1 - e).unsqueeze(1).expand(-1, size, -1).masked_fill(~upper, 1)
    between = torch.nn.functional.pad(absent.cumprod(2)[:, :, :-1], (1, 0), value=1.0)
    return e.unsqueeze(1) * between * upper
