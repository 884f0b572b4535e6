"""Universal Transformer encoder over a sequence."""

from torch import Tensor, nn

from dgltree.encoders.sequence.core import SequenceCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import padding_mask
from dgltree.encoders.sequence.transformer import OutputMap, SelfAttention, mean_state
from dgltree.engine.positions import sinusoids
from dgltree.support.arguments import check_size


class SequenceUniversalTransformer(SequenceCore):
    r"""The mean of a Universal Transformer's states over the ids (Dehghani et al. 2019, arXiv 1807.03819).

    One layer of :class:`SelfAttention` is run ``num_steps`` times, without halting. Before step s = 1, 2, ... the
    sinusoids of position t = 0, 1, ... and of the step are added:

    .. math:: H_s = layer(H_{s-1} + sinusoid(t) + sinusoid(s)), \quad H_0 = drop(embedding)

    Then come the mean and :class:`OutputMap`. Twelve steps of the paper's layer are hard to train without a warm-up:
    at a high rate their states, and so the vectors of all sequences, become equal. ``pre_norm`` prevents that.

    Args:
        size: the number of ids.
        hidden_size: n.
        num_steps: how often the layer is run.
        num_heads, feedforward_size, dropout, pre_norm: as in :class:`SelfAttention`; dropout also acts on the
            embeddings.
        max_length: of a sequence; None: any. Time and memory grow with its square.

    Initialisation: embeddings N(0, 1); torch's of the layer.

    Raises ``ValueError`` as :class:`SelfAttention` does, and for num_steps below 1.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        num_steps: int = 12,
        num_heads: int = 4,
        feedforward_size: int | None = None,
        dropout: float = 0.0,
        pre_norm: bool = False,
        max_length: int | None = None,
    ) -> None:
        own = {
            "num_steps": num_steps,
            "num_heads": num_heads,
            "feedforward_size": feedforward_size,
            "dropout": dropout,
            "pre_norm": pre_norm,
        }
        super().__init__(size, max_length, hidden_size=hidden_size, **own)
        check_size("num_steps", num_steps)
        self.num_steps = num_steps
        self.attention = SelfAttention(hidden_size, 1, num_heads, feedforward_size, dropout, pre_norm)
        self.embedding = nn.Embedding(size, hidden_size, padding_idx=PADDING)
        self.output = OutputMap(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n)."""
        padding = padding_mask(ids, lengths)
        states = self.dropout(self.embedding(ids))
        position = sinusoids(ids.shape[1], states)
        for step in sinusoids(self.num_steps + 1, states)[1:]:
            states = self.attention(states + position + step, padding)
        return self.output(mean_state(self.attention.normalized(states), padding))
