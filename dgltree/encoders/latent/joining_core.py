"""Base of the networks that join neighbours until one is left."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltree.cells.compose import composition_named
from dgltree.encoders.encoder import Beams, Encoded, Merges
from dgltree.encoders.sequence.core import InducingCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.induction.merges import CLOSED
from dgltree.support.arguments import check_dropout, check_size

# ---------------------------------------------------------------------------------------------------------------------
# Inputs and results of joining, and the recursion in which chunks are joined first and then what they became.


class Items(NamedTuple):
    """States of B sequences, by their rows in a table."""

    states: Tensor
    """(m, D)"""
    rows: Tensor
    """(B, S) int64, of no meaning after a length."""
    lengths: Tensor
    """(B,) int64, 1 to S."""

    @classmethod
    def of_places(cls, states: Tensor, lengths: Tensor) -> "Items":
        """States (B, S, D) that have a row for each place, from lengths (B,)."""
        rows = torch.arange(states.shape[0] * states.shape[1], device=states.device)
        return cls(states.flatten(0, 1), rows.view(states.shape[:2]), lengths)


class JoinResult(NamedTuple):
    """The results of B sequences of states."""

    state: Tensor
    """(B, D)"""
    parse: Merges | Beams
    """The merges over the S - 1 gaps between states."""
    losses: Mapping[str, Tensor] = {}
    """The losses of :class:`dgltree.encoders.encoder.Encoded`."""
    trace: Mapping[str, Tensor] = {}


class Chunks(NamedTuple):
    """How B sequences are cut into C chunks."""

    counts: Tensor
    """(B,) int64, chunks of each sequence."""
    sequence: Tensor
    """(C,) int64, the sequence of each chunk, in order."""
    number: Tensor
    """(C,) int64, which of its sequence's it is."""
    starts: Tensor
    """(C,) int64"""
    lengths: Tensor
    """(C,) int64"""

    @classmethod
    def of(cls, lengths: Tensor, chunk_size: int, least: int) -> "Chunks":
        """The chunks of sequences of lengths (B,): of ``chunk_size`` states each, or one of fewer than ``least``."""
        sizes = lengths.masked_fill(lengths >= least, chunk_size)
        counts = (lengths + sizes - 1) // sizes
        sequence = torch.arange(len(lengths), device=lengths.device).repeat_interleave(counts)
        first_chunk = counts.cumsum(0) - counts
        number = torch.arange(len(sequence), device=lengths.device) - first_chunk[sequence]
        sizes = sizes[sequence]
        starts = number * sizes
        left = lengths[sequence] - starts
        return cls(counts=counts, sequence=sequence, number=number, starts=starts, lengths=sizes.minimum(left))


class Level(NamedTuple):
    """A level of the recursion: what is cut into chunks of up to k members, and which merges these are."""

    chunks: Chunks
    members: Tensor
    """(C, k) int64, of no meaning after a length: numbers of the chunks of the level below; at the lowest, b T + t for
    word t of sequence b."""
    ends: Tensor
    """(C, k) int64, the last word of each member."""
    first: Tensor
    """(C,) int64, which merge of its sequence the first of a chunk is: those of lower levels come before."""

    def write(self, order: Tensor, gaps: Tensor) -> None:
        """Into merges of whole sequences, (B, ..., T - 1), those of chunks: gaps between members (C, ..., k - 1)."""
        is_merge = gaps != CLOSED
        chunk, *beam, step = is_merge.nonzero(as_tuple=True)
        sequence = self.chunks.sequence[chunk]
        order[(sequence, *beam, self.first[chunk] + step)] = self.ends[chunk, gaps[is_merge]]

    @property
    def inside(self) -> Tensor:
        """(C, k) bool, which members there are."""
        index = torch.arange(self.members.shape[1], device=self.members.device)
        return index < self.chunks.lengths.unsqueeze(1)


