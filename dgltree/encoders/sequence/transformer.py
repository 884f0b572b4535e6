"""Transformer encoder over a sequence."""

from torch import Tensor, nn

from dgltree.encoders.sequence.core import SequenceCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import padding_mask
from dgltree.engine.positions import sinusoids
from dgltree.support.arguments import check_dropout, check_size


class SelfAttention(nn.Module):
    """Layers of self-attention and feed-forward that keep away from padding (Vaswani et al. 2017, arXiv 1706.03762).

    Each is torch's ``TransformerEncoderLayer`` with ReLU: as in the paper LayerNorm after each sum, or with
    ``pre_norm`` before each part (Xiong et al. 2020, arXiv 2002.04745) and once more after the last layer, by
    :meth:`normalized`. Dropout acts on the attention weights, in the feed-forward part and before each sum.

    Args:
        hidden_size: n.
        num_layers: how many.
        num_heads: of the attention; they divide n.
        feedforward_size: width of the feed-forward part; None: 4 n.
        dropout: probability, in training only.
        pre_norm: where the LayerNorms are. Many layers after one another learn with it at rates at which those of the
            paper need a warm-up.

    Raises ``ValueError`` for a size below 1, heads that do not divide n, and a dropout outside of 0 to below 1.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int,
        num_heads: int,
        feedforward_size: int | None,
        dropout: float,
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        width = 4 * hidden_size if feedforward_size is None else feedforward_size
        for name, number in (
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
            ("num_heads", num_heads),
            ("feedforward_size", width),
        ):
            check_size(name, number)
        check_dropout(dropout)
        if hidden_size % num_heads:
            raise ValueError(
                f"hidden_size is {hidden_size} and num_heads is {num_heads}; the number of heads must divide the "
                f"hidden size"
            )
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden_size, num_heads, width, dropout, batch_first=True, norm_first=pre_norm)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_size) if pre_norm else nn.Identity()

    def forward(self, states: Tensor, padding: Tensor) -> Tensor:
        """(B, T, n) from (B, T, n) and where padding is, (B, T) bool."""
        for layer in self.layers:
            states = layer(states, src_key_padding_mask=padding)
        return states

    def normalized(self, states: Tensor) -> Tensor:
        """States (..., n) after the last layer as readers take them."""
        normalized: Tensor = self.norm(states)
        return normalized


class OutputMap(nn.Linear):
    """n to n. LayerNorm gives states of length sqrt(n), and products of two would begin as large as n.

    Initialisation: U(-1/n, 1/n), with which they begin below 1.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__(hidden_size, hidden_size)

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -1 / self.in_features, 1 / self.in_features)


class SequenceTransformer(SequenceCore):
    """The mean of a Transformer encoder's states over the ids of each sequence (Vaswani et al. 2017, arXiv 1706.03762).

    Embedding plus sinusoidal position, dropout, :class:`SelfAttention`, the mean, then :class:`OutputMap`.

    Args:
        size: the number of ids.
        hidden_size: n.
        num_layers, num_heads, feedforward_size, dropout, pre_norm: as in :class:`SelfAttention`.
        max_length: of a sequence; None: any. Time and memory grow with its square.

    Initialisation: embeddings N(0, 1), which is the paper's scaling by the root of n; torch's of the layers.

    Raises ``ValueError`` as :class:`SelfAttention` does.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        num_layers: int = 2,
        num_heads: int = 4,
        feedforward_size: int | None = None,
        dropout: float = 0.0,
        pre_norm: bool = False,
        max_length: int | None = None,
    ) -> None:
        own = {
            "num_layers": num_layers,
            "num_heads": num_heads,
            "feedforward_size": feedforward_size,
            "dropout": dropout,
            "pre_norm": pre_norm,
        }
        super().__init__(size, max_length, hidden_size=hidden_size, **own)
        self.attention = SelfAttention(hidden_size, num_layers, num_heads, feedforward_size, dropout, pre_norm)
        self.embedding = nn.Embedding(size, hidden_size, padding_idx=PADDING)
        self.output = OutputMap(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n)."""
        padding = padding_mask(ids, lengths)
        embedded = self.embedding(ids)
        states = self.attention(self.dropout(embedded + sinusoids(ids.shape[1], embedded)), padding)
        return self.output(mean_state(self.attention.normalized(states), padding))


def mean_state(states: Tensor, padding: Tensor) -> Tensor:
    """(B, n), the mean of (B, T, n) over what is not padding, (B, T) bool."""
    return states.masked_fill(padding.unsqueeze(-1), 0).sum(1) / (~padding).sum(1, keepdim=True)
