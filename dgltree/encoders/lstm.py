"""LSTM over a sequence."""

from typing import Any

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from dgltree.cells.check import check_dropout, check_size
from dgltree.encoders.linearize import PADDING, Order, symbol_count
from dgltree.encoders.sequence import SequenceEncoder, check_sequences
from dgltree.vocabulary import Vocabulary


class SequenceLSTM(nn.Module):
    """The hidden state of an LSTM after the last id of each sequence (Hochreiter & Schmidhuber 1997).

    Embedding, then the layers; dropout acts on the embeddings and between layers. Sequences are packed, so no step is
    computed for padding.

    Args:
        size: the number of ids.
        hidden_size: n, the width of embeddings and states.
        layers: how many LSTMs stand on top of one another.
        dropout: probability, in training only.
        max_length: of a sequence; None: any.

    Initialisation: torch's ``Embedding``, N(0, 1), and ``LSTM``.

    Raises ``ValueError`` for a size below 1 and a dropout outside of 0 to below 1.
    """

    def __init__(
        self, size: int, hidden_size: int, *, layers: int = 1, dropout: float = 0.0, max_length: int | None = None
    ) -> None:
        super().__init__()
        for name, number in (("size", size), ("hidden_size", hidden_size), ("layers", layers)):
            check_size(name, number)
        check_dropout(dropout)
        self.embedding = nn.Embedding(size, hidden_size, padding_idx=PADDING)
        # One module a layer, because masks between the layers of one cuDNN module do not follow torch.manual_seed.
        self.layers = nn.ModuleList(nn.LSTM(hidden_size, hidden_size, batch_first=True) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.max_length = max_length
        self.config = {"hidden_size": hidden_size, "layers": layers, "dropout": dropout, "max_length": max_length}

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, n) from ids (B, T) int64 and lengths (B,) int64, 1 to T.

        Raises ``ValueError`` for other shapes, lengths and ids, and for a sequence longer than ``max_length``.
        """
        check_sequences(ids, lengths, self.embedding.num_embeddings, self.max_length)
        packed = pack_padded_sequence(self.embedding(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        for layer in self.layers:
            packed, (h, _) = layer(PackedSequence(self.dropout(packed.data), *packed[1:]))
        return h[0]


class LSTMEncoder(SequenceEncoder):
    """:class:`SequenceLSTM` over linearised trees: ``order`` and its options."""

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, order: Order = "bracketed", **options: Any) -> None:
        super().__init__(vocabulary, SequenceLSTM(symbol_count(vocabulary), hidden_size, **options), order)
