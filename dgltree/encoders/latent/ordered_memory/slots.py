"""The slots of Ordered Memory written at one word, one after another, and their gradients by hand.

A slot is a few small products and some thirty short operations with their gradients; by hand it is two products and
one call of a kernel each way, and the gradients of all slots' weights are two products.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from dgltree.cells.compose import COMPOSITIONS, Compose, GatedRecursive, GELUGatedRecursive, Rows
from dgltree.engine.autograd import differentiable_gradients
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.engine.kernels.kernel import are_taken, operand
from dgltree.support.torch_internals import hooks_of, inside_transform

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_slots import SlotKernel

# ---------------------------------------------------------------------------------------------------------------------
# Where Ordered Memory writes: the attention over its slots.


LEAST_MASK = 1e-5  # the published program sets mask entries below it to 0


class PublishedAttention(nn.Module):
    r"""Scores of the slots as the published program of Ordered Memory computes them.

    .. math::
        \alpha_i = w \cdot drop(relu(LN_q(W_q \, drop(\tilde x) + b_q) + LN_k(W_k \, drop(\hat M^i) + b_k))) / \sqrt D

    Args:
        hidden_size: D.
        dropout: probability, in training only.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.query_norm, self.key_norm = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)
        self.w = nn.Linear(hidden_size, 1, bias=False)
        self.drop = nn.Dropout(dropout)

    def queries(self, x: Tensor) -> Tensor:
        """(..., D) of x~ (..., D): what does not depend on the memory, for all steps at once."""
        return self.query_norm(self.query(self.drop(x)))

    def forward(self, query: Tensor, M_hat: Tensor, num_slots: int) -> Tensor:
        """Scores alpha (B, k) from ``queries`` of one step (B, D) and k of the N = ``num_slots`` slots, (B, k, D)."""
        key = self.key_norm(self.key(self.drop(M_hat.contiguous())))  # masks are drawn in the order of memory
        alpha = self.w(self.drop(torch.relu(query.unsqueeze(1) + key))).squeeze(-1)
        return alpha / math.sqrt(M_hat.shape[2])


