"""LSTM over a sequence."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dgltree.encoders.sequence.core import SequenceCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import check_sequences, padding_mask
from dgltree.encoders.sequence.recurrent import (
    LayerState,
    LayerSteps,
    RecurrentLayers,
    RecurrentSteps,
    State,
    check_layer,
    check_sizes,
    drop_weights,
    read,
)
from dgltree.support.arguments import check_dropout, check_size


class LSTMLayer(nn.LSTM):
    """One layer: torch's LSTM, with its parameters and their names.

    Args:
        input_size: of x.
        hidden_size: D.
        weight_dropout: probability with which each of the hidden-to-gates weights is left out, as
            :func:`dgltree.encoders.sequence.recurrent.drop_weights` does.

    Raises ``ValueError`` for a size below 1, and a dropout outside of 0 to below 1.
    """

    def __init__(self, input_size: int, hidden_size: int, weight_dropout: float) -> None:
        check_layer(input_size, hidden_size, weight_dropout)
        super().__init__(input_size, hidden_size, batch_first=True)
        self.weight_dropout = weight_dropout

    def forward(  # type: ignore[override]
        self, x: Tensor, padding: Tensor | None = None, state: LayerState | None = None
    ) -> LayerSteps:
        """States, the last state, and no distances, for x (B, T, input_size), from ``state`` on, or from 0.

        Raises ``ValueError`` if ``padding`` (B, T) bool is true before a word.
        """
        zero = x.new_zeros(len(x), self.hidden_size)
        h, c = (zero, zero) if state is None else state
        if padding is None:
            states, h, c = self._read(x, None, h, c)
            return LayerSteps(states, (h, c), states[:, :, :0])
        packed = pack_padded_sequence(x, _lengths(padding).cpu(), batch_first=True, enforce_sorted=False)
        order = packed.sorted_indices
        back = packed.unsorted_indices
        data, h, c = self._read(packed.data, packed.batch_sizes, h[order], c[order])
        read_by_step = PackedSequence(data, packed.batch_sizes, order, back)
        states, _ = pad_packed_sequence(read_by_step, batch_first=True, total_length=x.shape[1])
        return LayerSteps(states, (h[back], c[back]), states[:, :, :0])

    def _read(self, x: Tensor, batch_sizes: Tensor | None, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """torch's own call, with the weights of this pass."""
        inputs, recurrent, *biases = self.all_weights[0]
        drawn = drop_weights(recurrent, self.weight_dropout, self.training)
        weights = [inputs, drawn, *biases]
        hidden = [h.unsqueeze(0), c.unsqueeze(0)]
        how = (True, 1, 0.0, self.training, False)
        if batch_sizes is None:
            states, h, c = torch.lstm(x, hidden, weights, *how, True)
        else:
            states, h, c = torch.lstm(x, batch_sizes, hidden, weights, *how)
        return states, h.squeeze(0), c.squeeze(0)


def _lengths(padding: Tensor) -> Tensor:
    lengths = (~padding).sum(1)
    if not torch.equal(padding_mask(padding, lengths), padding):
        raise ValueError("padding comes before a word; an LSTM reads sequences that are padded at the end")
    return lengths


class LSTM(RecurrentLayers):
    """Layers of :class:`LSTMLayer` over vectors; padding is at the end.

    Args:
        input_size: of a vector.
        sizes: D of each layer, from below.
        weight_dropout: as in :class:`LSTMLayer`.
        dropout: as in :class:`dgltree.encoders.sequence.recurrent.RecurrentLayers`.

    Initialisation: torch's of ``LSTM``.

    Raises ``ValueError`` as :class:`LSTMLayer` does, and where there is no layer.
    """

    def __init__(
        self, input_size: int, sizes: Sequence[int], *, dropout: float = 0.0, weight_dropout: float = 0.0
    ) -> None:
        below = [input_size, *check_sizes(sizes)]
        widths = zip(below, sizes, strict=False)
        layers = [LSTMLayer(width, size, weight_dropout) for width, size in widths]
        super().__init__(input_size, layers, dropout)


class SequenceLSTM(SequenceCore):
    """The hidden state of an LSTM after the last id of each sequence (Hochreiter & Schmidhuber 1997).

    Embedding, then the layers; dropout acts on the embeddings and between layers.

    Args:
        size: the number of ids.
        hidden_size: n, the width of embeddings and states.
        num_layers: how many LSTMs are on top of one another.
        dropout: probability, in training only.
        max_length: of a sequence; None: any.

    Initialisation: torch's ``Embedding``, N(0, 1), and ``LSTM``.

    Raises ``ValueError`` for a size below 1 and a dropout outside of 0 to below 1.
    """

    def __init__(
        self, size: int, hidden_size: int, *, num_layers: int = 1, dropout: float = 0.0, max_length: int | None = None
    ) -> None:
        super().__init__(size, max_length, hidden_size=hidden_size, num_layers=num_layers, dropout=dropout)
        check_size("hidden_size", hidden_size)
        check_size("num_layers", num_layers)
        check_dropout(dropout)
        self.embedding = nn.Embedding(size, hidden_size, padding_idx=PADDING)
        # One module a layer, because masks between the layers of one cuDNN module do not follow torch.manual_seed.
        self.layers = nn.ModuleList(LSTMLayer(hidden_size, hidden_size, 0.0) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n). Padding comes after the end, so no state up to the last one depends on it."""
        states = self._read(ids, None, None).states
        sequence = torch.arange(len(ids), device=ids.device)
        return states[sequence, lengths - 1]

    def steps(self, ids: Tensor, lengths: Tensor, state: State | None = None) -> RecurrentSteps:
        """The layers' states for ids (B, T) and lengths (B,), from the state of an earlier call on, if given.

        Raises ``ValueError`` as a call does, and for a state of a different shape.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return self._read(ids, padding_mask(ids, lengths), state)

    def _read(self, ids: Tensor, padding: Tensor | None, state: State | None) -> RecurrentSteps:
        x = self.dropout(self.embedding(ids))
        return read(self.layers, x, padding, state, self.dropout)
