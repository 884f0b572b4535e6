"""Dropout with one mask for all steps of a sequence."""

import torch
from torch import Tensor, nn

from dgltree.arguments import check_dropout


class LockedDropout(nn.Module):
    """Drops the same columns at every step (Gal & Ghahramani 2016, arXiv 1512.05287), in training only.

    Args:
        p: probability; what is kept is divided by 1 - p.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        check_dropout(p)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, n) to the same; the mask is (B, 1, n)."""
        if not self.training or not self.p:
            return x
        return x * nn.functional.dropout(torch.ones_like(x[:, :1]), self.p)
