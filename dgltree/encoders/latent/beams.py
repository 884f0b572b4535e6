"""Beams of easy-first trees as numbers: a step joins two neighbours in each beam, and only what this changes is
computed.

A selection that carries no gradient changes two pairs of neighbours, so a beam of T words needs 3 T compositions and
not T²/2, with the same numbers and gradients. A beam is an array of row numbers
(:class:`dgltree.encoders.latent.nodes.Nodes`): nothing is copied, and beams that come to one node by different ways
share its row. With dropout they share its mask, too, where the published programs draw one for every beam and step.

Those arrays are on the CPU. A step computes on the model's device what is chosen, and a GPU is waited for once a step,
for the numbers of what was.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn.functional import pad

from dgltree.encoders.latent.choice import LOG_EPSILON, gumbel, leftmost_best, log_probabilities, shrink, tolerance
from dgltree.encoders.latent.joining_core import Items, Level, levels
from dgltree.encoders.latent.nodes import Nodes, Table, TableRows
from dgltree.engine.autograd import once_differentiable
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.engine.kernels.kernel import are_taken
from dgltree.induction.merges import CLOSED
from dgltree.support.torch_internals import inside_transform

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_beams import BeamKernel

# ---------------------------------------------------------------------------------------------------------------------
# A step of a search by beams by kernels: what is chosen, with gradients by hand, and the beams after it.
#
# In torch a step is some sixty short operations on small arrays, which take longer than the products of the cell.


class Choice(NamedTuple):
    """The K proposals of each of b sequences that become the next beams; on the CPU."""

    at: Tensor
    """(b, K) int64, the place of the pair that each joins."""
    parent: Tensor
    """(b, K) int64, the number of the beam that it is in."""
    alive: Tensor
    """(b, K) bool"""


def beam_kernel(scores: Table) -> "type[BeamKernel] | None":
    """The kernel that chooses among scores; None where torch's operations do: a GPU, half precision, transforms."""
    if not are_taken([scores.buffer]) or inside_transform():
        return None
    return step_kernel("beams", (), scores.buffer, backward=torch.is_grad_enabled())


def choose(
    kernel: "type[BeamKernel]",
    scores: Table,
    pairs: Tensor,
    candidates: Tensor,
    total: Tensor,
    usable: Tensor,
    count: int,
    noise: bool,
) -> tuple[Choice, Tensor]:
    """The best ``count`` joins of beams (b, K'), and their totals (b, K); with the noise of torch's operations."""
    beams, size = pairs.shape[1:]
    each = min(count, size)
    noises = total.new_empty(0, 0, 0), total.new_empty(0, 0)
    if noise:
        noises = gumbel(total.new_empty(pairs.shape)), gumbel(total.new_empty(len(pairs), beams * each))
    given = pairs.contiguous(), candidates, usable, noises, min(count, beams * each)
    new_total, *chosen = _Choose.apply(kernel, scores.order, total.contiguous(), scores.rows, *given)
    return Choice(*chosen), new_total


class _Choose(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernel: "type[BeamKernel]",
        order: Tensor,
        total: Tensor,
        scores: TableRows,
        pairs: Tensor,
        candidates: Tensor,
        usable: Tensor,
        noise: tuple[Tensor, Tensor],
        count: int,
    ) -> tuple[Tensor, ...]:
        shape = len(pairs), count
        at, parent = (pairs.new_empty(shape) for _ in range(2))
        alive, new_total = usable.new_empty(shape), total.new_empty(shape)
        beams = pairs, candidates, total, usable.contiguous()
        kernel.choose(tolerance(total.dtype), LOG_EPSILON, scores.buffer, beams, noise, (at, parent, alive, new_total))
        ctx.save_for_backward(order, total)
        ctx.mark_non_differentiable(at, parent, alive)
        ctx.kernel, ctx.scores, ctx.chosen = kernel, scores, (pairs, candidates, at, parent, alive)
        return new_total, at, parent, alive

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_total: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        _, total = ctx.saved_tensors
        d_before = torch.zeros_like(total)
        buffer, gradient = ctx.scores.buffer, ctx.scores.gradients()
        ctx.kernel.choose_back(LOG_EPSILON, buffer, *ctx.chosen, d_total.contiguous(), gradient, d_before)
        return None, d_total.new_zeros(()), d_before, *[None] * 6


