"""What all encoders of sequences have in common: their input, its padding, and the step from trees to it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dgltree.arguments import check_size
from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.linearization import Order, check_order, sequences, symbol_count, symbol_names
from dgltree.trees.tree import Tree


class SequenceCore(nn.Module, ABC):
    """Padded sequences to one vector each; a subclass says how for sequences of similar lengths.

    Args:
        size: the number of ids.
        max_length: of a sequence; None: any.
        options: the subclass's other options, for ``config``.
    """

    def __init__(self, size: int, max_length: int | None, **options: Any) -> None:
        super().__init__()
        check_size("size", size)
        if max_length is not None:
            check_size("max_length", max_length)
        self.size, self.max_length = size, max_length
        self.config: dict[str, Any] = {**options, "max_length": max_length}

    grouped: ClassVar[bool] = True
    """Whether sequences of similar lengths are encoded together, because in a batch of trees a few are much longer than
    the others, and all would be padded to them. A core that leaves out what stands behind an end needs no groups."""

    @abstractmethod
    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n) from ids (B, T) int64, lengths (B,) int64 and what else there is for each id, (B, T, ...)."""

    def forward(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n) from ids (B, T) int64 and lengths (B,) int64, 1 to T; what stands behind a length is not read.

        Raises ``ValueError`` for other shapes, lengths and ids, and for a sequence longer than ``max_length``.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return in_groups(self.encode, ids, lengths, *more) if self.grouped else self.encode(ids, lengths, *more)


class SequenceEncoder(Encoder):
    """A core for sequences, which a subclass names, run over the linearised trees.

    Args:
        vocabulary: of the trees.
        hidden_size: n.
        order: how a tree becomes a sequence, as in :func:`dgltree.encoders.linearize`.
        options: further options of the core.

    Raises ``ValueError`` for another order, and what the core raises.
    """

    core_class: ClassVar[type[SequenceCore]]

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, order: Order = "bracketed", **options: Any) -> None:
        super().__init__()
        check_order(order)
        self.vocabulary, self.order = vocabulary, order
        self.core = self.core_class(symbol_count(vocabulary), hidden_size, **options)
        self.config = {**self.core.config, "order": order}

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n), one row a root; a sequence shares nothing, whatever ``share`` is."""
        found = sequences(batch, self.order, self.vocabulary)
        return self.core(found.ids, found.lengths)

    def plan(self, batch: TreeBatch, share: bool) -> None:
        sequences(batch, self.order, self.vocabulary)


class InducingEncoder(SequenceEncoder):
    """A sequence encoder that finds a tree by itself; a subclass says of which numbers it can be read."""

    @abstractmethod
    def evidence(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, ...) of ids (B, T) and lengths (B,): what each word says about the tree."""

    @abstractmethod
    def tree(self, words: Sequence[str], evidence: Tensor) -> Tree:
        """The tree over T words, from the evidence of their sequence, (T, ...)."""

    def trees(self, batch: TreeBatch) -> list[Tree]:
        """The tree found over the sequence of each tree of a batch, without gradients; one a root.

        Its leaves are the sequence's words: tokens, names of functions, and the brackets ``(`` and ``)``, which
        :func:`dgltree.induction.binary_trees.without_tokens` takes out. Inner nodes are ``phrase``, with two children.
        """
        found, names = sequences(batch, self.order, self.vocabulary), symbol_names(self.vocabulary)
        with torch.no_grad():
            evidence = self.evidence(found.ids, found.lengths).cpu()
        rows = zip(found.ids.tolist(), found.lengths.tolist(), evidence, strict=True)
        return [self.tree([names[i] for i in ids[:length]], of_row[:length]) for ids, length, of_row in rows]


def check_sequences(ids: Tensor, lengths: Tensor, size: int, max_length: int | None) -> None:
    """``ValueError`` for what is no batch of sequences of ids below ``size``, or has one longer than ``max_length``."""
    if ids.dim() != 2 or lengths.shape != ids.shape[:1] or ids.is_floating_point() or lengths.is_floating_point():
        raise ValueError(
            f"ids are {tuple(ids.shape)} {ids.dtype} and lengths {tuple(lengths.shape)} {lengths.dtype}; "
            "they are (B, T) and (B,), whole numbers"
        )
    if not len(ids):
        raise ValueError("an empty batch: give at least one sequence")
    shortest, longest, lowest, highest = torch.stack([*lengths.aminmax(), *ids.aminmax()]).tolist()
    if shortest < 1 or longest > ids.shape[1]:
        raise ValueError(f"lengths run from {shortest} to {longest}; ids (B, {ids.shape[1]}) allow 1 to {ids.shape[1]}")
    if max_length is not None and longest > max_length:
        raise ValueError(
            f"sequence {int(lengths.argmax())} has length {longest}; this encoder takes max_length={max_length}"
        )
    if lowest < 0 or highest >= size:
        raise ValueError(f"ids run from {lowest} to {highest}; this encoder knows 0 to {size - 1}")


def in_groups(encode: Callable[..., Tensor], ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
    """(B, n) by ``encode``, called for sequences of similar lengths with what a call of :class:`SequenceCore` takes."""
    groups = length_groups(lengths)
    found = []
    for rows, longest in groups:
        parts = [column[rows, :longest] for column in (ids, *more)]
        found.append(encode(parts[0], lengths[rows], *parts[1:]))
    return torch.cat(found)[torch.cat([rows for rows, _ in groups]).argsort()]


def length_groups(lengths: Tensor) -> list[tuple[Tensor, int]]:
    """Rows (b,) int64 of the sequences up to 1, 2, 4, 8, ... long, and the largest length of each group."""
    known = lengths.cpu()
    doublings = known.double().log2().ceil()
    groups = [torch.nonzero(doublings == d).squeeze(1) for d in doublings.unique().tolist()]
    return [(rows.to(lengths.device), int(known[rows].max())) for rows in groups]


def padding(ids: Tensor, lengths: Tensor) -> Tensor:
    """(B, T) bool, true behind the end of a sequence."""
    return torch.arange(ids.shape[1], device=ids.device) >= lengths.unsqueeze(1)


def check_present(x: Tensor, present: Tensor, input_size: int) -> None:
    """``ValueError`` for what is no batch of sequences of vectors (B, T, input_size) with a word each."""
    if x.dim() != 3 or x.shape[2] != input_size or present.shape != x.shape[:2] or present.dtype != torch.bool:
        raise ValueError(
            f"x is {tuple(x.shape)} and present {tuple(present.shape)} {present.dtype}; "
            f"they are (B, T, {input_size}) and (B, T) bool"
        )
    if not len(x):
        raise ValueError("an empty batch: give at least one sequence")
    empty = ~present.any(1)
    if empty.any():
        raise ValueError(f"sequence {int(empty.nonzero()[0])} is empty; each has at least one word")
