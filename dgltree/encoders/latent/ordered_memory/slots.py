"""The slots of Ordered Memory written at one word, one after another, and their gradients by hand.

A slot is a few small products and some thirty short operations with their gradients; by hand it is two products and
one call of a kernel each way, and the gradients of all slots' weights are two products.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from dgltree.cells.compose import COMPOSITIONS, Compose, GatedRecursive, GELUGatedRecursive, Map
from dgltree.engine.autograd import differentiable_gradients
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.engine.kernels.kernel import are_taken, operand
from dgltree.support.torch_internals import hooks_of, inside_transform

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_slots import SlotKernel

# ---------------------------------------------------------------------------------------------------------------------
# Where Ordered Memory writes: the attention over its slots. Numbers in brackets are those of the equations here and of
# OrderedMemory.


LEAST_MASK = 1e-5  # the published program sets mask entries below it to 0
LEAST_SUM = 1e-12  # and no sum that it divides by is less


class PublishedAttention(nn.Module):
    r"""Scores of the slots as the published program of Ordered Memory computes them.

    .. math::
        q &= LN_q(W_q \, drop(\tilde x_t) + b_q), \quad k_i = LN_k(W_k \, drop(\hat M_{t-1}^i) + b_k) \\
        \alpha_i &= w \cdot drop(relu(q + k_i)) / \sqrt D\quad(1)

    Args:
        hidden_size: D.
        dropout: probability, in training only.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.query_norm = nn.LayerNorm(hidden_size)
        self.key_norm = nn.LayerNorm(hidden_size)
        self.w = nn.Linear(hidden_size, 1, bias=False)
        self.drop = nn.Dropout(dropout)

    def queries(self, x: Tensor) -> Tensor:
        """q (..., D) of x~ (..., D): what does not depend on the memory, for all steps at once."""
        projected = self.query(self.drop(x))
        return self.query_norm(projected)

    def forward(self, query: Tensor, M_hat: Tensor, num_slots: int) -> Tensor:
        """Scores alpha (B, k) from ``queries`` of one step (B, D) and k of the N = ``num_slots`` slots, (B, k, D)."""
        dropped = self.drop(M_hat.contiguous())  # masks are drawn in the order of memory
        key = self.key_norm(self.key(dropped))
        z = torch.relu(query.unsqueeze(1) + key)
        alpha = self.w(self.drop(z)).squeeze(-1)
        return alpha / math.sqrt(M_hat.shape[2])  # (1)