class OpenBeams(NamedTuple):
    """K beams of each of b sequences, of S nodes at most."""

    rows: Tensor
    """(b, K, S) int64, the nodes."""
    pairs: Tensor
    """(b, K, S - 1) int64, the pairs of neighbours."""
    gaps: Tensor
    """(b, K, S - 1) int64, the gap between the words of the two."""
    total: Tensor
    """(b, K), the summed log probabilities of what was joined; on the model's device."""
    usable: Tensor
    """(b, K) bool, on the model's device: what a beam that is not holds has no meaning."""
    alive: Tensor
    """The same on the CPU."""

    def first(self, count: int) -> "OpenBeams":
        """Of the first sequences."""
        return self if count == len(self.rows) else OpenBeams(*(part[:count] for part in self))


class Starts(NamedTuple):
    """The beams that a search of B sequences begins with, K' of each."""

    rows: Tensor
    """(B, K', T) int64, the nodes, of no meaning after a length; on the CPU."""
    total: Tensor
    """(B, K'), the sum of the logarithms so far; on the model's device."""
    alive: Tensor
    """(B, K') bool, on the CPU."""

    @classmethod
    def of(cls, rows: Tensor, like: Tensor) -> "Starts":
        """One beam each, of nodes (B, T), with totals of 0 of a dtype and on a device."""
        return cls(rows.unsqueeze(1), like.new_zeros(len(rows), 1), torch.ones(len(rows), 1, dtype=torch.bool))


class Proposals(NamedTuple):
    """Candidates for the next step of the beams of b sequences: k joins each, P in all. On the model's device."""

    at: Tensor
    """(b, P) int64, the place of the pair in its beam."""
    beam: Tensor
    """(b, P) int64"""
    total: Tensor
    """(b, P), as of the beam that would be."""
    usable: Tensor
    """(b, P) bool"""
    ranked: Tensor
    """(b, P), by which they are kept, -inf of what is not usable."""


class Found(NamedTuple):
    """The beams of B sequences of up to T words at their end."""

    rows: Tensor
    """(B, K) int64, the root of each; on the CPU."""
    total: Tensor
    """(B, K)"""
    alive: Tensor
    """(B, K) bool"""
    orders: Tensor
    """(B, K, T - 1) int64, the merges of each, as of :func:`dgltree.induction.merges.build_nodes`."""
    start: Tensor
    """(B, K) int64, which of the starts each comes from; on the CPU."""


def search(
    nodes: Nodes, starts: Starts, lengths: list[int], beam_size: int, *, noise: bool = False, soft: bool = False
) -> Found:
    """Join neighbours until one is left of each sequence.

    Of the beams found, the first is the best of the last choice; if there was none, they are in the order of the
    starts.

    Args:
        nodes: of all sequences.
        starts: of the sequences, at most K of each.
        lengths: of the sequences, which never rise.
        beam_size: K.
        noise: whether Gumbel noise chooses the proposals and, without ``soft``, the beams; it never enters ``total``.
        soft: whether all proposals but the K - 1 best become one beam (OneSoft, arXiv 2305.19999).
    """
    longest, known = lengths[0], torch.tensor(lengths)
    there = known.to(nodes.states.buffer.device, non_blocking=True)
    beams = _begin(nodes, starts, known)
    ended, history = [], []
    for t in range(longest - 1):
        count = sum(length > t + 1 for length in lengths)
        ended.append(_ended(beams, count, beam_size))
        candidates = known[:count] - 1 - t, there[:count] - 1 - t
        beams, parent, gap = _step(nodes, beams.first(count), candidates, beam_size, noise, soft)
        history.append((parent, gap))
    ended.append(_ended(beams, 0, beam_size))
    roots, total, usable, alive = (torch.cat(part[::-1]) for part in zip(*ended, strict=True))
    orders, start = _orders(history, alive)
    orders = pad(orders, (0, starts.rows.shape[2] - longest), value=CLOSED)
    return Found(roots, total, usable, orders.to(total.device, non_blocking=True), start)


def _begin(nodes: Nodes, starts: Starts, lengths: Tensor) -> OpenBeams:
    rows = starts.rows[:, :, : int(lengths[0])]
    gaps = torch.arange(rows.shape[2] - 1).expand(*rows.shape[:2], -1)
    there = (gaps < lengths.view(-1, 1, 1) - 1) & starts.alive.unsqueeze(2)
    pairs = torch.zeros_like(gaps)
    pairs[there] = nodes.pairs(rows[:, :, :-1][there], rows[:, :, 1:][there])
    usable = starts.alive.to(starts.total.device, non_blocking=True)
    return OpenBeams(rows, pairs, gaps, starts.total, usable, starts.alive)


def _ended(beams: OpenBeams, count: int, beam_size: int) -> tuple[Tensor, ...]:
    """Roots, totals and whether there is a beam (twice), (b, K) each, of all but the first sequences."""
    more = (0, beam_size - beams.total.shape[1])
    return tuple(pad(part[count:], more) for part in (beams.rows[:, :, 0], *beams[3:]))