class PaperAttention(nn.Module):
    r"""Scores of the slots as the paper writes them (Shen et al. 2019, arXiv 1910.13466).

    .. math:: \alpha_i = w \cdot drop(\tanh(W [drop(\hat M^i); drop(\tilde x)])) / \sqrt N

    W is ``key`` and ``query`` side by side. N is the number of slots, so more slots give a flatter attention.

    Args:
        hidden_size: D.
        dropout: probability, in training only.

    Initialisation: that of one ``Linear`` of 2 D to D.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key = nn.Linear(hidden_size, hidden_size, bias=False)
        self.w = nn.Linear(hidden_size, 1, bias=False)
        self.drop = nn.Dropout(dropout)
        for half in (self.query, self.key):
            nn.init.uniform_(half.weight, -((2 * hidden_size) ** -0.5), (2 * hidden_size) ** -0.5)

    def queries(self, x: Tensor) -> Tensor:
        """(..., D) of x~ (..., D): what does not depend on the memory, for all steps at once."""
        return self.query(self.drop(x))

    def forward(self, query: Tensor, M_hat: Tensor, num_slots: int) -> Tensor:
        """Scores alpha (B, k) from ``queries`` of one step (B, D) and k of the N = ``num_slots`` slots, (B, k, D)."""
        z = torch.tanh(query.unsqueeze(1) + self.key(self.drop(M_hat.contiguous())))
        return self.w(self.drop(z)).squeeze(-1) / math.sqrt(num_slots)


ATTENTIONS: dict[str, type[PublishedAttention] | type[PaperAttention]] = {
    "published": PublishedAttention,
    "paper": PaperAttention,
}


def allocate(alpha: Tensor, pi: Tensor, allowed_maximum: bool) -> Tensor:
    r"""The attention p (B, k) to the last k of N slots, from their scores and the last :math:`\overrightarrow\pi`.

    .. math::
        \beta_i = \exp(\alpha_i - \max \alpha), \quad \hat\beta_i = \beta_i \overrightarrow\pi^{i+1}, \quad
        \overrightarrow\pi^{N+1} = 1, \quad p = \hat\beta / \max(\sum \hat\beta, 10^{-12})

    Args:
        alpha: scores (B, k).
        pi: (B, k). As a mask, entries below 1e-5 are 0, without gradient.
        allowed_maximum: whether the maximum is over the slots whose mask is not 0, and not over all of them. If
            attention is sharp, exp then cannot be 0 at every slot that is allowed.
    """
    mask = nn.functional.pad(pi[:, 1:], (0, 1), value=1.0)
    closed = mask < LEAST_MASK
    mask = mask.masked_fill(closed, 0)
    if allowed_maximum:
        alpha = alpha.masked_fill(closed, -math.inf)
    beta = (alpha - alpha.amax(-1, keepdim=True)).exp() * mask
    return beta / beta.sum(-1, keepdim=True).clamp(min=1e-12)


KINDS = (GatedRecursive, GELUGatedRecursive)
"""The cells whose equations the kernel computes; a subclass may have others."""
OWN = {"combined", "product", "of_right", "act"}
WEIGHTS = ("cell.vertical.weight", "cell.second.weight", "cell.second.bias", "norm.weight", "norm.bias")


class SlotWriter(nn.Module):
    """``writer(x, of_right, M, pi, counts)``: M_hat of one slot after another, (pairs, D).

    Args of a call:
        x: x~, (rows, D).
        of_right: what M adds to the cell's product, (pairs, width).
        M: of the first counts[i] rows for each slot, which never are fewer than for the slot before: (pairs, D).
        pi: of the same, (pairs, 1).
        counts: rows of each slot.
    """

    def __init__(self, cell: Compose, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.cell, self.norm = cell, norm

    def forward(self, x: Tensor, of_right: Tensor, M: Tensor, pi: Tensor, counts: Sequence[int]) -> Tensor:
        written: list[Tensor] = []
        below, counts = x[:0], list(counts)
        drops = [_drops(mask, counts) for mask in draw_masks(self.cell, M)]
        rows = zip(*(part.split(counts) for part in (M, of_right, pi)), *drops, strict=True)
        for M_i, of_right_i, pi_i, drop_below, drop in rows:
            here = x[: len(M_i)]
            below = torch.cat([below, here[len(below) :]]) if len(below) < len(here) else below
            product = self.cell.product(below, of_right_i, **drop_below)
            combined = self.cell.combined(product, below, M_i, self.norm, **drop)
            below = here.lerp(combined, pi_i)
            written.append(below)
        return torch.cat(written)


def write_slots(
    cell: Compose, norm: nn.LayerNorm, x: Tensor, of_right: Tensor, M: Tensor, pi: Tensor, counts: Sequence[int]
) -> Tensor:
    """As :class:`SlotWriter`, by a kernel if there is one for this cell, device and dtype."""
    tensors = [x, of_right, M, pi]
    if isinstance(cell, GatedRecursive):
        tensors += [cell.vertical.weight, cell.second.weight, cell.second.bias, norm.weight, norm.bias]
    kernel = _kernel(cell, norm, tensors)
    if kernel is None:
        return SlotWriter(cell, norm)(x, of_right, M, pi, counts)
    written: Tensor = ByHand.apply(kernel, cell, norm, counts, *map(operand, tensors))
    return written


def _kernel(cell: Compose, norm: nn.LayerNorm, tensors: Sequence[Tensor]) -> "type[SlotKernel] | None":
    """None where torch's operations compute: other equations, transforms, autocast, other tensors, a GPU.

    Compiled code reads by address, so that a weight of a different shape must not reach it; torch then says what is
    wrong.
    """
    if not is_as_published(cell, norm) or not are_taken(tensors):
        return None
    dtypes, devices = {tensor.dtype for tensor in tensors}, {tensor.device for tensor in tensors}
    if len(dtypes) > 1 or len(devices) > 1 or product_address(*dtypes) is None:
        return None
    if inside_transform() or torch.compiler.is_compiling() or torch.is_autocast_enabled(tensors[0].device.type):
        return None
    n, pairs = tensors[0].shape[1], len(tensors[2])
    shapes = (pairs, 4 * n), (pairs, n), (pairs, 1), (4 * n, n), (4 * n, 4 * n), (4 * n,), (n,), (n,)
    if any(tensor.shape != shape for tensor, shape in zip(tensors[1:], shapes, strict=True)):
        return None
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return step_kernel("slots", (), tensors[0], backward=record)


def is_as_published(cell: Compose, norm: nn.LayerNorm, *maps: nn.Linear) -> bool:
    """Whether calls of the cell and more maps have kernels' equations: no subclass, no function set on it, no hook."""
    if type(cell) not in KINDS or getattr(cell, "approximate", "none") != "none" or OWN & vars(cell).keys():
        return False
    assert isinstance(cell, GatedRecursive)
    modules: list[tuple[nn.Module, type[nn.Module]]] = [
        (cell.drop, nn.Dropout),
        (cell.vertical, nn.Linear),
        (cell.second, nn.Linear),
        (norm, nn.LayerNorm),
        *((each, nn.Linear) for each in maps),
    ]
    return all(is_plain(*pair) for pair in modules)