class PaperAttention(nn.Module):
    r"""Scores of the slots as the paper writes them (Shen et al. 2019, arXiv 1910.13466).

    .. math:: \alpha_i = w \cdot drop(\tanh(W [drop(\hat M_{t-1}^i); drop(\tilde x_t)])) / \sqrt N\quad(1)

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
        bound = (2 * hidden_size) ** -0.5
        nn.init.uniform_(self.query.weight, -bound, bound)
        nn.init.uniform_(self.key.weight, -bound, bound)

    def queries(self, x: Tensor) -> Tensor:
        """The part of x~ in W [...], (..., D), from x~ (..., D): it does not depend on the memory."""
        return self.query(self.drop(x))

    def forward(self, query: Tensor, M_hat: Tensor, num_slots: int) -> Tensor:
        """Scores alpha (B, k) from ``queries`` of one step (B, D) and k of the N = ``num_slots`` slots, (B, k, D)."""
        key = self.key(self.drop(M_hat.contiguous()))
        z = torch.tanh(query.unsqueeze(1) + key)
        alpha = self.w(self.drop(z)).squeeze(-1)
        return alpha / math.sqrt(num_slots)  # (1)


ATTENTIONS: dict[str, type[PublishedAttention] | type[PaperAttention]] = {
    "published": PublishedAttention,
    "paper": PaperAttention,
}


def allocate(alpha: Tensor, pi: Tensor, allowed_maximum: bool) -> Tensor:
    r"""The attention p (B, k) to the last k of N slots, from their scores and the last :math:`\overrightarrow\pi`.

    .. math::
        \beta_i &= \exp(\alpha_i - \max \alpha)\quad(2) \\
        \hat\beta_i &= \beta_i \overrightarrow\pi_{t-1}^{i+1}, \quad \overrightarrow\pi_{t-1}^{N+1} = 1\quad(3) \\
        p &= \hat\beta / \max(\sum \hat\beta, 10^{-12})\quad(4)

    Args:
        alpha: scores (B, k).
        pi: (B, k). As a mask, entries below 1e-5 are 0, without gradient.
        allowed_maximum: whether the maximum is over the slots whose mask is not 0, and not over all of them. If
            attention is sharp, exp then cannot be 0 at every slot that is allowed.
    """
    mask = nn.functional.pad(pi[:, 1:], (0, 1), value=1.0)
    is_closed = mask < LEAST_MASK
    mask = mask.masked_fill(is_closed, 0)
    if allowed_maximum:
        alpha = alpha.masked_fill(is_closed, -math.inf)
    largest = alpha.amax(-1, keepdim=True)
    beta = (alpha - largest).exp()  # (2)
    beta_hat = beta * mask  # (3)
    total = beta_hat.sum(-1, keepdim=True)
    return beta_hat / total.clamp(min=LEAST_SUM)  # (4)


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
        self.cell = cell
        self.norm = norm

    def forward(self, x: Tensor, of_right: Tensor, M: Tensor, pi: Tensor, counts: Sequence[int]) -> Tensor:
        counts = list(counts)
        masks_below, masks_active = draw_masks(self.cell, M)
        slots = zip(
            M.split(counts),
            of_right.split(counts),
            pi.split(counts),
            _drops(masks_below, counts),
            _drops(masks_active, counts),
            strict=True,
        )
        written: list[Tensor] = []
        M_hat = x[:0]  # of the slot below
        for M_i, of_right_i, pi_i, drop_below, drop_active in slots:
            x_i = x[: len(M_i)]
            if len(M_hat) < len(x_i):  # below the first slot of a row is x~
                M_hat = torch.cat([M_hat, x_i[len(M_hat) :]])
            product = self.cell.product(M_hat, of_right_i, **drop_below)
            o = self.cell.combined(product, M_hat, M_i, self.norm, **drop_active)  # (7)
            M_hat = x_i.lerp(o, pi_i)  # (8)
            written.append(M_hat)
        return torch.cat(written)


def write_slots(
    cell: Compose, norm: nn.LayerNorm, x: Tensor, of_right: Tensor, M: Tensor, pi: Tensor, counts: Sequence[int]
) -> Tensor:
    """M_hat as :class:`SlotWriter` has it, by a kernel if there is one for this cell, device and dtype."""
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
    dtypes = {tensor.dtype for tensor in tensors}
    devices = {tensor.device for tensor in tensors}
    if len(dtypes) > 1 or len(devices) > 1 or product_address(*dtypes) is None:
        return None
    x, of_right, M, pi, *weights = tensors
    if inside_transform() or torch.compiler.is_compiling() or torch.is_autocast_enabled(x.device.type):
        return None
    n = x.shape[1]
    pairs = len(M)
    if of_right.shape != (pairs, 4 * n) or M.shape != (pairs, n) or pi.shape != (pairs, 1):
        return None
    shapes = [(4 * n, n), (4 * n, 4 * n), (4 * n,), (n,), (n,)]
    if [tuple(weight.shape) for weight in weights] != shapes:
        return None
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return step_kernel("slots", (), x, backward=record)


def is_as_published(cell: Compose, norm: nn.LayerNorm, *maps: nn.Linear) -> bool:
    """Whether calls of the cell and more maps have kernels' equations: no subclass, no function set on it, no hook."""
    if type(cell) not in KINDS or OWN & vars(cell).keys():
        return False
    if getattr(cell, "approximate", "none") != "none":
        return False
    assert isinstance(cell, GatedRecursive)
    if not is_plain(cell.drop, nn.Dropout) or not is_plain(norm, nn.LayerNorm):
        return False
    return all(is_plain(linear, nn.Linear) for linear in (cell.vertical, cell.second, *maps))


