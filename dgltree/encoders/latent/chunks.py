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
    def of(cls, lengths: Tensor, chunk_size: int) -> "Chunks":
        """From the lengths (B,) of the sequences: chunks of ``chunk_size``, or one of fewer than 1.5 times as many."""
        sizes = lengths.masked_fill(2 * lengths >= 3 * chunk_size, chunk_size)
        counts = (lengths + sizes - 1) // sizes
        sequence = torch.arange(len(lengths), device=lengths.device).repeat_interleave(counts)
        number = torch.arange(len(sequence), device=lengths.device) - (counts.cumsum(0) - counts)[sequence]
        starts = number * sizes[sequence]
        return cls(counts, sequence, number, starts, sizes[sequence].minimum(lengths[sequence] - starts))


def joined_in_chunks(join: Callable[[Items], JoinResult], items: Items, chunk_size: int) -> JoinResult:
    """Join the chunks of every sequence, then what they became, level by level, until one state is left.

    The parse has the merges of the lowest level first; of beams, those of the best in each chunk. Losses are the sums
    over chunks.
    """
    rows, words = items.rows.shape
    order = items.rows.new_full((rows, words - 1), CLOSED)
    ends = torch.arange(words, device=order.device).expand(rows, -1)  # the last word of each item
    closed, losses = torch.zeros_like(items.lengths), dict[str, Tensor]()
    while True:
        cut = Chunks.of(items.lengths, chunk_size)
        at = cut.starts.unsqueeze(1) + torch.arange(int(cut.lengths.max()), device=order.device)
        at = at.clamp(max=items.rows.shape[1] - 1)
        of = cut.sequence.unsqueeze(1)
        found = join(Items(items.states, items.rows[of, at], cut.lengths))
        for name, loss in found.losses.items():
            before = losses.get(name, loss.new_zeros(rows))
            losses[name] = before.index_add(0, cut.sequence, loss)
        gaps = found.parse.order if isinstance(found.parse, Merges) else found.parse.orders[:, 0]
        first = closed[cut.sequence] + cut.starts - cut.number  # a chunk of k states has k - 1 merges
        there = gaps != CLOSED
        places = (first.unsqueeze(1) + torch.arange(gaps.shape[1], device=order.device))[there]
        order[of.expand_as(gaps)[there], places] = ends[of, at].gather(1, gaps.clamp(min=0))[there]
        closed = closed + items.lengths - cut.counts
        if len(cut.sequence) == rows:
            return JoinResult(found.state, Merges(order), losses)
        last = ends[cut.sequence, cut.starts + cut.lengths - 1]
        numbers = torch.arange(int(cut.counts.max()), device=order.device)
        above = ((cut.counts.cumsum(0) - cut.counts).unsqueeze(1) + numbers).clamp(max=len(last) - 1)
        items, ends = Items(found.state, above, cut.counts), last[above]