def _step(
    nodes: Nodes, beams: OpenBeams, candidates: tuple[Tensor, Tensor], beam_size: int, noise: bool, soft: bool
) -> tuple[OpenBeams, Tensor, Tensor]:
    """The next beams, the number of the one that each comes from, and the gap that it closed, (b, K) both.

    Args:
        candidates: (b,) how many pairs a beam of each sequence has, 1 at least; on the CPU and on the model's device.
        nodes, beams, beam_size, noise, soft: as of :func:`search`.
    """
    known, there = candidates
    kernel = None if soft else beam_kernel(nodes.scores)
    if kernel is not None:
        of = beams.pairs, known, beams.total, beams.usable
        choice, total = choose(kernel, nodes.scores, *of, beam_size, noise)
        joined, gap = _joined(nodes, beams, choice, (total, choice.alive), known)
        return joined, choice.parent, gap
    proposals = _proposed(nodes, beams, there, beam_size, noise, soft)
    keep = leftmost_best(proposals.ranked, min(beam_size, proposals.ranked.shape[1]))
    rest = proposals.usable.scatter(1, keep[:, :-1], False) if soft else proposals.usable  # all but the K - 1 best
    chosen, mixes = _chosen(proposals, keep, rest)
    kept = proposals.total.gather(1, keep), proposals.usable.gather(1, keep)
    if not soft or keep.shape[1] < beam_size:
        joined, gap = _joined(nodes, beams, chosen, kept, known)
        return joined, chosen.parent, gap
    hard = chosen._replace(alive=chosen.alive & (torch.arange(beam_size) < beam_size - 1))
    joined, gap = _joined(nodes, beams, hard, kept, known)
    mixed = _mixed(nodes, beams, proposals, rest, mixes, known)
    return _with_last(joined, *mixed), chosen.parent, gap


def _chosen(proposals: Proposals, keep: Tensor, rest: Tensor) -> tuple[Choice, Tensor]:
    """The choice of ``keep`` (b, K), and whether there is anything of ``rest`` (b, P), read from the device at once."""
    parts = [part.gather(1, keep).long() for part in (proposals.at, proposals.beam, proposals.usable)]
    at, parent, alive, mixed = (
        torch.cat([*parts, rest.any(1, keepdim=True).long()], 1).cpu().split([keep.shape[1]] * 3 + [1], 1)
    )
    return Choice(at, parent, alive.bool()), mixed.squeeze(1).bool()


def _proposed(nodes: Nodes, beams: OpenBeams, candidates: Tensor, beam_size: int, noise: bool, soft: bool) -> Proposals:
    """The best joins of each beam. In OneSoft the totals are sorted without noise, as in the authors' program."""
    size = beams.pairs.shape[2]
    there = (torch.arange(size, device=candidates.device) < candidates.unsqueeze(1)).unsqueeze(1)
    scores, each = nodes.scores.read(beams.pairs).squeeze(3), min(beam_size, size)
    noisy = scores + gumbel(scores) if noise else scores
    at = leftmost_best(noisy.masked_fill(~there, -math.inf), each)
    usable = (there.expand_as(scores).gather(2, at) & beams.usable.unsqueeze(2)).flatten(1)
    total = (beams.total.unsqueeze(2) + log_probabilities(scores, there).gather(2, at)).flatten(1)
    ranked = total + gumbel(total) if noise and not soft else total
    beam = torch.arange(at.shape[1], device=at.device).repeat_interleave(each).expand(len(at), -1)
    chosen = (candidates > 1).unsqueeze(1)  # the last join is not a choice: beams stay as they are
    ranked = ranked.where(chosen, -beam.to(total.dtype)).masked_fill(~usable, -math.inf)
    return Proposals(at.flatten(1), beam, total, usable, ranked)


