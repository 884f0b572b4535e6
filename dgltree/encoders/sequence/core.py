"""The core of a sequence encoder: sequences of ids to one vector each."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.encoders.encoder import Encoded
from dgltree.encoders.sequence.linearization import Order, linearize
from dgltree.encoders.sequence.padding import check_sequences
from dgltree.support.arguments import check_size
from dgltree.support.torch_internals import exclude_from_compile

# ---------------------------------------------------------------------------------------------------------------------
# Sequences of similar lengths together, so that a few long ones do not make the padding of all.


def in_groups(
    encode: Callable[..., Tensor], ids: Tensor, lengths: Tensor, *more: Tensor, known: Tensor | None = None
) -> Tensor:
    """(B, n) by ``encode``, called for sequences of similar lengths.

    Args:
        encode: (b, n) of what follows, for b of the B sequences.
        ids: (B, T) int64.
        lengths: (B,) int64.
        more: what else there is for each id, (B, T, ...).
        known: the lengths on the CPU, if they are there.
    """
    if known is None:
        known = lengths
    groups = length_groups(known, ids.device)
    vectors: list[Tensor] = []
    for rows, longest in groups:
        columns = [column[rows, :longest] for column in more]
        vectors.append(encode(ids[rows, :longest], lengths[rows], *columns))
    back = torch.cat([rows for rows, _ in groups]).argsort()
    return torch.cat(vectors)[back]


def length_groups(lengths: Tensor, device: torch.device) -> list[tuple[Tensor, int]]:
    """Rows (b,) int64 on a device of the sequences up to 1, 2, 4, 8, ... long, and the largest length of each group."""
    known = lengths.cpu()
    doublings = known.double().log2().ceil()
    groups = [torch.nonzero(doublings == d).squeeze(1) for d in doublings.unique().tolist()]
    longest = [int(known[group].max()) for group in groups]
    sizes = [len(group) for group in groups]
    on_device = torch.cat(groups).to(device, non_blocking=True)  # one copy for all groups
    return list(zip(on_device.split(sizes), longest, strict=True))


class SequenceCore(nn.Module, ABC):
    """Padded sequences to one vector each; a subclass says how, for sequences of similar lengths.

    It knows no trees, so it serves data without them; :class:`dgltree.encoders.SequenceEncoder` runs it over trees.

    Args:
        size: the number of ids.
        max_length: of a sequence; None: any.
        options: the subclass's other options, for ``config``.
    """

    grouped: ClassVar[bool] = True
    """Whether sequences of similar lengths are encoded together, because in a batch of trees a few are much longer than
    the others, and all would be padded to them. A core that leaves out what comes after an end needs no groups."""
    ordered: ClassVar[bool] = True
    """Whether the order of the ids changes the vector."""
    embedding_name: ClassVar[str] = "embedding.weight"
    """The parameter with a vector (D,) of each id."""
    place_options: ClassVar[tuple[str, ...]] = ()
    """The options for reading the place of each node in its tree. A core that has some reads the nodes of
    one tree in preorder; one that has none reads words, in any order and of two trees, too."""

    def __init__(self, size: int, max_length: int | None, **options: Any) -> None:
        super().__init__()
        check_size("size", size)
        if max_length is not None:
            check_size("max_length", max_length)
        self.size = size
        self.max_length = max_length
        self.config: dict[str, Any] = {**options, "max_length": max_length}

    @classmethod
    def for_vocabulary(cls, vocabulary: Vocabulary, size: int, hidden_size: int, **options: Any) -> Self:
        """One for trees over a vocabulary, from which a subclass may take options that were not given."""
        return cls(size, hidden_size, **options)

    def linearized(self, batch: TreeBatch, order: Order, vocabulary: Vocabulary) -> tuple[Tensor, ...]:
        """The arguments of a call for a batch of trees, on its device: ids (B, T), lengths (B,), and places, if any."""
        return linearize(batch, order, vocabulary)

    @abstractmethod
    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n) from ids (B, T) int64, lengths (B,) int64 and what else there is for each id, (B, T, ...)."""

    @exclude_from_compile
    def forward(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n) from ids (B, T) int64 and lengths (B,) int64, 1 to T; what comes after a length is not read.

        Raises ``ValueError`` for other shapes, lengths and ids, and for a sequence longer than ``max_length``.
        """
        known = check_sequences(ids, lengths, self.size, self.max_length)
        if not self.grouped:
            return self.encode(ids, lengths, *more)
        return in_groups(self.encode, ids, lengths, *more, known=known)

    def encoded(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The result of a call, with all that :class:`dgltree.encoders.Encoded` has. Raises as a call does."""
        return Encoded(self(ids, lengths))


class InducingCore(SequenceCore):
    """A core that, reading words, finds a tree over them; a subclass says how, and gives both by one pass."""

    grouped = False

    @abstractmethod
    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The result for checked ids (B, T) and lengths (B,): root (B, n), parse, losses and trace."""

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n)."""
        return self.read(ids, lengths).root

    @exclude_from_compile
    def encoded(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The result of a call, with the parse, the losses, and the trace that :meth:`read` documents."""
        check_sequences(ids, lengths, self.size, self.max_length)
        return self.read(ids, lengths, trace)
