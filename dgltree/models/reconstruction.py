"""Losses without labels: of what a node is from its parts, and what it is from its context."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from dgltree.engine.available_memory import available_bytes

MATRICES = 3
"""Of all cosines, that a loss and its gradient hold at once, at least."""


def contrastive(up: Tensor, down: Tensor, scale: float) -> Tensor:
    r"""(), how well the two vectors of a node find each other among those of M nodes:

    .. math:: S_{ij} = scale \cdot \cos(u_i, d_j), \quad \tfrac 1 2 (CE(S, i) + CE(S^T, i))

    Args:
        up, down: (M, n) each.
        scale: 1 / temperature.

    It takes memory of the order M^2. Raises ``MemoryError`` for what the device cannot hold.
    """
    _check_memory(up)
    similar = scale * normalize(up, dim=1) @ normalize(down, dim=1).t()
    own = torch.arange(len(up), device=up.device)
    return (cross_entropy(similar, own) + cross_entropy(similar.t(), own)) / 2


def _check_memory(up: Tensor) -> None:
    needed, left = MATRICES * len(up) ** 2 * up.element_size(), available_bytes(up.device)
    if left is not None and needed > left:
        raise MemoryError(
            f"the contrastive loss of {len(up):,} nodes needs at least {needed / 2**30:,.1f} GiB, and {up.device} has "
            f"{left / 2**30:,.1f} GiB left: use smaller batches, or loss='cross_entropy'"
        )


def word_cross_entropy(logits: Tensor, token: Tensor, weight: Tensor | None = None) -> Tensor:
    """(), the mean cross-entropy of logits (m, V) against tokens (m,), each as often as its weight (m,) says."""
    if weight is None:
        return cross_entropy(logits, token)
    each = cross_entropy(logits, token, reduction="none")
    return (each * weight).sum() / weight.sum()
