"""ON-LSTM over a sequence."""

from collections.abc import Sequence
from itertools import pairwise
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
# The steps of one ON-LSTM layer, and their gradients by hand: as autograd's, in a third of its operations. Numbers in
# brackets are those of the equations of ONLSTMLayer.


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


class Stepped(NamedTuple):
    """The results of one step of B rows."""

    h: Tensor
    """(B, D), h_t."""
    c: Tensor
    """(B, D), c_t."""
    f_tilde: Tensor
    """(B, D_m), f~_t."""
    kept: Kept


def step(pre: Tensor, c: Tensor, chunks: int) -> Stepped:
    """One step from pre-activations (B, 2 D_m + 4 D) and c_{t-1} (B, D).

    As few operations as it takes, since each is short; a master gate is not repeated for the units of its chunk.
    """
    rows, n = c.shape
    units = n // chunks
    before = c.view(rows, chunks, units)
    master_pre, gate_pre, c_hat_pre = pre.split([2 * chunks, 3 * n, n], 1)

    soft, masters = open_gates(master_pre, chunks)  # (1), (2)
    f_master, i_master = masters.unsqueeze(3).unbind(1)  # (B, D_m, 1)
    gates = gate_pre.sigmoid().view(rows, 3, chunks, units)
    f, i, o = gates.unbind(1)
    c_hat = c_hat_pre.tanh().view_as(before)

    omega = f_master * i_master  # (3)
    f_hat = torch.addcmul(f_master - omega, f, omega)  # (4)
    i_hat = torch.addcmul(i_master - omega, i, omega)  # (5)
    c_t = torch.addcmul(f_hat * before, i_hat, c_hat)  # (6)
    tanh_c = c_t.tanh()
    h_t = o * tanh_c  # (7)
    kept = Kept(
        soft=soft,
        masters=masters,
        gates=gates,
        c_hat=c_hat,
        f_hat=f_hat,
        i_hat=i_hat,
        before=before,
        tanh_c=tanh_c,
    )
    return Stepped(h_t.view(rows, n), c_t.view(rows, n), masters[:, 0], kept)


def open_gates(master_pre: Tensor, chunks: int) -> tuple[Tensor, Tensor]:
    """The softmax in both cumax, and the master gates f~ and i~, both (R, 2, D_m), of pre-activations (R, 2 D_m)."""
    soft = master_pre.view(-1, 2, chunks).softmax(2)
    f_tilde, i_complement = cumulate(soft).unbind(1)
    masters = torch.stack([f_tilde, 1 - i_complement], 1)
    return soft, masters


def step_backward(kept: Kept, d_h: Tensor, d_c: Tensor, d_f_tilde: Tensor, d_pre: Tensor) -> Tensor:
    """The gradient of c_{t-1} (B, D) from those of h_t, c_t and f~_t; that of the pre-activations goes into d_pre."""
    rows, n = d_h.shape
    chunks = kept.soft.shape[2]
    d_masters_pre, d_gates_pre, d_c_hat_pre = d_pre.split([2 * chunks, 3 * n, n], 1)
    d_gates_pre = d_gates_pre.view_as(kept.gates)
    d_h = d_h.view_as(kept.before)
    f_and_i = kept.gates[:, :2]
    o = kept.gates[:, 2]

    d_gates_pre[:, 2] = aten.sigmoid_backward(d_h * kept.tanh_c, o)  # (7)
    d_c = d_c.view_as(kept.before) + aten.tanh_backward(d_h * o, kept.tanh_c)
    d_c_hat = aten.tanh_backward(d_c * kept.i_hat, kept.c_hat)  # (6)
    d_c_hat_pre.view_as(kept.before).copy_(d_c_hat)
    d_hats = torch.stack([d_c * kept.before, d_c * kept.c_hat], 1)  # (B, 2, D_m, C), of f^ and i^

    omega = kept.masters.prod(1).view(rows, 1, chunks, 1)
    d_gates_pre[:, :2] = aten.sigmoid_backward(d_hats * omega, f_and_i)  # (4), (5)
    d_omega = (f_and_i - 1).mul_(d_hats).sum((1, 3)).unsqueeze(1)
    d_masters = torch.addcmul(d_hats.sum(3), d_omega, kept.masters.flip(1))  # (3)
    d_masters[:, 0] += d_f_tilde
    d_masters[:, 1].neg_()  # i~ is 1 - cumax
    d_soft_pre = cumax_backward(d_masters, kept.soft)  # (1), (2)
    d_masters_pre.view_as(kept.soft).copy_(d_soft_pre)
    d_before = d_c * kept.f_hat
    return d_before.view(rows, n)


def cumulate(soft: Tensor) -> Tensor:
    """Sums up to each place of the last dimension, of which the last is 1 without rounding."""
    sums = soft.cumsum(-1)
    return sums / sums[..., -1:]


