"""ON-LSTM over a sequence."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dgltree.encoders.encoder import Distances, Encoded
from dgltree.encoders.latent.ragged import Ragged, front
from dgltree.encoders.sequence.core import InducingCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import check_sequences, padding_mask
from dgltree.encoders.sequence.recurrent import (
    LayerState,
    LayerSteps,
    LockedDropout,
    RecurrentLayers,
    RecurrentSteps,
    State,
    check_layer,
    check_sizes,
    drop_weights,
)
from dgltree.engine.autograd import once_differentiable, origin
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.engine.kernels.kernel import LayerGradients, LayerRows, LayerShape, operand
from dgltree.support.arguments import check_size
from dgltree.support.torch_internals import without_autocast

# ---------------------------------------------------------------------------------------------------------------------
# The steps of one ON-LSTM layer, and their gradients by hand: as autograd's, in a third of its operations.


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


class TorchSteps:
    """The steps of a layer by torch's operations, with the methods of its kernels."""

    def __init__(self, rows: LayerRows) -> None:
        self._rows, self._kept = rows, dict[int, Kept]()

    def forward(self, t: int) -> None:
        """The states, cells and f~ of step t from its pre-activations."""
        rows, (start, stop, first, earlier) = self._rows, self._rows.bounds[t]
        h, c = (part[earlier : earlier + stop - start] for part in (rows.states, rows.cells))
        h_t, c_t, f_tilde, self._kept[t] = step(rows.gates[start:stop], c, rows.masters.shape[1])
        if not rows.complete[t]:
            here = rows.present[start:stop, None]
            h_t, c_t = h_t.where(here, h), c_t.where(here, c)
        for part, into in zip((h_t, c_t), (rows.states, rows.cells), strict=True):
            into[first : first + stop - start] = part
        rows.masters[start:stop] = f_tilde

    def start_backward(self, given: LayerGradients) -> None:
        """A backward pass begins, from the last step to the first."""
        self._given = given

    def backward(self, t: int) -> None:
        """The gradients of the pre-activations of step t, and of c before it; of h before it those of absent words."""
        rows, given, (start, stop, first, earlier) = self._rows, self._given, self._rows.bounds[t]
        count = stop - start
        h, c = (part[first : first + count] for part in (given.states, given.cells))
        earlier_h, earlier_c = (part[earlier : earlier + count] for part in (given.states, given.cells))
        if not rows.complete[t]:  # what an absent word passes on as it is
            here = rows.present[start:stop, None]
            earlier_h.add_(h.masked_fill(here, 0))
            earlier_c.add_(c.masked_fill(here, 0))
            h, c = h * here, c * here
        earlier_c.add_(step_backward(self._kept[t], h, c, given.masters[start:stop], given.gates[start:stop]))


