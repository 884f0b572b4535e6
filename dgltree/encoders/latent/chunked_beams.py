"""Recursion in recursion: chunks hand all of their beams on to the next level, aligned with those of other chunks."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from dgltree.encoders.latent.beams import Starts
from dgltree.encoders.latent.chunks import Items, Level, levels
from dgltree.induction.merges import CLOSED

HandedOn = Literal["drawn", "ranked", "random", "mean"]
HANDED_ON = get_args(HandedOn)
LEVELS = 2**8
"""More than there are, for a seed of each."""


class Ended(NamedTuple):
    """K beams of each of C sequences at their end, those that are there first."""

    state: Tensor
    """(C, K, D)"""
    total: Tensor
    """(C, K)"""
    alive: Tensor
    """(C, K) bool"""
    orders: Tensor
    """(C, K, S - 1) int64, the merges of each."""
    start: Tensor
    """(C, K) int64, which of the starts each comes from."""

    @property
    def weights(self) -> Tensor:
        """(C, K), the softmax of ``total``; 0 of beams that are not there."""
        return self.total.masked_fill(~self.alive, -math.inf).softmax(1)


Search = Callable[[Tensor, Starts, Tensor], Ended]
"""Of states (m, D), starts whose rows are those of the states, on the device of these, and lengths (C,)."""


class Draws:
    """Numbers from 0 to below 1 that beams are drawn by.

    Args:
        seed: in evaluation they follow from it, the level and the number of a chunk in its sequence alone, so that an
            answer can be repeated and depends on no other sequence; None, in training: torch's generator draws them.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = seed

    def of(self, level: int, number: Tensor, beams: int) -> Tensor:
        """(C, K) float64 for chunks of these numbers (C,) in their sequences."""
        if self.seed is None:
            return torch.rand(len(number), beams, dtype=torch.float64, device=number.device)
        generator = torch.Generator().manual_seed(self.seed * LEVELS + level)
        table = torch.rand(int(number.max()) + 1, beams, dtype=torch.float64, generator=generator)
        return table.to(number.device)[number]


def join_beams(search: Search, items: Items, chunk_size: int, how: HandedOn, draws: Draws) -> Ended:
    """The beams of whole sequences, (B, K) of them.

    A chunk begins with as many beams as its members have; their beams are paired by number, and their totals add up.
    S states are cut where S is at least k + ⌊k / 2⌋, as in the authors' program.
    """
    rows, words = items.rows.shape
    every, history = levels(items.lengths, words, chunk_size, chunk_size + chunk_size // 2), []
    states, start = items.states, Starts.of(items.rows.flatten()[every[0].members], items.states)
    for number, level in enumerate(every):
        ended = search(states, start, level.chunks.lengths)
        kept, alive = _aligned(ended, level, how, draws, number)
        history.append((level, ended, kept))
        if number + 1 < len(every):
            states = ended.state.flatten(0, 1)
            start = _next(ended, kept, alive, every[number + 1])
    return ended._replace(orders=_whole(history, (rows, words)))


def _aligned(ended: Ended, level: Level, how: HandedOn, draws: Draws, number: int) -> tuple[Tensor, Tensor]:
    """(C, K) int64, the beams that chunks hand on, and (C, K) bool, whether they are there.

    The chunks of a sequence hand on as many as that of them has that has the most. One that has fewer repeats them;
    if they are drawn, with replacement, the first is always the first.
    """
    chunks, (count, beams) = level.chunks, ended.total.shape
    there, places = ended.alive.sum(1), torch.arange(beams, device=ended.total.device).expand(count, -1)
    most = torch.zeros_like(chunks.counts).scatter_reduce(0, chunks.sequence, there, "amax")[chunks.sequence]
    alive, there = places < most.unsqueeze(1), there.unsqueeze(1)
    if how == "ranked":
        return places % there, alive
    weights = ended.weights.detach().double() if how == "drawn" else ended.alive / there
    u = draws.of(number, chunks.number, beams)
    drawn = (weights.cumsum(1).unsqueeze(1) <= u.unsqueeze(2)).sum(2).minimum(there - 1)
    stays = (places == 0) | (chunks.counts[chunks.sequence] == 1).unsqueeze(1)
    return places.where(stays, drawn), alive


def _next(ended: Ended, kept: Tensor, alive: Tensor, above: Level) -> Starts:
    """The starts of the level above, from the beams (C, K) that the chunks below hand on."""
    count, beams = kept.shape
    rows = torch.arange(count, device=kept.device).unsqueeze(1) * beams + kept
    members = above.members
    inside = torch.arange(members.shape[1], device=members.device) < above.chunks.lengths.unsqueeze(1)
    total = ended.total.gather(1, kept)[members].masked_fill(~inside.unsqueeze(2), 0).sum(1)
    return Starts(rows[members].transpose(1, 2), total, alive[members[:, 0]])


def _whole(history: list[tuple[Level, Ended, Tensor]], shape: tuple[int, int]) -> Tensor:
    """(B, K, T - 1), the merges of each beam of whole sequences, read from the last level down."""
    (rows, words), beams = shape, history[-1][2].shape[1]
    beam = torch.arange(beams, device=history[-1][2].device).expand(rows, -1)
    order = beam.new_full((rows, beams, words - 1), CLOSED)
    for k in reversed(range(len(history))):
        level, ended, _ = history[k]
        level.write(order, ended.orders.gather(1, beam.unsqueeze(2).expand(-1, -1, ended.orders.shape[2])))
        if k:
            inside = torch.arange(level.members.shape[1], device=order.device) < level.chunks.lengths.unsqueeze(1)
            chunk, _ = inside.nonzero(as_tuple=True)
            below = level.members[inside]
            parent = torch.empty_like(below).scatter(0, below, chunk)
            beam = history[k - 1][2].gather(1, ended.start.gather(1, beam)[parent])
    return order.masked_fill(~history[-1][1].alive.unsqueeze(2), CLOSED)
