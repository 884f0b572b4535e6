"""LSTM over a sequence."""

import torch
from torch import Tensor, nn

from dgltree.arguments import check_dropout, check_size
from dgltree.encoders.core import SequenceCore
from dgltree.encoders.linearization import PADDING


class SequenceLSTM(SequenceCore):
    """The hidden state of an LSTM after the last id of each sequence (Hochreiter & Schmidhuber 1997).

    Embedding, then the layers; dropout acts on the embeddings and between layers.

    Args:
        size: the number of ids.
        hidden_size: n, the width of embeddings and states.
        num_layers: how many LSTMs stand on top of one another.
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
        self.layers = nn.ModuleList(nn.LSTM(hidden_size, hidden_size, batch_first=True) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n). Padding stands behind the end, so no state up to the last one depends on it."""
        states = self.embedding(ids)
        for layer in self.layers:
            states, _ = layer(self.dropout(states))
        return states[torch.arange(len(ids), device=ids.device), lengths - 1]