def _joined(
    nodes: Nodes, beams: OpenBeams, chosen: Choice, kept: tuple[Tensor, Tensor], candidates: Tensor
) -> tuple[OpenBeams, Tensor]:
    """The beams after a join each, two of whose pairs are new, and the gaps (b, K) that are closed.

    Args:
        nodes, beams: as of :func:`search`, before.
        chosen: what becomes of them.
        kept: totals and which are usable, (b, K), on the model's device.
        candidates: (b,) how many pairs a beam of each sequence has; on the CPU.
    """
    at, parent, alive = chosen
    if nodes.joins:
        joined = nodes.join(beams[:3], (*chosen, candidates))
        return OpenBeams(joined.rows, joined.pairs, joined.gaps, *kept, alive), joined.closed
    of = parent.unsqueeze(2)
    rows, pairs, gaps = (part.gather(1, of.expand(-1, -1, part.shape[2])) for part in beams[:3])
    gap = gaps.gather(2, at.unsqueeze(2)).squeeze(2)
    pair = pairs.gather(2, at.unsqueeze(2)).squeeze(2)
    node = torch.zeros_like(pair)
    node[alive] = nodes.built(pair[alive])
    rows = shrink(rows, at, node)
    size = pairs.shape[2]
    if size == 1:
        return OpenBeams(rows, pairs[:, :, 1:], gaps[:, :, 1:], *kept, alive), gap
    places = torch.arange(size - 1)
    rest = places + (places >= at.unsqueeze(2))
    before, after = (at - 1).clamp(min=0).unsqueeze(2), (at + 1).clamp(max=size - 1).unsqueeze(2)
    left = torch.stack([rows.gather(2, before).squeeze(2), node])
    right = torch.stack([node, rows.gather(2, after).squeeze(2)])
    wanted = torch.stack([at > 0, at < candidates.unsqueeze(1) - 1]) & alive
    new = torch.zeros_like(left)
    new[wanted] = nodes.pairs(left[wanted], right[wanted])
    pairs = pairs.gather(2, rest)
    for side, place in enumerate((at - 1, at)):
        here = (places == place.unsqueeze(2)) & wanted[side].unsqueeze(2)
        pairs = new[side].unsqueeze(2).where(here, pairs)
    return OpenBeams(rows, pairs, gaps.gather(2, rest), *kept, alive), gap


def _mixed(
    nodes: Nodes, beams: OpenBeams, proposals: Proposals, rest: Tensor, known: Tensor, candidates: Tensor
) -> tuple[Tensor, ...]:
    """Rows (b, S - 1), pairs (b, S - 2), total, usable and alive (b,) of the beam that the proposals ``rest`` (b, P)
    become; ``known`` (b,) is whether there are any, on the CPU.

    States, what pairs become, the selection and the total are averaged each by itself, as published, by the softmax of
    the totals; so this beam has new rows, and all its pairs are new.
    """
    alive, total = rest.any(1), proposals.total
    weights = total.masked_fill(~rest & alive.unsqueeze(1), -math.inf).softmax(1).masked_fill(~rest, 0)
    of_beam = weights.unflatten(1, (beams.total.shape[1], -1)).sum(2)
    h, merged = (
        torch.einsum("bk,bksd->bsd", of_beam, nodes.states.read(rows))
        for rows in (beams.rows, nodes.built(beams.pairs))
    )
    selected = torch.zeros_like(merged[:, :, 0]).scatter_add(1, proposals.at, weights)
    states = shrink(h, selected, merged)
    rows = nodes.states.write(states.flatten(0, 1)).view(states.shape[:2])
    places = torch.arange(states.shape[1] - 1)
    wanted = (places < candidates.unsqueeze(1) - 1) & known.unsqueeze(1)
    pairs = torch.zeros_like(rows[:, 1:])
    pairs[wanted] = nodes.pairs(rows[:, :-1][wanted], rows[:, 1:][wanted])
    return rows, pairs, (weights * total).sum(1), alive, known


def _with_last(
    beams: OpenBeams, rows: Tensor, pairs: Tensor, total: Tensor, usable: Tensor, alive: Tensor
) -> OpenBeams:
    """The beams, of which the last has other rows, pairs and total."""

    def last(part: Tensor, other: Tensor) -> Tensor:
        return torch.cat([part[:, :-1], other.unsqueeze(1)], 1)

    totals = last(beams.total, total), last(beams.usable, usable), last(beams.alive, alive)
    return OpenBeams(last(beams.rows, rows), last(beams.pairs, pairs), beams.gaps, *totals)


def _orders(history: list[tuple[Tensor, Tensor]], alive: Tensor) -> tuple[Tensor, Tensor]:
    """(B, K, T - 1), the gaps that each beam closed, read backwards from its end; (B, K), the start it came from."""
    beam = torch.arange(alive.shape[1]).repeat(len(alive), 1)
    orders = torch.full((*alive.shape, len(history)), CLOSED)
    for t in reversed(range(len(history))):
        parent, gap = history[t]
        here = beam[: len(gap)].clamp(max=gap.shape[1] - 1)
        orders[: len(gap), :, t] = gap.gather(1, here)
        beam[: len(gap)] = parent.gather(1, here)
    return orders.masked_fill(~alive.unsqueeze(2), CLOSED), beam


# ---------------------------------------------------------------------------------------------------------------------
# Recursion in recursion: chunks hand all of their beams on to the next level, aligned with those of other chunks.


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