def is_plain(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a call of a module is that of its kind, without hooks."""
    if hooks_of(module) or "forward" in vars(module):
        return False
    return type(module).forward is kind.forward


class KeptSlots(NamedTuple):
    """Tensors that the gradients of all slots of a word need, as the kernel takes them; (pairs, ...)."""

    hidden: Tensor
    """(pairs, 4 D), what the activation is of."""
    active: Tensor
    """(pairs, 4 D), the activation, dropped; the same memory as ``hidden`` where that is overwritten."""
    gates: Tensor
    """(pairs, 4 D)"""
    below: Tensor
    """(pairs, D), M_hat of the slot below."""
    dropped: Tensor
    """(pairs, D), ``below`` with its dropout."""
    normal: Tensor
    """(pairs, D), the LayerNorm before its weight."""
    rstd: Tensor
    """(pairs,), the reciprocal of the standard deviation in the LayerNorm."""


class ByHand(torch.autograd.Function):
    """All slots of a word by a kernel, which computes what :class:`SlotWriter` does."""

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
        ctx.kernel = kernel
        ctx.cell = cell
        ctx.norm = norm
        ctx.counts = counts
        ctx.gelu = isinstance(cell, GELUGatedRecursive)
        is_random = cell.drop.training and cell.drop.p
        ctx.random = torch.get_rng_state() if is_random else None
        ctx.masks = draw_masks(cell, M)
        mask_below, mask_active = ctx.masks
        hidden = of_right.clone()
        below = torch.empty_like(M)
        in_place = not ctx.gelu and not len(mask_active)
        ctx.kept = KeptSlots(
            hidden=hidden,
            active=hidden if in_place else torch.empty_like(hidden),
            gates=torch.empty_like(hidden),
            below=below,
            dropped=torch.empty_like(below) if len(mask_below) else below,
            normal=torch.empty_like(M),
            rstd=M.new_empty(len(M)),
        )
        M_hat = torch.empty_like(M)
        read = (x, M, pi.view(-1), weights, ctx.masks, ctx.kept)
        kernel.forward(torch.tensor(counts), ctx.gelu, norm.eps, *read, M_hat)
        ctx.save_for_backward(x, of_right, M, pi, *weights)
        return M_hat

    @staticmethod
    def backward(ctx: Any, d_M_hat: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            return None, None, None, None, *_differentiable(ctx, d_M_hat)
        x, of_right, M, pi, *weights = ctx.saved_tensors
        kept = ctx.kept
        d_x = torch.zeros_like(x)
        d_pi = torch.empty_like(pi)
        d_hidden = torch.empty_like(of_right)
        d_gates = torch.empty_like(of_right)
        d_M = torch.empty_like(M)
        d_h = torch.empty_like(M)
        d_below = torch.empty_like(M)
        read = (x, M, pi.view(-1), tuple(weights), ctx.masks, kept)
        given = (d_x, d_hidden, d_gates, d_M, d_pi.view(-1), d_h, d_below)
        ctx.kernel.backward(torch.tensor(ctx.counts), ctx.gelu, *read, operand(d_M_hat).clone(), given)
        d_vertical = d_hidden.t() @ kept.dropped
        d_second = d_gates.t() @ kept.active
        d_norm = (d_h * kept.normal).sum(0)
        d_weights = (d_vertical, d_second, d_gates.sum(0), d_norm, d_h.sum(0))
        return None, None, None, None, d_x, d_hidden, d_M, d_pi, *d_weights


def draw_masks(cell: Compose, M: Tensor) -> tuple[Tensor, Tensor]:
    """The masks of dropout at one word, a row for each pair of a sentence and a slot: on the slot below, and on the
    activations before W_2.

    A mask has no rows where a cell drops nothing there, or where its own method draws it.
    """
    below = M.new_empty(0, M.shape[1])
    active = M.new_empty(0, cell.vertical.out_features)
    if type(cell) not in COMPOSITIONS.values() or OWN & vars(cell).keys() or not is_plain(cell.drop, nn.Dropout):
        return below, active
    if not cell.drop.training or cell.drop.p <= 0:
        return below, active
    if cell.drops_inputs:
        below = cell.drop(M.new_ones(M.shape))
    if isinstance(cell, GatedRecursive):
        active = cell.drop(M.new_ones(len(M), active.shape[1]))
    return below, active


def _drops(mask: Tensor, counts: list[int]) -> list[dict[str, Map]]:
    """A function that multiplies by the part of a mask, as an argument of each slot; none for a mask without rows."""
    if not len(mask):
        return [{}] * len(counts)
    return [{"drop": partial(torch.mul, part)} for part in mask.split(counts)]


def _differentiable(ctx: Any, d_M_hat: Tensor) -> list[Tensor | None]:
    """Gradients that have gradients: the slots once more by torch's operations, with the same dropout."""
    writer = SlotWriter(ctx.cell, ctx.norm)

    def compute(x: Tensor, of_right: Tensor, M: Tensor, pi: Tensor, *weights: Tensor) -> tuple[Tensor]:
        named = dict(zip(WEIGHTS, weights, strict=True))
        M_hat = functional_call(writer, named, (x, of_right, M, pi, ctx.counts))
        return (M_hat,)

    with torch.random.fork_rng(devices=[]):
        if ctx.random is not None:
            torch.set_rng_state(ctx.random)
        return differentiable_gradients(compute, ctx.saved_tensors, (d_M_hat,))