def levels(lengths: Tensor, words: int, chunk_size: int, least: int) -> list[Level]:
    """Levels of sequences of these lengths (B,) up to ``words``, the lowest first; at the last each is one chunk."""
    device = lengths.device
    numbers = torch.arange(len(lengths) * words, device=device).view(-1, words)  # (B, S), of each sequence's members
    ends = numbers % words  # (B, S), the last word of each member
    closed = torch.zeros_like(lengths)  # merges of lower levels
    made: list[Level] = []
    while True:
        chunks = Chunks.of(lengths, chunk_size, least)
        within = torch.arange(int(chunks.lengths.max()), device=device)
        member = chunks.starts.unsqueeze(1) + within
        member = member.clamp(max=ends.shape[1] - 1)
        sequence = chunks.sequence.unsqueeze(1)
        first = closed[chunks.sequence] + chunks.starts - chunks.number  # a chunk of k states has k - 1 merges
        made.append(Level(chunks, numbers[sequence, member], ends[sequence, member], first))
        if len(chunks.sequence) == len(lengths):
            return made
        closed = closed + lengths - chunks.counts
        last_member = chunks.starts + chunks.lengths - 1
        last_word = ends[chunks.sequence, last_member]  # (C,)
        within = torch.arange(int(chunks.counts.max()), device=device)
        first_chunk = chunks.counts.cumsum(0) - chunks.counts
        numbers = (first_chunk.unsqueeze(1) + within).clamp(max=len(last_word) - 1)
        ends = last_word[numbers]
        lengths = chunks.counts


def join_chunks(join: Callable[[Items], JoinResult], items: Items, chunk_size: int) -> JoinResult:
    """Join the chunks of every sequence, then what they became, level by level, until one state is left. Fewer than 1.5
    times ``chunk_size`` are one chunk.

    The parse has the merges of the lowest level first; of beams, those of the best in each chunk. Losses are the sums
    over chunks.
    """
    sequences, words = items.rows.shape
    order = items.rows.new_full((sequences, words - 1), CLOSED)
    losses: dict[str, Tensor] = {}
    states = items.states
    rows = items.rows.flatten()
    least = (3 * chunk_size + 1) // 2
    for level in levels(items.lengths, words, chunk_size, least):
        joined = join(Items(states, rows[level.members], level.chunks.lengths))
        for name, loss in joined.losses.items():
            before = losses.get(name, loss.new_zeros(sequences))
            losses[name] = before.index_add(0, level.chunks.sequence, loss)
        parse = joined.parse
        merges = parse.order if isinstance(parse, Merges) else parse.orders[:, 0]
        level.write(order, merges)
        states = joined.state
        rows = torch.arange(len(states), device=order.device)
    return JoinResult(states, Merges(order), losses)


