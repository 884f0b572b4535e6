"""The steps of one ON-LSTM layer, and their gradients by hand: as autograd's, in a third of its operations."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.cells.once_differentiable import once_differentiable, origin
from dgltree.encoders.latent.ragged import Ragged, front
from dgltree.engine.kernels.choice import step_kernel
from dgltree.engine.kernels.operands import operand

aten = torch.ops.aten


class Kept(NamedTuple):
    """The inputs to the gradients of one step of B rows, D_m chunks and C units a chunk."""

    soft: Tensor
    """(B, 2, D_m), the softmax in both cumax."""
    masters: Tensor
    """(B, 2, D_m), f~ and i~."""
    gates: Tensor
    """(B, 3, D_m, C), f, i and o."""
    c_hat: Tensor
    f_hat: Tensor
    i_hat: Tensor
    before: Tensor
    """c_{t-1}; (B, D_m, C) as the two above, and as the next."""
    tanh_c: Tensor


def step(pre: Tensor, c: Tensor, chunks: int) -> tuple[Tensor, Tensor, Tensor, Kept]:
    """h_t, c_t (B, D), f~_t (B, D_m) and what gradients need, of pre-activations (B, 2 D_m + 4 D) and c_{t-1} (B, D).

    As few operations as it takes, since each is short; a master gate is not repeated for the units of its chunk.
    """
    rows, n = c.shape
    by_chunk = (rows, chunks, n // chunks)
    master_pre, gate_pre, c_hat_pre = pre.split([2 * chunks, 3 * n, n], 1)
    soft, masters = open_gates(master_pre, chunks)
    gates = gate_pre.sigmoid().view(rows, 3, *by_chunk[1:])
    f_master, i_master = masters.unsqueeze(3).unbind(1)
    omega = f_master * i_master
    f_hat = torch.addcmul(f_master - omega, gates[:, 0], omega)
    i_hat = torch.addcmul(i_master - omega, gates[:, 1], omega)
    c_hat, before = c_hat_pre.tanh().view(by_chunk), c.view(by_chunk)
    now = torch.addcmul(f_hat * before, i_hat, c_hat)
    tanh_c = now.tanh()
    h = gates[:, 2] * tanh_c
    kept = Kept(soft, masters, gates, c_hat, f_hat, i_hat, before, tanh_c)
    return h.view(rows, n), now.view(rows, n), masters[:, 0], kept


def open_gates(master_pre: Tensor, chunks: int) -> tuple[Tensor, Tensor]:
    """The softmax in both cumax, and the master gates f~ and i~, both (R, 2, D_m), of pre-activations (R, 2 D_m)."""
    soft = master_pre.view(-1, 2, chunks).softmax(2)
    f_tilde, i_complement = cumulate(soft).unbind(1)
    return soft, torch.stack([f_tilde, 1 - i_complement], 1)


def step_backward(kept: Kept, d_h: Tensor, d_c: Tensor, d_f_tilde: Tensor, d_pre: Tensor) -> Tensor:
    """The gradient of c_{t-1} (B, D) from those of h_t, c_t and f~_t; that of the pre-activations goes into d_pre."""
    rows, n = d_h.shape
    chunks = kept.soft.shape[2]
    by_chunk = kept.before.shape
    d_masters_pre, d_gates_pre, d_c_hat_pre = d_pre.split([2 * chunks, 3 * n, n], 1)
    d_gates_pre, d_h = d_gates_pre.view(rows, 3, *by_chunk[1:]), d_h.view(by_chunk)
    f_and_i, o = kept.gates[:, :2], kept.gates[:, 2]
    d_c = d_c.view(by_chunk) + aten.tanh_backward(d_h * o, kept.tanh_c)
    d_gates_pre[:, 2] = aten.sigmoid_backward(d_h * kept.tanh_c, o)
    d_c_hat_pre.view(by_chunk).copy_(aten.tanh_backward(d_c * kept.i_hat, kept.c_hat))
    d_hats = torch.stack([d_c * kept.before, d_c * kept.c_hat], 1)
    omega = kept.masters.prod(1).view(rows, 1, chunks, 1)
    d_gates_pre[:, :2] = aten.sigmoid_backward(d_hats * omega, f_and_i)
    d_omega = (f_and_i - 1).mul_(d_hats).sum((1, 3)).unsqueeze(1)
    d_masters = torch.addcmul(d_hats.sum(3), d_omega, kept.masters.flip(1))
    d_masters[:, 0] += d_f_tilde
    d_masters[:, 1].neg_()  # i~ is 1 - cumax
    d_masters_pre.view_as(kept.soft).copy_(cumax_backward(d_masters, kept.soft))
    return (d_c * kept.f_hat).view(rows, n)


def cumulate(soft: Tensor) -> Tensor:
    """Sums up to each place of the last dimension, of which the last is 1 without rounding."""
    sums = soft.cumsum(-1)
    return sums / sums[..., -1:]


def cumax_backward(d: Tensor, soft: Tensor) -> Tensor:
    """The gradient of z, from that of ``cumulated(softmax(z))``; the last sum is 1 up to rounding."""
    later = d.flip(-1).cumsum(-1).flip(-1) * soft
    return torch.addcmul(later, soft, later.sum(-1, keepdim=True), value=-1)


class Recurrence(torch.autograd.Function):
    """All steps, rows packed as by :meth:`dgltree.encoders.latent.ragged.Ragged.packed`, R in all.

    One function and not one per step, so that the gradient of the hidden-to-gates weights is one product.
    """

    @staticmethod
    def forward(
        ctx: Any,
        pre: Tensor,
        weight: Tensor,
        h: Tensor,
        c: Tensor,
        source: Tensor | None,
        ends: Ragged,
        present: Tensor,
        chunks: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """h_t and c_t (R, D) and f~_t (R, D_m) from what the words give to the gates (R, 2 D_m + 4 D).

        Args:
            ctx: of autograd.
            pre: the words' part of the pre-activations.
            weight: hidden to gates, (2 D_m + 4 D, D).
            h: (B, D), from which the first step continues; B rows in the order of ``ends``.
            c: likewise.
            source: the :func:`origin` of ``pre``, ``h`` and ``c``, which are not saved.
            ends: of the B sequences.
            present: (R,) bool, whether there is a word; if there is none, h and c stay what they were.
            chunks: D_m.
        """
        kernel = step_kernel("on_lstm", (), weight, backward=any(ctx.needs_input_grad))
        ctx.step_backward = step_backward if kernel is None else kernel.step_backward
        one_step = step if kernel is None else kernel.step
        columns, here = weight.t(), present.unsqueeze(1).split(ends.counts)
        states, cells, master_gates, kept, before = [], [], [], [], []
        h, c = h.detach(), operand(c.detach())
        for t, (words, count) in enumerate(zip(pre.split(ends.counts), ends.counts, strict=True)):
            h, c = front(h, count), front(c, count)
            before.append(h)
            h_t, c_t, f_tilde, own = one_step(torch.addmm(words, h, columns), c, chunks)
            master_gates.append(f_tilde)
            kept.append(own)
            h, c = (h_t, c_t) if ends.complete[t] else (h_t.where(here[t], h), c_t.where(here[t], c))
            states.append(h)
            cells.append(c)
        ctx.ends, ctx.here, ctx.kept, ctx.before = ends, here, kept, before
        ctx.save_for_backward(weight, source)
        return torch.cat(states), torch.cat(cells), torch.cat(master_gates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor, d_c: Tensor, d_f_tilde: Tensor) -> tuple[Tensor | None, ...]:
        (weight, _), counts = ctx.saved_tensors, ctx.ends.counts
        d_h, d_c, d_f_tilde = map(operand, (d_h, d_c, d_f_tilde))
        pre = d_h.new_empty(len(d_h), len(weight))
        first = d_h.new_zeros(counts[0], d_h.shape[1]), d_c.new_zeros(counts[0], d_c.shape[1])
        d_states, d_cells = [first[0], *d_h.clone().split(counts)], [first[1], *d_c.clone().split(counts)]
        by_step = list(zip(ctx.kept, d_f_tilde.split(counts), pre.split(counts), counts, strict=True))
        for t, (kept, d_master, d_pre, count) in reversed(list(enumerate(by_step))):
            h, c = d_states[t + 1], d_cells[t + 1]
            earlier_h, earlier_c = d_states[t][:count], d_cells[t][:count]
            if not ctx.ends.complete[t]:  # what an absent word passes on as it is
                here = ctx.here[t]
                earlier_h.add_(h.masked_fill(here, 0))
                earlier_c.add_(c.masked_fill(here, 0))
                h, c = h * here, c * here
            earlier_c.add_(ctx.step_backward(kept, h, c, d_master, d_pre))
            earlier_h.addmm_(d_pre, weight)
        return pre, pre.t() @ torch.cat(ctx.before), *first, None, None, None, None


def recur(
    pre: Tensor, weight: Tensor, h: Tensor, c: Tensor, ends: Ragged, present: Tensor, chunks: int
) -> tuple[Tensor, Tensor, Tensor]:
    """As :meth:`Recurrence.forward`."""
    packed: tuple[Tensor, Tensor, Tensor] = Recurrence.apply(
        pre, weight, h, c, origin(pre, h, c), ends, present, chunks
    )
    return packed
