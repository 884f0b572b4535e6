"""A step of a search by beams by kernels: what is chosen, with gradients by hand, and the beams after it.

In torch a step is some sixty short operations on small arrays, which take longer than the products of the cell.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from dgltree.cells.once_differentiable import once_differentiable
from dgltree.encoders.latent.choice import LOG_EPSILON, gumbel, tolerance
from dgltree.encoders.latent.table import Table, TableRows
from dgltree.engine.kernels.choice import step_kernel
from dgltree.engine.kernels.operands import are_taken
from dgltree.torch_internals import inside_transform

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_beams import BeamKernel


class Choice(NamedTuple):
    """The K proposals of each of b sequences that become the next beams; on the CPU."""

    at: Tensor
    """(b, K) int64, the place of the pair that each joins."""
    parent: Tensor
    """(b, K) int64, the number of the beam that it is in."""
    alive: Tensor
    """(b, K) bool"""


def beam_kernel(scores: Table) -> "type[BeamKernel] | None":
    """The kernel that chooses among scores; None where torch's operations do: a GPU, half precision, transforms."""
    if not are_taken([scores.buffer]) or inside_transform():
        return None
    return step_kernel("beams", (), scores.buffer, backward=torch.is_grad_enabled())


def choose(
    kernel: "type[BeamKernel]",
    scores: Table,
    pairs: Tensor,
    candidates: Tensor,
    total: Tensor,
    usable: Tensor,
    count: int,
    noise: bool,
) -> tuple[Choice, Tensor]:
    """The best ``count`` joins of beams (b, K'), and their totals (b, K); with the noise of torch's operations."""
    beams, size = pairs.shape[1:]
    each = min(count, size)
    noises = total.new_empty(0, 0, 0), total.new_empty(0, 0)
    if noise:
        noises = gumbel(total.new_empty(pairs.shape)), gumbel(total.new_empty(len(pairs), beams * each))
    given = pairs.contiguous(), candidates, usable, noises, min(count, beams * each)
    new_total, *chosen = _Choose.apply(kernel, scores.order, total.contiguous(), scores.rows, *given)
    return Choice(*chosen), new_total


class _Choose(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernel: "type[BeamKernel]",
        order: Tensor,
        total: Tensor,
        scores: TableRows,
        pairs: Tensor,
        candidates: Tensor,
        usable: Tensor,
        noise: tuple[Tensor, Tensor],
        count: int,
    ) -> tuple[Tensor, ...]:
        shape = len(pairs), count
        at, parent = (pairs.new_empty(shape) for _ in range(2))
        alive, new_total = usable.new_empty(shape), total.new_empty(shape)
        beams = pairs, candidates, total, usable.contiguous()
        kernel.choose(tolerance(total.dtype), LOG_EPSILON, scores.buffer, beams, noise, (at, parent, alive, new_total))
        ctx.save_for_backward(order, total)
        ctx.mark_non_differentiable(at, parent, alive)
        ctx.kernel, ctx.scores, ctx.chosen = kernel, scores, (pairs, candidates, at, parent, alive)
        return new_total, at, parent, alive

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_total: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        _, total = ctx.saved_tensors
        d_before = torch.zeros_like(total)
        buffer, gradient = ctx.scores.buffer, ctx.scores.gradients()
        ctx.kernel.choose_back(LOG_EPSILON, buffer, *ctx.chosen, d_total.contiguous(), gradient, d_before)
        return None, d_total.new_zeros(()), d_before, *[None] * 6