class JoiningCore(InducingCore):
    r"""Leaves and a composition of two states: :math:`h_t = LN(W_0 \, drop(x_t) + b_0)`, without LN for a cell that has
    none; a subclass says how neighbours are joined until one is left.

    With ``chunk_size`` k it does so in levels (recursion in recursion, Ray Chowdhury & Caragea 2023, arXiv 2311.04449).
    While there are 1.5 k states or more they are cut into chunks of k, each of which is joined by itself to one state
    of the next level, or to beams that the subclass hands on; fewer than 1.5 k are one chunk. A sequence so takes a
    number of steps that grows with the logarithm of its length.

    Args:
        size: the number of ids.
        hidden_size: n.
        own: the subclass's options, for ``config``.
        cell: whose equations join two states: "grc", "tree_cell", "tree_rnn" or "tree_lstm".
        embedding_size: of the ids; None: n.
        dropout: probability, in training only, on the embeddings.
        cell_dropout: probability, in training only, inside the cell; one mask for each node.
        chunk_size: k, 2 or more; None: all states at once.
        chunks_in_evaluation: whether there are chunks in evaluation, too; the published program has both.
        max_length: of a sequence; None: any.

    Raises ``ValueError`` for a size below 1, a chunk size below 2, a dropout outside of 0 to below 1, and another cell.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        own: dict[str, Any],
        *,
        cell: str = "grc",
        embedding_size: int | None = None,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        chunk_size: int | None = None,
        chunks_in_evaluation: bool = True,
        max_length: int | None = None,
    ) -> None:
        shared = {"embedding_size": embedding_size, "dropout": dropout, "cell_dropout": cell_dropout}
        chunks = {"chunk_size": chunk_size, "chunks_in_evaluation": chunks_in_evaluation}
        super().__init__(size, max_length, hidden_size=hidden_size, cell=cell, **shared, **chunks, **own)
        check_size("hidden_size", hidden_size)
        self.width = hidden_size if embedding_size is None else embedding_size
        check_size("embedding_size", self.width)
        for p in (dropout, cell_dropout):
            check_dropout(p)
        if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 2):
            raise ValueError(f"chunk_size is {chunk_size!r}; it must be a whole number, 2 or more, or None")
        self.chunk_size = chunk_size
        self.chunks_in_evaluation = chunks_in_evaluation
        self.embedding = nn.Embedding(size, self.width, padding_idx=PADDING)
        self.dropout = nn.Dropout(dropout)
        self.cell = composition_named(cell)(hidden_size, cell_dropout)
        self.leaf: nn.Module = nn.Linear(self.width, self.cell.state_size)
        self.norm: nn.Module = nn.LayerNorm(hidden_size) if self.cell.normed else nn.Identity()
        self.leaf_norm = nn.LayerNorm(hidden_size) if self.cell.normed else None
        self.drops = bool(dropout or cell_dropout)

    @abstractmethod
    def join(self, items: Items) -> JoinResult:
        """One state of each sequence of states."""

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """There is no trace of what was joined in chunks, but of beams that are handed on."""
        items = self.items(ids, lengths)
        if self.chunk_size is not None and (self.training or self.chunks_in_evaluation):
            joined = self.in_chunks(items, self.chunk_size)
        else:
            joined = self.join(items)
        kept = None
        if trace and joined.trace:
            kept = joined.trace
        return Encoded(self.cell.h(joined.state), joined.parse, joined.losses, kept)

    def in_chunks(self, items: Items, chunk_size: int) -> JoinResult:
        """One state of each sequence, joined in levels of chunks, each of which hands on one state."""
        return join_chunks(self.join, items, chunk_size)

    def leaves(self, x: Tensor) -> Tensor:
        """(..., D) of embeddings (..., width) that the dropout has acted on; in their dtype under autocast, too."""
        norm = self.leaf_norm or self.norm
        h = norm(self.leaf(x))
        return h.to(x.dtype)

    def words(self, ids: Tensor) -> Tensor:
        """(..., D) of ids (...)."""
        x = self.dropout(self.embedding(ids))
        return self.leaves(x)

    def items(self, ids: Tensor, lengths: Tensor) -> Items:
        """The words of ids (B, T): one row for equal words, unless their dropout differs."""
        is_word = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        if self.training and self.drops:
            places = is_word.flatten().nonzero().squeeze(1)
            rows = torch.zeros_like(ids).flatten()
            rows[places] = torch.arange(len(places), device=ids.device)
            states = self.words(ids.flatten()[places])
            return Items(states, rows.view(ids.shape), lengths)
        distinct, rows = ids.masked_fill(~is_word, PADDING).unique(return_inverse=True)
        return Items(self.words(distinct), rows, lengths)


def sort_on_cpu(rows: Tensor, lengths: Tensor) -> tuple[Tensor, list[int], Tensor]:
    """Rows (B, ...) int64 and lengths (B,) of sequences, the longest first, on the CPU; and that order (B,).

    A GPU is waited for once.
    """
    table = torch.cat([lengths.unsqueeze(1), rows.flatten(1)], 1).cpu()
    order = longest_first(table[:, 0])
    table = table[order]
    falling = table[:, 0].tolist()
    return table[:, 1:].reshape(rows.shape), falling, order


def longest_first(lengths: Tensor) -> Tensor:
    """(B,) int64, the sequences in the order of falling lengths."""
    return lengths.argsort(descending=True, stable=True)
