"""Recursion in recursion: chunks hand all of their beams on to the next level, aligned with those of other chunks."""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from dgltree.encoders.latent.beams import FinalBeams, Starts
from dgltree.encoders.latent.joining_core import Items, Level, levels
from dgltree.induction.merges import CLOSED

HandedOn = Literal["drawn", "ranked", "random", "mean"]
HANDED_ON = get_args(HandedOn)
LEVELS = 2**8
"""More than there are, for a seed of each."""


Search = Callable[[Tensor, Starts, Tensor], FinalBeams]
"""A search over states (m, D), starts whose rows are those of the states, on the device of these, and lengths (C,)."""


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
        chunks = int(number.max()) + 1
        u = torch.rand(chunks, beams, dtype=torch.float64, generator=generator)
        return u.to(number.device)[number]


class SearchedLevel(NamedTuple):
    """A level of the recursion in recursion, of C chunks, once its beams have ended."""

    level: Level
    ended: FinalBeams
    kept: Tensor
    """(C, K) int64, the beams that chunks hand on."""


def join_beams(search: Search, items: Items, chunk_size: int, how: HandedOn, draws: Draws) -> FinalBeams:
    """The beams of whole sequences, (B, K) of them.

    A chunk begins with as many beams as its members have; their beams are paired by number, and their totals add up.
    S states are cut where S is at least k + ⌊k / 2⌋, as in the authors' program.
    """
    words = items.rows.shape[1]
    least = chunk_size + chunk_size // 2
    all_levels = levels(items.lengths, words, chunk_size, least)
    rows = items.rows.flatten()[all_levels[0].members]
    states = items.states
    starts = Starts.of(rows, states)
    history: list[SearchedLevel] = []
    for number, level in enumerate(all_levels):
        ended = search(states, starts, level.chunks.lengths)
        kept, alive = _aligned(ended, level, how, draws, number)
        history.append(SearchedLevel(level, ended, kept))
        if number + 1 < len(all_levels):
            states = ended.state.flatten(0, 1)
            starts = _next(ended, kept, alive, all_levels[number + 1])
    return ended._replace(orders=_whole(history, len(items.rows), words))


def _aligned(ended: FinalBeams, level: Level, how: HandedOn, draws: Draws, number: int) -> tuple[Tensor, Tensor]:
    """(C, K) int64, the beams that chunks hand on, and (C, K) bool, whether they are there.

    The chunks of a sequence hand on as many as that of them has that has the most. One that has fewer repeats them;
    if they are drawn, with replacement, the first is always the first.
    """
    chunks = level.chunks
    beams = ended.total.shape[1]
    index = torch.arange(beams, device=ended.total.device).expand_as(ended.total)
    present = ended.alive.sum(1)
    most = torch.zeros_like(chunks.counts).scatter_reduce(0, chunks.sequence, present, "amax")
    alive = index < most[chunks.sequence].unsqueeze(1)
    present = present.unsqueeze(1)
    if how == "ranked":
        return index % present, alive
    weights = ended.weights.detach().double() if how == "drawn" else ended.alive / present
    u = draws.of(number, chunks.number, beams)
    sums = weights.cumsum(1)
    drawn = (sums.unsqueeze(1) <= u.unsqueeze(2)).sum(2).minimum(present - 1)
    is_alone = chunks.counts[chunks.sequence] == 1
    stays = (index == 0) | is_alone.unsqueeze(1)
    return index.where(stays, drawn), alive


def _next(ended: FinalBeams, kept: Tensor, alive: Tensor, above: Level) -> Starts:
    """The starts of the level above, from the beams (C, K) that the chunks below hand on."""
    chunks, beams = kept.shape
    first_row = torch.arange(chunks, device=kept.device) * beams
    rows = first_row.unsqueeze(1) + kept
    members = above.members
    total = ended.total.gather(1, kept)[members]
    total = total.masked_fill(~above.inside.unsqueeze(2), 0).sum(1)
    return Starts(rows[members].transpose(1, 2), total, alive[members[:, 0]])


def _whole(history: list[SearchedLevel], rows: int, words: int) -> Tensor:
    """(B, K, T - 1), the merges of each beam of whole sequences, read from the last level down."""
    last = history[-1]
    beams = last.kept.shape[1]
    beam = torch.arange(beams, device=last.kept.device).expand(rows, -1)
    order = beam.new_full((rows, beams, words - 1), CLOSED)
    for k in reversed(range(len(history))):
        level = history[k].level
        ended = history[k].ended
        wide = beam.unsqueeze(2).expand(-1, -1, ended.orders.shape[2])
        level.write(order, ended.orders.gather(1, wide))
        if k:
            inside = level.inside
            chunk, _ = inside.nonzero(as_tuple=True)
            below = level.members[inside]
            parent = torch.empty_like(below).scatter(0, below, chunk)
            start = ended.start.gather(1, beam)
            beam = history[k - 1].kept.gather(1, start[parent])
    return order.masked_fill(~last.ended.alive.unsqueeze(2), CLOSED)
