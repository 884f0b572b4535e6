"""Two trees as one sequence."""

from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.linearization import PADDING, Order, Sequences, check_order, sequences, symbol_count
from dgltree.encoders.registry import SEQUENCE_ENCODERS
from dgltree.encoders.sequence import SequenceEncoder


class JointEncoder(Encoder):
    """One vector a pair of trees, by a sequence core that reads both: the first, a separator, the second.

    So the words of the one may attend to those of the other: the inter-sentence form of the Transformers on logic
    (Shen et al. 2019, arXiv 1910.13466, table 1).

    Args:
        name: of a sequence encoder, such as "transformer"; see ``dgltree.encoders.SEQUENCE_ENCODERS``.
        vocabulary: of the trees. The separator has the id after the last of :func:`dgltree.encoders.linearize`.
        hidden_size: n.
        order: how a tree becomes a sequence, as in :func:`dgltree.encoders.linearize`.
        options: further options of the core.

    Raises ``ValueError`` for a name that is no encoder of sequences, another order, and what the core raises.
    """

    def __init__(
        self, name: str, vocabulary: Vocabulary, hidden_size: int, *, order: Order = "bracketed", **options: Any
    ) -> None:
        super().__init__()
        encoder = SEQUENCE_ENCODERS.get(name)
        if encoder is None or not issubclass(encoder, SequenceEncoder):
            raise ValueError(f"{name!r} reads no sequences of ids, so it cannot read two trees as one sequence")
        check_order(order)
        self.vocabulary, self.order = vocabulary, order
        self.separator = symbol_count(vocabulary)
        self.core = encoder.core_class(self.separator + 1, hidden_size, **options)
        self.config = {**self.core.config, "order": order}

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(P, n) from a batch of 2P trees, of which 2i and 2i + 1 are a pair; nothing is shared.

        Raises ``ValueError`` for an odd number of trees, and as :func:`dgltree.encoders.linearize` does.
        """
        found = self._sequences(batch)
        return self.core(found.ids, found.lengths)

    def plan(self, batch: TreeBatch, share: bool) -> None:
        self._sequences(batch)

    def _sequences(self, batch: TreeBatch) -> Sequences:
        if len(batch) % 2:
            raise ValueError(f"a batch of {len(batch)} trees; pairs are an even number of them")
        single = sequences(batch, self.order, self.vocabulary)
        return batch.planned(("pairs", self.order, self.separator), lambda: joined(single, self.separator))


def joined(single: Sequences, separator: int) -> Sequences:
    """Each two sequences as one, with ``separator`` between them."""
    ids, lengths = single.ids, single.lengths
    first, second = lengths[::2], lengths[1::2]
    row, t = (torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)).nonzero(as_tuple=True)
    start = torch.stack([torch.zeros_like(first), first + 1], 1).flatten()
    pairs = ids.new_full((len(first), int((first + second).max()) + 1), PADDING)
    pairs[row // 2, start[row] + t] = ids[row, t]
    pairs[torch.arange(len(first), device=ids.device), first] = separator
    return Sequences(pairs, first + 1 + second)