def cumax_backward(d: Tensor, soft: Tensor) -> Tensor:
    """The gradient of z, from that of ``cumulated(softmax(z))``; the last sum is 1 up to rounding."""
    d_soft = d.flip(-1).cumsum(-1).flip(-1)
    later = d_soft * soft
    total = later.sum(-1, keepdim=True)
    return torch.addcmul(later, soft, total, value=-1)


class LayerStep(NamedTuple):
    """Where the rows of one step are, with the B states that the first step continues from in front of all others."""

    start: int
    """The first packed row."""
    stop: int
    """The packed row after the last."""
    first: int
    """The row of the first state after the step."""
    earlier: int
    """The row of the first state before the step."""

    @property
    def packed(self) -> slice:
        """The rows of words."""
        return slice(self.start, self.stop)

    @property
    def after(self) -> slice:
        """The rows of the states after the step."""
        return slice(self.first, self.first + self.stop - self.start)

    @property
    def before(self) -> slice:
        """The rows of the states before the step."""
        return slice(self.earlier, self.earlier + self.stop - self.start)


class TorchSteps:
    """The steps of a layer by torch's operations, with the methods of its kernels."""

    def __init__(self, rows: LayerRows) -> None:
        self._rows = rows
        self._steps = [LayerStep(*bounds) for bounds in rows.bounds]
        self._kept: dict[int, Kept] = {}

    def forward(self, t: int) -> None:
        """The states, cells and f~ of step t from its pre-activations."""
        rows = self._rows
        at = self._steps[t]
        h = rows.states[at.before]
        c = rows.cells[at.before]
        stepped = step(rows.gates[at.packed], c, rows.masters.shape[1])
        h_t = stepped.h
        c_t = stepped.c
        if not rows.complete[t]:
            is_word = rows.present[at.packed, None]
            h_t = h_t.where(is_word, h)
            c_t = c_t.where(is_word, c)
        rows.states[at.after] = h_t
        rows.cells[at.after] = c_t
        rows.masters[at.packed] = stepped.f_tilde
        self._kept[t] = stepped.kept

    def start_backward(self, given: LayerGradients) -> None:
        """A backward pass begins, from the last step to the first."""
        self._given = given

    def backward(self, t: int) -> None:
        """The gradients of the pre-activations of step t, and of c before it; of h before it those of absent words."""
        rows = self._rows
        given = self._given
        at = self._steps[t]
        d_h = given.states[at.after]
        d_c = given.cells[at.after]
        d_c_before = given.cells[at.before]
        if not rows.complete[t]:  # what an absent word passes on as it is
            is_word = rows.present[at.packed, None]
            given.states[at.before].add_(d_h.masked_fill(is_word, 0))
            d_c_before.add_(d_c.masked_fill(is_word, 0))
            d_h = d_h * is_word
            d_c = d_c * is_word
        d_c_step = step_backward(self._kept[t], d_h, d_c, given.masters[at.packed], given.gates[at.packed])
        d_c_before.add_(d_c_step)


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
        batch, n = h.shape
        shape = LayerShape(n, chunks)
        kernel = step_kernel("on_lstm", (), weight, any(ctx.needs_input_grad), [shape])
        steps = _steps(ends)
        new_states = pre.new_empty(len(pre), n)
        rows = LayerRows(
            gates=torch.empty_like(pre, memory_format=torch.contiguous_format),
            states=torch.cat([h.detach(), new_states]),
            cells=torch.cat([c.detach(), new_states]),
            masters=pre.new_empty(len(pre), chunks),
            present=present,
            bounds=steps,
            complete=ends.complete,
        )
        compute = TorchSteps(rows) if kernel is None else kernel(rows)
        columns = weight.t()
        with torch.cuda.device_of(pre):
            for t, at in enumerate(steps):
                torch.addmm(pre[at.packed], rows.states[at.before], columns, out=rows.gates[at.packed])
                compute.forward(t)
        ctx.rows = rows
        ctx.compute = compute
        ctx.steps = steps
        h_t = rows.states[batch:].detach()
        c_t = rows.cells[batch:].detach()
        ctx.save_for_backward(weight, source, h_t, c_t)
        return h_t, c_t, rows.masters

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor, d_c: Tensor, d_f_tilde: Tensor) -> tuple[Tensor | None, ...]:
        weight = ctx.saved_tensors[0]
        rows = ctx.rows
        batch = len(rows.states) - len(d_h)
        none = d_h.new_zeros(batch, d_h.shape[1])
        given = LayerGradients(
            states=torch.cat([none, d_h]),
            cells=torch.cat([none, d_c]),
            masters=operand(d_f_tilde),
            gates=torch.empty_like(rows.gates),
        )
        ctx.compute.start_backward(given)
        with torch.cuda.device_of(d_h):
            for t, at in reversed(list(enumerate(ctx.steps))):
                ctx.compute.backward(t)
                given.states[at.before].addmm_(given.gates[at.packed], weight)
        h_before = torch.cat([rows.states[at.before] for at in ctx.steps])
        d_weight = given.gates.t() @ h_before
        return given.gates, d_weight, given.states[:batch], given.cells[:batch], None, None, None, None


