"""Ordered Memory over sequences of ids."""

from typing import Any

import torch
from torch import Tensor, nn

from dgltree.arguments import check_dropout, check_size
from dgltree.encoders.encoded import Attention, Encoded
from dgltree.encoders.latent.ordered_memory.memory import MemorySteps, OrderedMemory
from dgltree.encoders.sequence.core import InducingCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import check_sequences, padding_mask
from dgltree.encoders.sequence.recurrent import LockedDropout


class SequenceOrderedMemory(InducingCore):
    """The state of :class:`OrderedMemory` after the last id of each sequence.

    Args:
        size: the number of ids.
        hidden_size: n, the width of the state; D is n, or n / 2 for each of two directions.
        num_slots: N in training.
        num_evaluation_slots: N in evaluation; None: as many.
        bidirectional: whether a second memory, with weights of its own, reads from the last id to the first; the states
            of both are side by side.
        embedding_size: of the ids; None: n.
        dropout: probability, in training only, on the embeddings.
        locked: whether the embeddings' dropout mask is one for all steps.
        operator, attention, allowed_maximum, cell_dropout, attention_dropout: as in :class:`OrderedMemory`.
        max_length: of a sequence; None: any.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`OrderedMemory` does, and for an odd n if there are two directions.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        num_slots: int = 12,
        num_evaluation_slots: int | None = None,
        bidirectional: bool = False,
        embedding_size: int | None = None,
        operator: str = "tree_cell",
        attention: str = "published",
        allowed_maximum: bool = False,
        dropout: float = 0.0,
        locked: bool = False,
        cell_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        memory: dict[str, Any] = {
            "operator": operator,
            "attention": attention,
            "allowed_maximum": allowed_maximum,
            "cell_dropout": cell_dropout,
            "attention_dropout": attention_dropout,
        }
        own = {"num_slots": num_slots, "num_evaluation_slots": num_evaluation_slots, "bidirectional": bidirectional}
        embedded = {"embedding_size": embedding_size, "dropout": dropout, "locked": locked}
        super().__init__(size, max_length, hidden_size=hidden_size, **own, **embedded, **memory)
        check_size("hidden_size", hidden_size)
        check_size("num_slots", num_slots)
        check_dropout(dropout)
        self.num_slots = num_slots
        self.num_evaluation_slots = num_slots if num_evaluation_slots is None else num_evaluation_slots
        check_size("num_evaluation_slots", self.num_evaluation_slots)
        width = hidden_size if embedding_size is None else embedding_size
        check_size("embedding_size", width)
        directions = 2 if bidirectional else 1
        if hidden_size % directions:
            raise ValueError(
                f"hidden_size is {hidden_size}; each of the two directions has half of it, so it must be even"
            )
        self.embedding = nn.Embedding(size, width, padding_idx=PADDING)
        self.dropout = LockedDropout(dropout) if locked else nn.Dropout(dropout)
        self.memories = nn.ModuleList(
            OrderedMemory(width, hidden_size // directions, **memory) for _ in range(directions)
        )

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The parse is the attention of the memory that reads from the first word to the last.

        The trace has its ``states`` (B, T, D), the last slot after each word, all ``slots`` (B, T, N, D) of M^, and
        ``pi`` (B, T, N), the sums of the attention up to each slot.
        """
        steps, kept = self._read(ids, lengths, trace), None
        if steps[0].slots is not None and steps[0].pi is not None:
            kept = {"states": steps[0].states, "slots": steps[0].slots, "pi": steps[0].pi}
        return Encoded(torch.cat([of.root for of in steps], 1), Attention(steps[0].p, lengths), trace=kept)

    def steps(self, ids: Tensor, lengths: Tensor) -> list[MemorySteps]:
        """Each direction's states for ids (B, T) and lengths (B,), at the places of the ids.

        Raises ``ValueError`` as a call does.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return self._read(ids, lengths)

    def _read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> list[MemorySteps]:
        x, padding = self.dropout(self.embedding(ids)), padding_mask(ids, lengths)
        num_slots = self.num_slots if self.training else self.num_evaluation_slots
        steps = [self.memories[0](x, padding, num_slots, trace)]
        for memory in self.memories[1:]:  # the other direction, with its padding in front
            root, states, p, computed, *_ = memory(x.flip(1), padding.flip(1), num_slots)
            steps.append(MemorySteps(root, states.flip(1), p.flip(1), computed))
        return steps
