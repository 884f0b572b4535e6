"""ON-LSTM over a sequence."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dgltree.arguments import check_size
from dgltree.encoders.encoded import Distances, Encoded
from dgltree.encoders.latent.on_lstm_recurrence import open_gates, recur
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
from dgltree.torch_internals import without_autocast


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