def is_plain(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a call of a module is that of its kind, without hooks."""
    return not hooks_of(module) and "forward" not in vars(module) and type(module).forward is kind.forward


class ByHand(torch.autograd.Function):
    """All slots of a word by a kernel; as :class:`SlotWriter` computes them."""

    @staticmethod
    def forward(
        ctx: Any,
        kernel: "type[SlotKernel]",
        cell: GatedRecursive,
        norm: nn.LayerNorm,
        counts: Sequence[int],
        x: Tensor,
        of_right: Tensor,
        M: Tensor,
        pi: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        ctx.kernel, ctx.parts, ctx.counts = kernel, (cell, norm), counts
        ctx.gelu, ctx.random = (
            isinstance(cell, GELUGatedRecursive),
            torch.get_rng_state() if cell.drop.training and cell.drop.p else None,
        )
        ctx.masks = draw_masks(cell, M)
        hidden, below = of_right.clone(), torch.empty_like(M)
        in_place = not ctx.gelu and not len(ctx.masks[1])
        active = hidden if in_place else torch.empty_like(hidden)
        dropped = torch.empty_like(below) if len(ctx.masks[0]) else below
        ctx.kept = hidden, active, torch.empty_like(hidden), below, dropped, torch.empty_like(M), M.new_empty(len(M))
        out = torch.empty_like(M)
        read = x, M, pi.view(-1), weights, ctx.masks, ctx.kept
        kernel.forward(torch.tensor(counts), ctx.gelu, norm.eps, *read, out)
        ctx.save_for_backward(x, of_right, M, pi, *weights)
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            return None, None, None, None, *_differentiable(ctx, d_out)
        x, of_right, M, pi, *weights = ctx.saved_tensors
        _, active, _, _, dropped, normal, _ = ctx.kept
        d_x, d_pi = torch.zeros_like(x), torch.empty_like(pi)
        d_hidden, d_gates = torch.empty_like(of_right), torch.empty_like(of_right)
        d_M, d_h, d_below = (torch.empty_like(M) for _ in range(3))
        given = d_x, d_hidden, d_gates, d_M, d_pi.view(-1), d_h, d_below
        read = x, M, pi.view(-1), tuple(weights), ctx.masks, ctx.kept
        ctx.kernel.backward(torch.tensor(ctx.counts), ctx.gelu, *read, operand(d_out).clone(), given)
        of_weights = d_hidden.t() @ dropped, d_gates.t() @ active, d_gates.sum(0), (d_h * normal).sum(0), d_h.sum(0)
        return None, None, None, None, d_x, d_hidden, d_M, d_pi, *of_weights


def draw_masks(cell: Compose, M: Tensor) -> tuple[Tensor, Tensor]:
    """The masks of dropout for the slots below and for the activations, of all slots of a word, (pairs, ...).

    Without rows if there is none: without dropout, of a cell that drops nothing there, or that does it in its own way.
    """
    n, width = M.shape[1], cell.vertical.out_features
    as_usual = type(cell) in COMPOSITIONS.values() and not OWN & vars(cell).keys() and is_plain(cell.drop, nn.Dropout)
    drops = as_usual and cell.drop.training and cell.drop.p > 0
    below = drops and cell.drops_inputs
    active = drops and isinstance(cell, GatedRecursive)
    return (
        cell.drop(M.new_ones(len(M), n)) if below else M.new_empty(0, n),
        cell.drop(M.new_ones(len(M), width)) if active else M.new_empty(0, width),
    )


def _drops(mask: Tensor, counts: list[int]) -> list[dict[str, Rows]]:
    """Of each slot, as an argument, what multiplies by its part of a mask; nothing for a mask without rows."""
    return [{"drop": partial(torch.mul, part)} for part in mask.split(counts)] if len(mask) else [{}] * len(counts)


def _differentiable(ctx: Any, d_out: Tensor) -> list[Tensor | None]:
    """Gradients that have gradients: the slots once more by torch's operations, with the same dropout."""

    def compute(x: Tensor, of_right: Tensor, M: Tensor, pi: Tensor, *weights: Tensor) -> tuple[Tensor]:
        named = dict(zip(WEIGHTS, weights, strict=True))
        return (functional_call(SlotWriter(*ctx.parts), named, (x, of_right, M, pi, ctx.counts)),)

    with torch.random.fork_rng(devices=[]):
        if ctx.random is not None:
            torch.set_rng_state(ctx.random)
        return differentiable_gradients(compute, ctx.saved_tensors, (d_out,))
