"""The differentiable stack of the memory-augmented cells (Arabshahi et al. 2019 and 2021, arXiv 1911.01545).

A stack is (..., rows, n), row 0 the top. It holds p rows, or fewer where ranking has cut off those that cannot reach
the root any more: then its last row lacks the row below it, and an update gives one row less.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def combine_stacks(g: Sequence[Tensor], stacks: Sequence[Tensor]) -> Tensor:
    """``Sc = sum_k g_k * S_k`` of one child or more: g_k (..., n) is the same for every row."""
    Sc = g[0].unsqueeze(-2) * stacks[0]
    for g_k, S_k in zip(g[1:], stacks[1:], strict=True):
        Sc = torch.addcmul(Sc, g_k.unsqueeze(-2), S_k)
    return Sc


def update(
    Sc: Tensor, u: Tensor, size: int, *, a_push: Tensor, a_pop: Tensor | None = None, a_noop: Tensor | None = None
) -> Tensor:
    """Push u, pop, and no-op at once, each weighted by its action.

    ``S[0] = a_push * u + a_pop * Sc[1] + a_noop * Sc[0]``;
    ``S[r] = a_push * Sc[r-1] + a_pop * Sc[r+1] + a_noop * Sc[r]``; a row past the end reads as 0.

    Args:
        Sc: (..., rows, n), ``rows <= size``.
        u: (..., n), what is pushed.
        size: p, the rows of a whole stack.
        a_push, a_pop, a_noop: (..., n) or (..., 1); an action that is None is not available.

    Returns (..., p, n), or (..., rows - 1, n) for a stack that was cut.
    """
    rows = Sc.shape[-2]
    kept = size if rows == size else rows - 1
    u = u.unsqueeze(-2)
    S = a_push.unsqueeze(-2) * (u if kept == 1 else torch.cat([u, Sc[..., : kept - 1, :]], -2))
    if a_pop is not None:
        below = Sc[..., 1 : kept + 1, :]
        if rows == size:
            below = torch.nn.functional.pad(below, (0, 0, 0, 1))
        S = torch.addcmul(S, a_pop.unsqueeze(-2), below)
    if a_noop is not None:
        S = torch.addcmul(S, a_noop.unsqueeze(-2), Sc[..., :kept, :])
    return S


def used_rows(S: Tensor, threshold: float = 1e-3) -> Tensor:
    """(...,) int64: rows of stacks (..., p, n) whose 2-norm exceeds the threshold (Arabshahi et al. 2021)."""
    return (torch.linalg.vector_norm(S, dim=-1) > threshold).sum(-1)


def usage_by_depth(S: Tensor, depth: Tensor, threshold: float = 1e-3) -> dict[int, float]:
    """Depth -> rows in use, averaged over the stacks of that depth: the stack usage of Arabshahi et al. 2021.

    Args:
        S: (rows, p, n), say ``propagate(batch, cell)["S"]``, or its rows at ``batch.roots``.
        depth: (rows,) int64 of the trees that the stacks belong to, say ``batch.level``.
        threshold: the 2-norm above which a row counts.
    """
    used = used_rows(S.detach(), threshold).double()
    return {d: float(used[depth == d].mean()) for d in torch.unique(depth).tolist()}
