"""The equations of the Gated Recursive Cell, of trees that are given and of trees that are found."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Rows = Callable[[Tensor], Tensor]


def gated_recursive(
    hidden: Tensor, children: Sequence[Tensor], second: Rows, drop: Rows, norm: Rows, act: Rows = torch.relu
) -> dict[str, Any]:
    r"""The Gated Recursive Cell (Shen et al. 2019, Ordered Memory, arXiv 1910.13466) at any arity N.

    .. math::
        [g_1; ...; g_N; c; u] &= W_2 \, drop(relu(hidden)) + b_2, \quad hidden = W_1 \, drop([h_1; ...; h_N]) + b_1 \\
        h &= LayerNorm(\sum_k \sigma(g_k) \odot h_k + \sigma(c) \odot u)

    Args:
        hidden: (..., 4n), the product with W_1.
        children: the N states h_k, (..., n) each.
        second: the map W_2, b_2, (..., 4n) to (..., (N + 2) n).
        drop: the dropout before W_2.
        norm: the LayerNorm.
        act: the non-linearity, relu as published, or GELU (Ray Chowdhury & Caragea 2021, arXiv 2106.06038).

    Returns h (..., n), and the gates: g, N of (..., n), c and u (..., n).
    """
    z = second(drop(act(hidden)))
    *g, c, u = z.split(z.shape[-1] // (len(children) + 2), -1)
    *g, c = (torch.sigmoid(gate) for gate in (*g, c))
    h = c * u
    for g_k, h_k in zip(g, children, strict=True):
        h = h + g_k * h_k
    return {"h": norm(h), "g": g, "c": c, "u": u}
