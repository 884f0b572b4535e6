"""Where a child is among its siblings, as a vector."""

import math

import torch
from torch import Tensor, nn

WIDTH = 32
"""Columns of the sinusoids that encode the positions of children."""


class Positions(nn.Linear):
    """A linear map of the sinusoids of a child's position, which there are for any number of children.

    Initialisation: U(-1/sqrt(32), 1/sqrt(32)), torch's for the 32 columns of the sinusoids.

    Args:
        size: width of the vectors.
    """

    def __init__(self, size: int) -> None:
        super().__init__(WIDTH, size, bias=False)

    def forward(self, slot: Tensor) -> Tensor:
        """(..., size) from positions (...) int64, counted from 0.

        A CPU computes each once, up to the largest, for which other devices would have to be waited.
        """
        if not slot.numel():
            return self.weight.new_zeros(*slot.shape, self.out_features)
        if slot.device.type != "cpu":
            return super().forward(sinusoids_at(slot.to(self.weight.dtype), WIDTH))
        vectors = super().forward(sinusoids(int(slot.max()) + 1, self.weight))
        return vectors[slot]


def sinusoids(count: int, like: Tensor) -> Tensor:
    """(count, n) for a tensor (..., n): row t is sin(t / 10000^(2i / n)) in column 2i, its cosine in column 2i + 1."""
    t = torch.arange(count, device=like.device, dtype=like.dtype)
    return sinusoids_at(t, like.shape[-1])


def sinusoids_at(t: Tensor, n: int) -> Tensor:
    """(..., n), the rows of :func:`sinusoids` for some t (...), of the dtype of t."""
    column = torch.arange(0, n, 2, device=t.device, dtype=t.dtype)
    frequency = (-math.log(1e4) / n * column).exp()
    angles = t.unsqueeze(-1) * frequency
    pairs = torch.stack([angles.sin(), angles.cos()], -1)
    return pairs.flatten(-2)[..., :n]