def _steps(ends: Ragged) -> list[LayerStep]:
    """The rows of each step."""
    batch = ends.counts[0]
    steps: list[LayerStep] = []
    earlier = 0
    for start, stop in pairwise(ends.starts):
        steps.append(LayerStep(start, stop, batch + start, earlier))
        earlier = batch + start
    return steps


def recur(
    pre: Tensor, weight: Tensor, h: Tensor, c: Tensor, ends: Ragged, present: Tensor, chunks: int
) -> tuple[Tensor, Tensor, Tensor]:
    """h_t and c_t (R, D) and f~_t (R, D_m) by :meth:`Recurrence.forward`, of whose arguments these are."""
    source = origin(pre, h, c)
    packed: tuple[Tensor, Tensor, Tensor] = Recurrence.apply(pre, weight, h, c, source, ends, present, chunks)
    return packed


class ONLSTMLayer(nn.Module):
    r"""One layer of an ON-LSTM (Shen et al. 2019, arXiv 1810.09536).

    With gates f, i, o (sigmoid) and :math:`\hat c` (tanh) of x_t and h_{t-1} as in an LSTM, and
    :math:`cumax(z) = cumsum(softmax(z))`,

    .. math::
        \tilde f &= cumax(W x_t + U h_{t-1} + b)\quad(1) \\
        \tilde i &= 1 - cumax(W' x_t + U' h_{t-1} + b')\quad(2) \\
        \omega &= \tilde f \odot \tilde i\quad(3) \\
        \hat f &= f \odot \omega + (\tilde f - \omega)\quad(4) \\
        \hat i &= i \odot \omega + (\tilde i - \omega)\quad(5) \\
        c_t &= \hat f \odot c_{t-1} + \hat i \odot \hat c\quad(6) \\
        h_t &= o \odot \tanh(c_t)\quad(7)

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
        self.hidden_size = hidden_size
        self.chunk_size = chunk_size
        self.weight_dropout = weight_dropout
        self.chunks = hidden_size // chunk_size
        gates = 4 * hidden_size + 2 * self.chunks
        self.input = nn.Linear(input_size, gates)
        self.hidden = nn.Linear(hidden_size, gates)

    def forward(
        self, x: Tensor, padding: Tensor | None = None, state: LayerState | None = None, trace: bool = False
    ) -> LayerSteps:
        """States, the last state and distances for x (B, T, input_size), from ``state`` on, or from 0.

        Where ``padding`` (B, T) bool is true, the state stays what it was. With ``trace`` there are master gates, too.
        """
        rows, length, _ = x.shape
        weight = drop_weights(self.hidden.weight, self.weight_dropout, self.training)
        if padding is None:
            ends = Ragged.none(rows, length)
            present = x.new_ones(rows, length, dtype=torch.bool)
        else:
            ends = Ragged.of(padding)
            present = ~padding
        if state is None:
            h = c = x.new_zeros(rows, self.hidden_size)
        else:
            h, c = map(ends.sorted, state)
        pre = linear(ends.packed(x), self.input.weight, self.input.bias + self.hidden.bias)
        with without_autocast(x.device):
            pre, h, c = (part.to(weight.dtype) for part in (pre, h, c))
            states, cells, f_tilde = recur(pre, weight, h, c, ends, ends.packed(present), self.chunks)
        d = self.chunks - ends.padded(f_tilde, length).sum(2, keepdim=True)
        masters = None
        if trace:  # once more, because the recurrence keeps one of both
            starts = (h, *states.split(ends.counts))
            steps = zip(starts, ends.counts, strict=False)
            before = torch.cat([front(part, count) for part, count in steps])
            width = 2 * self.chunks
            master_pre = pre[:, :width] + linear(before, weight[:width])
            _, gates = open_gates(master_pre, self.chunks)
            masters = ends.padded(gates.flatten(1), length).unflatten(2, (2, self.chunks))
        last = (ends.last(states), ends.last(cells))
        return LayerSteps(ends.padded(states, length), last, d, masters)


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
        widths = zip(below, sizes, strict=False)
        layers = [ONLSTMLayer(width, size, chunk_size, weight_dropout) for width, size in widths]
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
        steps = self._read(ids, lengths, trace=trace)
        kept = None
        if steps.master_gates is not None:
            kept = {"states": steps.states, "distances": steps.d, "master_gates": steps.master_gates}
        middle = steps.d.shape[2] // 2
        return Encoded(steps.root, Distances(steps.d[:, :, middle], lengths), trace=kept)

    def steps(self, ids: Tensor, lengths: Tensor, state: State | None = None) -> RecurrentSteps:
        """The layers' states for ids (B, T) and lengths (B,), from the state of an earlier call on, if given.

        Raises ``ValueError`` as a call does, and for a state of a different shape.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return self._read(ids, lengths, state)

    def _read(self, ids: Tensor, lengths: Tensor, state: State | None = None, trace: bool = False) -> RecurrentSteps:
        x = self.dropout(self.embedding(ids))
        return self.lstm(x, padding_mask(ids, lengths), state, trace)
