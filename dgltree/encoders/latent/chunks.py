"""Inputs and results of joining, and the recursion in which chunks are joined first and then what they became."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.encoders.encoded import Beams, Merges
from dgltree.induction.merges import CLOSED


class Items(NamedTuple):
    """States of B sequences, by their rows in a table."""

    states: Tensor
    """(m, D)"""
    rows: Tensor
    """(B, S) int64, of no meaning after a length."""
    lengths: Tensor
    """(B,) int64, 1 to S."""


class JoinResult(NamedTuple):
    """The results of B sequences of states."""

    state: Tensor
    """(B, D)"""
    parse: Merges | Beams
    """Of S - 1 gaps between states."""
    losses: Mapping[str, Tensor] = {}
    """As of :class:`dgltree.encoders.encoded.Encoded`."""
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
        """From the lengths (B,) of the sequences: chunks of ``chunk_size``, or one of fewer than ``least``."""
        sizes = lengths.masked_fill(lengths >= least, chunk_size)
        counts = (lengths + sizes - 1) // sizes
        sequence = torch.arange(len(lengths), device=lengths.device).repeat_interleave(counts)
        number = torch.arange(len(sequence), device=lengths.device) - (counts.cumsum(0) - counts)[sequence]
        starts = number * sizes[sequence]
        return cls(counts, sequence, number, starts, sizes[sequence].minimum(lengths[sequence] - starts))


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
        there = gaps != CLOSED
        chunk, *beam, place = there.nonzero(as_tuple=True)
        closed = self.ends[chunk, gaps[there]]
        order[(self.chunks.sequence[chunk], *beam, self.first[chunk] + place)] = closed


def levels(lengths: Tensor, words: int, chunk_size: int, least: int) -> list[Level]:
    """Levels of sequences of these lengths (B,) up to ``words``, the lowest first; at the last each is one chunk."""
    numbers = torch.arange(len(lengths) * words, device=lengths.device).view(-1, words)
    ends, closed, found = numbers % words, torch.zeros_like(lengths), list[Level]()
    while True:
        cut = Chunks.of(lengths, chunk_size, least)
        at = cut.starts.unsqueeze(1) + torch.arange(int(cut.lengths.max()), device=lengths.device)
        of, at = cut.sequence.unsqueeze(1), at.clamp(max=ends.shape[1] - 1)
        first = closed[cut.sequence] + cut.starts - cut.number  # a chunk of k states has k - 1 merges
        found.append(Level(cut, numbers[of, at], ends[of, at], first))
        if len(cut.sequence) == len(lengths):
            return found
        closed = closed + lengths - cut.counts
        last = ends[cut.sequence, cut.starts + cut.lengths - 1]
        each = torch.arange(int(cut.counts.max()), device=lengths.device)
        numbers = ((cut.counts.cumsum(0) - cut.counts).unsqueeze(1) + each).clamp(max=len(last) - 1)
        lengths, ends = cut.counts, last[numbers]


def join_chunks(join: Callable[[Items], JoinResult], items: Items, chunk_size: int) -> JoinResult:
    """Join the chunks of every sequence, then what they became, level by level, until one state is left. Fewer than 1.5
    times ``chunk_size`` are one chunk.

    The parse has the merges of the lowest level first; of beams, those of the best in each chunk. Losses are the sums
    over chunks.
    """
    rows, words = items.rows.shape
    order, losses = items.rows.new_full((rows, words - 1), CLOSED), dict[str, Tensor]()
    states, below = items.states, items.rows.flatten()
    for level in levels(items.lengths, words, chunk_size, (3 * chunk_size + 1) // 2):
        found = join(Items(states, below[level.members], level.chunks.lengths))
        for name, loss in found.losses.items():
            before = losses.get(name, loss.new_zeros(rows))
            losses[name] = before.index_add(0, level.chunks.sequence, loss)
        level.write(order, found.parse.order if isinstance(found.parse, Merges) else found.parse.orders[:, 0])
        states, below = found.state, torch.arange(len(found.state), device=order.device)
    return JoinResult(states, Merges(order), losses)