class Recurrence(torch.autograd.Function):
    """All steps, rows packed as by :meth:`dgltree.encoders.latent.ragged.Ragged.packed`, R in all.

    One function and not one per step, so that the gradient of the hidden-to-gates weights is one product. A step is a
    product and a call of a kernel each way.
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
        shapes = [LayerShape(h.shape[1], chunks)]
        kernel = step_kernel("on_lstm", (), weight, any(ctx.needs_input_grad), shapes)
        batch, n, columns = len(h), h.shape[1], weight.t()
        states, cells = (torch.cat([part, pre.new_empty(len(pre), n)]) for part in (h.detach(), c.detach()))
        masters, gates = pre.new_empty(len(pre), chunks), torch.empty_like(pre, memory_format=torch.contiguous_format)
        rows = LayerRows(gates, states, cells, masters, present, _bounds(ends), ends.complete)
        steps = TorchSteps(rows) if kernel is None else kernel(rows)
        with torch.cuda.device_of(pre):
            for t, (start, stop, _, earlier) in enumerate(rows.bounds):
                torch.addmm(pre[start:stop], states[earlier : earlier + stop - start], columns, out=gates[start:stop])
                steps.forward(t)
        ctx.rows, ctx.steps, ctx.ends = rows, steps, ends
        outputs = states[batch:].detach(), cells[batch:].detach(), masters
        ctx.save_for_backward(weight, source, *outputs[:2])
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor, d_c: Tensor, d_f_tilde: Tensor) -> tuple[Tensor | None, ...]:
        weight, rows, batch = ctx.saved_tensors[0], ctx.rows, ctx.ends.counts[0]
        d_states, d_cells = (torch.cat([part.new_zeros(batch, part.shape[1]), part]) for part in (d_h, d_c))
        d_pre = torch.empty_like(rows.gates)
        ctx.steps.start_backward(LayerGradients(d_states, d_cells, operand(d_f_tilde), d_pre))
        with torch.cuda.device_of(d_h):
            for t, (start, stop, _, earlier) in reversed(list(enumerate(rows.bounds))):
                ctx.steps.backward(t)
                d_states[earlier : earlier + stop - start].addmm_(d_pre[start:stop], weight)
        before = torch.cat([rows.states[earlier : earlier + stop - start] for start, stop, _, earlier in rows.bounds])
        return d_pre, d_pre.t() @ before, d_states[:batch], d_cells[:batch], None, None, None, None


def _bounds(ends: Ragged) -> list[tuple[int, int, int, int]]:
    """Of each step the first packed row and the one after the last, where the first row's state is, and the one before
    it, with the B states that the first step continues from in front.
    """
    starts, batch = ends.starts, ends.counts[0]
    earlier = [0, *(batch + start for start in starts[:-2])]
    return [
        (start, stop, batch + start, before) for start, stop, before in zip(starts, starts[1:], earlier, strict=False)
    ]


def recur(
    pre: Tensor, weight: Tensor, h: Tensor, c: Tensor, ends: Ragged, present: Tensor, chunks: int
) -> tuple[Tensor, Tensor, Tensor]:
    """As :meth:`Recurrence.forward`."""
    packed: tuple[Tensor, Tensor, Tensor] = Recurrence.apply(
        pre, weight, h, c, origin(pre, h, c), ends, present, chunks
    )
    return packed


class ONLSTMLayer(nn.Module):
    r"""One layer of an ON-LSTM (Shen et al. 2019, arXiv 1810.09536).

    With gates f, i, o (sigmoid) and :math:`\hat c` (tanh) of x_t and h_{t-1} as in an LSTM, and
    :math:`cumax(z) = cumsum(softmax(z))`,

    .. math::
        \tilde f &= cumax(W x_t + U h_{t-1} + b), \quad \tilde i = 1 - cumax(W' x_t + U' h_{t-1} + b'), \quad
        \omega = \tilde f \odot \tilde i \\
        \hat f &= f \odot \omega + (\tilde f - \omega), \quad \hat i = i \odot \omega + (\tilde i - \omega) \\
        c_t &= \hat f \odot c_{t-1} + \hat i \odot \hat c, \quad h_t = o \odot \tanh(c_t)

    The master gates have D_m = D / C values, each for C neighbouring units. The last chunk has f~ = 1 and i~ = 0, so
    its C units are always 0.

    Args:
        input_size: of x.
        hidden_size: D.
        chunk_size: C; it divides D and is less.
        weight_dropout: probability with which each of the hidden-to-gates weights is left out, as
            :func:`dgltree.encoders.sequence.recurrent.drop_weights` does.

    Parameters: ``input`` and ``hidden`` are torch ``Linear``, with a bias each, and give in this order the master
    gates before cumax, for f~ and i~ (D_m each), then f, i, o, c^ (D each).

    Raises ``ValueError`` for a size below 1, a chunk size that does not divide or is D, and a dropout outside of 0 to
    below 1.
    """

    def __init__(self, input_size: int, hidden_size: int, chunk_size: int, weight_dropout: float) -> None:
        super().__init__()
        check_layer(input_size, hidden_size, weight_dropout)
        check_size("chunk_size", chunk_size)
        if hidden_size % chunk_size:
            raise ValueError(
                f"hidden_size is {hidden_size} and chunk_size is {chunk_size}; the chunk size must "
                f"divide the hidden size"
            )
        if hidden_size == chunk_size:
            raise ValueError(
                f"chunk_size is {chunk_size}, all units; the gates of the last chunk are always 0, so "
                f"use smaller chunks"
            )
        self.hidden_size, self.chunk_size, self.weight_dropout = hidden_size, chunk_size, weight_dropout
        self.chunks = hidden_size // chunk_size
        gates = 4 * hidden_size + 2 * self.chunks
        self.input, self.hidden = nn.Linear(input_size, gates), nn.Linear(hidden_size, gates)

    def forward(
        self, x: Tensor, padding: Tensor | None = None, state: LayerState | None = None, trace: bool = False
    ) -> LayerSteps:
        """States, the last state and distances for x (B, T, input_size), from ``state`` on, or from 0.

        Where ``padding`` (B, T) bool is true, the state stays what it was. With ``trace`` there are master gates, too.
        """
        weight = drop_weights(self.hidden.weight, self.weight_dropout, self.training)
        ends = Ragged.none(*x.shape[:2]) if padding is None else Ragged.of(padding)
        present = x.new_ones(x.shape[:2], dtype=torch.bool) if padding is None else ~padding
        h, c = (x.new_zeros(len(x), self.hidden_size),) * 2 if state is None else map(ends.sorted, state)
        pre = linear(ends.packed(x), self.input.weight, self.input.bias + self.hidden.bias)
        with without_autocast(x.device):
            pre, h, c = (part.to(weight.dtype) for part in (pre, h, c))
            states, cells, f_tilde = recur(pre, weight, h, c, ends, ends.packed(present), self.chunks)
        d = self.chunks - ends.padded(f_tilde, x.shape[1]).sum(2, keepdim=True)
        masters = None
        if trace:  # once more, because the recurrence keeps one of both
            steps = zip((h, *states.split(ends.counts)), ends.counts, strict=False)
            before = torch.cat([front(part, count) for part, count in steps])
            master_pre = pre[:, : 2 * self.chunks] + linear(before, weight[: 2 * self.chunks])
            gates = open_gates(master_pre, self.chunks)[1].flatten(1)
            masters = ends.padded(gates, x.shape[1]).unflatten(2, (2, self.chunks))
        return LayerSteps(ends.padded(states, x.shape[1]), (ends.last(states), ends.last(cells)), d, masters)


class ONLSTM(RecurrentLayers):
    """Layers of :class:`ONLSTMLayer` over vectors; padding may be anywhere.

    Args:
        input_size: of a vector.
        sizes: D of each layer, from below.
        chunk_size, weight_dropout: as in :class:`ONLSTMLayer`.
        dropout: as in :class:`dgltree.encoders.sequence.recurrent.RecurrentLayers`.

    Initialisation: torch's of ``Linear``.

    Raises ``ValueError`` as :class:`ONLSTMLayer` does, and where there is no layer.
    """

    def __init__(
        self,
        input_size: int,
        sizes: Sequence[int],
        *,
        chunk_size: int = 1,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
    ) -> None:
        below = [input_size, *check_sizes(sizes)]
        layers = [ONLSTMLayer(*of, chunk_size, weight_dropout) for of in zip(below, sizes, strict=False)]
        super().__init__(input_size, layers, dropout)


class SequenceONLSTM(InducingCore):
    """The state of :class:`ONLSTM` after the last id of each sequence.

    Args:
        size: the number of ids.
        hidden_size: n, the width of all layers.
        num_layers: how many.
        chunk_size, weight_dropout: as in :class:`ONLSTMLayer`.
        embedding_size: of the ids; None: n.
        dropout: probability, in training only, on the embeddings and between layers, with one mask for all steps.
        max_length: of a sequence; None: any.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of ``Linear``.

    Raises ``ValueError`` as :class:`ONLSTM` does.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        num_layers: int = 1,
        chunk_size: int = 1,
        embedding_size: int | None = None,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        own = {"num_layers": num_layers, "chunk_size": chunk_size, "dropout": dropout, "weight_dropout": weight_dropout}
        super().__init__(size, max_length, hidden_size=hidden_size, embedding_size=embedding_size, **own)
        check_size("num_layers", num_layers)
        width = hidden_size if embedding_size is None else embedding_size
        check_size("embedding_size", width)
        self.embedding = nn.Embedding(size, width, padding_idx=PADDING)
        self.dropout = LockedDropout(dropout)
        self.lstm = ONLSTM(
            width, [hidden_size] * num_layers, chunk_size=chunk_size, dropout=dropout, weight_dropout=weight_dropout
        )

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The parse is that of the distances of the middle layer, as published: the second of three.

        The trace has the ``states`` (B, T, n) of the last layer, and of all layers the ``distances`` (B, T, layers) and
        the ``master_gates`` (B, T, layers, 2, D_m), f~ and i~.
        """
        steps, kept = self._read(ids, lengths, trace=trace), None
        if steps.master_gates is not None:
            kept = {"states": steps.states, "distances": steps.d, "master_gates": steps.master_gates}
        return Encoded(steps.root, Distances(steps.d[:, :, steps.d.shape[2] // 2], lengths), trace=kept)

    def steps(self, ids: Tensor, lengths: Tensor, state: State | None = None) -> RecurrentSteps:
        """The layers' states for ids (B, T) and lengths (B,), from the state of an earlier call on, if given.

        Raises ``ValueError`` as a call does, and for a state of a different shape.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return self._read(ids, lengths, state)

    def _read(self, ids: Tensor, lengths: Tensor, state: State | None = None, trace: bool = False) -> RecurrentSteps:
        return self.lstm(self.dropout(self.embedding(ids)), padding_mask(ids, lengths), state, trace)
