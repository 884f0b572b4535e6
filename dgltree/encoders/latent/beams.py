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
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from dgltree.encoders.latent.choice import LOG_EPSILON, gumbel, leftmost_best, log_probabilities, shrink, tolerance
from dgltree.encoders.latent.joining_core import sort_on_cpu
from dgltree.encoders.latent.nodes import BeamNumbers, Choice, Nodes, RowStore, Table
from dgltree.engine.autograd import once_differentiable
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.engine.kernels.kernel import are_taken
from dgltree.induction.merges import CLOSED
from dgltree.support.torch_internals import inside_transform

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_beams import BeamKernel


class OpenBeams(NamedTuple):
    """K beams of each of b sequences, of S nodes at most."""

    numbers: BeamNumbers
    total: Tensor
    """(b, K), the summed log probabilities of what was joined; on the model's device."""
    usable: Tensor
    """(b, K) bool, on the model's device: what a beam that is not holds has no meaning."""
    alive: Tensor
    """(b, K) bool, ``usable`` on the CPU."""

    def first(self, count: int) -> "OpenBeams":
        """The beams of the first sequences."""
        if count == len(self.alive):
            return self
        return OpenBeams(
            numbers=self.numbers.first(count),
            total=self.total[:count],
            usable=self.usable[:count],
            alive=self.alive[:count],
        )


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
        total = like.new_zeros(len(rows), 1)
        alive = torch.ones(len(rows), 1, dtype=torch.bool)
        return cls(rows.unsqueeze(1), total, alive)


class Proposals(NamedTuple):
    """Candidates for the next step of the beams of b sequences: k joins each, P in all. On the model's device."""

    at: Tensor
    """(b, P) int64, the index of the pair in its beam."""
    beam: Tensor
    """(b, P) int64"""
    total: Tensor
    """(b, P), the total of the beam that would be."""
    usable: Tensor
    """(b, P) bool"""
    ranked: Tensor
    """(b, P), by which they are kept, -inf of what is not usable."""


class BeamStep(NamedTuple):
    """The beams (b, K) after a step, and what it takes to read the merges of one backwards."""

    beams: OpenBeams
    parent: Tensor
    """(b, K) int64, the number of the beam that each comes from."""
    closed: Tensor
    """(b, K) int64, the gap that each closed."""


class FinalBeams(NamedTuple):
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
        total = self.total.masked_fill(~self.alive, -math.inf)
        return total.softmax(1)


def search(
    nodes: Nodes, starts: Starts, lengths: Tensor, beam_size: int, *, noise: bool = False, soft: bool = False
) -> FinalBeams:
    """Join neighbours until one is left of each sequence.

    Of the beams found, the first is the best of the last choice; if there was none, they are in the order of the
    starts.

    Args:
        nodes: of all sequences.
        starts: of the sequences, at most K of each.
        lengths: (B,) int64 of the sequences, on the device of the model.
        beam_size: K.
        noise: whether Gumbel noise chooses the proposals and, without ``soft``, the beams; it never enters ``total``.
        soft: whether all proposals but the K - 1 best become one beam (OneSoft, arXiv 2305.19999).
    """
    rows, falling, order = sort_on_cpu(starts.rows, lengths)
    order_on_device = order.to(lengths.device, non_blocking=True)
    back = order.argsort().to(lengths.device, non_blocking=True)
    sorted_starts = Starts(rows, starts.total[order_on_device], starts.alive.cpu()[order])
    found = _search_sorted(nodes, sorted_starts, falling, beam_size, noise=noise, soft=soft)
    roots = nodes.states.read(found.rows)
    start = found.start.to(roots.device, non_blocking=True)
    return FinalBeams(
        state=roots[back],
        total=found.total[back],
        alive=found.alive[back],
        orders=found.orders[back],
        start=start[back],
    )


class SortedBeams(NamedTuple):
    """The beams of B sequences of up to T words at their end, the longest sequence first."""

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


def _search_sorted(
    nodes: Nodes, starts: Starts, lengths: list[int], beam_size: int, *, noise: bool, soft: bool
) -> SortedBeams:
    """The beams of sequences whose lengths never rise: those that have not ended are always the first."""
    longest = lengths[0]
    lengths_on_cpu = torch.tensor(lengths)
    beams = _begin(nodes, starts, lengths_on_cpu)
    pair_counts = lengths_on_cpu - 1
    pair_counts_on_device = pair_counts.to(nodes.states.buffer.device, non_blocking=True)
    ended: list[tuple[Tensor, ...]] = []
    steps: list[BeamStep] = []
    for t in range(longest - 1):
        still_open = sum(length > t + 1 for length in lengths)
        ended.append(_all_but_first(beams, still_open, beam_size))
        candidates = Candidates(pair_counts[:still_open] - t, pair_counts_on_device[:still_open] - t)
        step = _step(nodes, beams.first(still_open), candidates, beam_size, noise=noise, soft=soft)
        steps.append(step)
        beams = step.beams
    ended.append(_all_but_first(beams, 0, beam_size))

    # Sequences end from the last to the first, because their lengths never rise.
    roots, total, usable, alive = (torch.cat(part[::-1]) for part in zip(*ended, strict=True))
    orders, start = _orders(steps, alive)
    orders = pad(orders, (0, starts.rows.shape[2] - longest), value=CLOSED)
    return SortedBeams(roots, total, usable, orders.to(total.device, non_blocking=True), start)


class Candidates(NamedTuple):
    """How many pairs a beam of each sequence has, 1 at least."""

    on_cpu: Tensor
    """(b,) int64"""
    on_device: Tensor
    """(b,) int64"""


def _begin(nodes: Nodes, starts: Starts, lengths: Tensor) -> OpenBeams:
    longest = int(lengths[0])
    rows = starts.rows[:, :, :longest]
    left = rows[:, :, :-1]
    right = rows[:, :, 1:]
    gaps = torch.arange(longest - 1).expand(left.shape)
    is_pair = (gaps < lengths.view(-1, 1, 1) - 1) & starts.alive.unsqueeze(2)
    pairs = torch.zeros_like(gaps)
    pairs[is_pair] = nodes.pairs(left[is_pair], right[is_pair])
    usable = starts.alive.to(starts.total.device, non_blocking=True)
    return OpenBeams(BeamNumbers(rows, pairs, gaps), starts.total, usable, starts.alive)


def _all_but_first(beams: OpenBeams, count: int, beam_size: int) -> tuple[Tensor, ...]:
    """Roots, totals and whether there is a beam (twice), (b, K) each, of all but the first ``count`` sequences."""
    roots = beams.numbers.rows[:, :, 0]
    parts = (roots, beams.total, beams.usable, beams.alive)
    missing = beam_size - roots.shape[1]
    return tuple(pad(part[count:], (0, missing)) for part in parts)


def _step(
    nodes: Nodes, beams: OpenBeams, candidates: Candidates, beam_size: int, *, noise: bool, soft: bool
) -> BeamStep:
    """Choose the joins that become the next beams, and join; the rest as of :func:`search`."""
    if soft:
        return _soft_step(nodes, beams, candidates, beam_size, noise=noise)
    kernel = beam_kernel(nodes.scores)
    if kernel is not None:
        choice, total = choose_by_kernel(kernel, nodes.scores, beams, candidates.on_cpu, beam_size, noise)
        return _joined(nodes, beams, choice, candidates, total, usable=choice.alive)
    proposals = _proposed(nodes, beams, candidates.on_device, beam_size, noise=noise, soft=False)
    keep = leftmost_best(proposals.ranked, min(beam_size, proposals.ranked.shape[1]))
    choice, _ = _choice_of(proposals, keep, proposals.usable)
    return _joined(nodes, beams, choice, candidates, proposals.total.gather(1, keep), proposals.usable.gather(1, keep))


def _soft_step(nodes: Nodes, beams: OpenBeams, candidates: Candidates, beam_size: int, *, noise: bool) -> BeamStep:
    """The step of OneSoft: the last of K beams is the mean of all proposals but the K - 1 best."""
    proposals = _proposed(nodes, beams, candidates.on_device, beam_size, noise=noise, soft=True)
    keep = leftmost_best(proposals.ranked, min(beam_size, proposals.ranked.shape[1]))
    rest = proposals.usable.scatter(1, keep[:, :-1], False)
    choice, mixes = _choice_of(proposals, keep, rest)
    total = proposals.total.gather(1, keep)
    usable = proposals.usable.gather(1, keep)
    if keep.shape[1] < beam_size:
        return _joined(nodes, beams, choice, candidates, total, usable)
    is_hard = torch.arange(beam_size) < beam_size - 1
    hard = choice._replace(alive=choice.alive & is_hard)
    step = _joined(nodes, beams, hard, candidates, total, usable)
    mixed = _mixed(nodes, beams, proposals, rest, mixes, candidates.on_cpu)
    return step._replace(beams=_with_last(step.beams, mixed))


def _choice_of(proposals: Proposals, keep: Tensor, rest: Tensor) -> tuple[Choice, Tensor]:
    """The choice of ``keep`` (b, K), and whether there is anything of ``rest`` (b, P), read from the device at once."""
    at = proposals.at.gather(1, keep)
    parent = proposals.beam.gather(1, keep)
    alive = proposals.usable.gather(1, keep)
    mixes = rest.any(1, keepdim=True)
    on_cpu = torch.cat([at, parent, alive.long(), mixes.long()], 1).cpu()
    at, parent, alive, mixes = on_cpu.split([keep.shape[1]] * 3 + [1], 1)
    return Choice(at, parent, alive.bool()), mixes.squeeze(1).bool()


def _proposed(
    nodes: Nodes, beams: OpenBeams, candidates: Tensor, beam_size: int, *, noise: bool, soft: bool
) -> Proposals:
    """The best joins of each beam, with the totals a of equation (3) of
    :class:`dgltree.encoders.latent.beam_tree.SequenceBeamTree`.

    In OneSoft the totals are sorted without noise, as in the authors' program.
    """
    pairs = beams.numbers.pairs  # (b, K, S - 1)
    size = pairs.shape[2]
    per_beam = min(beam_size, size)
    is_pair = torch.arange(size, device=candidates.device) < candidates.unsqueeze(1)
    is_pair = is_pair.unsqueeze(1)  # (b, 1, S - 1)
    s = nodes.scores.read(pairs).squeeze(3)
    noisy = s
    if noise:
        noisy = s + gumbel(s)
    at = leftmost_best(noisy.masked_fill(~is_pair, -math.inf), per_beam)  # (b, K, k)
    usable = is_pair.expand_as(s).gather(2, at) & beams.usable.unsqueeze(2)
    usable = usable.flatten(1)
    log_p = log_probabilities(s, is_pair).gather(2, at)
    a = (beams.total.unsqueeze(2) + log_p).flatten(1)  # (3), (b, P)
    ranked = a
    if noise and not soft:
        ranked = a + gumbel(a)
    beam = torch.arange(pairs.shape[1], device=at.device).repeat_interleave(per_beam)
    beam = beam.expand_as(a)
    is_choice = (candidates > 1).unsqueeze(1)  # the last join is not a choice: beams stay as they are
    ranked = ranked.where(is_choice, -beam.to(a.dtype))
    return Proposals(
        at=at.flatten(1),
        beam=beam,
        total=a,
        usable=usable,
        ranked=ranked.masked_fill(~usable, -math.inf),
    )


def _joined(
    nodes: Nodes, beams: OpenBeams, choice: Choice, candidates: Candidates, total: Tensor, usable: Tensor
) -> BeamStep:
    """Join the chosen pairs; the beams after it have these totals, and are usable so, (b, K) on the model's device."""
    joined = nodes.join(beams.numbers, choice, candidates.on_cpu)
    after = OpenBeams(joined.numbers, total, usable, choice.alive)
    return BeamStep(after, choice.parent, joined.closed)


class MixedBeam(NamedTuple):
    """One beam of each of b sequences that is the mean of all proposals but the best."""

    rows: Tensor
    """(b, S - 1) int64"""
    pairs: Tensor
    """(b, S - 2) int64"""
    total: Tensor
    """(b,)"""
    usable: Tensor
    """(b,) bool, on the model's device."""
    alive: Tensor
    """(b,) bool, ``usable`` on the CPU."""


def _mixed(
    nodes: Nodes, beams: OpenBeams, proposals: Proposals, rest: Tensor, alive: Tensor, candidates: Tensor
) -> MixedBeam:
    """The beam that the proposals ``rest`` (b, P) become; ``alive`` (b,) is whether there are any, on the CPU.

    States, what pairs become, the selection and the total are averaged each by itself, as published, by the softmax of
    the totals; so this beam has new rows, and all its pairs are new.
    """
    usable = rest.any(1)
    total = proposals.total.masked_fill(~rest & usable.unsqueeze(1), -math.inf)
    weights = total.softmax(1).masked_fill(~rest, 0)  # (b, P)
    of_beam = weights.unflatten(1, (beams.total.shape[1], -1)).sum(2)  # (b, K)
    h = nodes.states.read(beams.numbers.rows)
    mean_h = torch.einsum("bk,bksd->bsd", of_beam, h)
    merged = nodes.states.read(nodes.built(beams.numbers.pairs))
    mean_merged = torch.einsum("bk,bksd->bsd", of_beam, merged)
    selected = torch.zeros_like(mean_merged[:, :, 0])
    selected = selected.scatter_add(1, proposals.at, weights)  # (b, S - 1)
    states = shrink(mean_h, selected, mean_merged)
    rows = nodes.states.write(states.flatten(0, 1)).view(states.shape[:2])
    left = rows[:, :-1]
    right = rows[:, 1:]
    is_pair = torch.arange(left.shape[1]) < candidates.unsqueeze(1) - 1
    is_pair = is_pair & alive.unsqueeze(1)
    pairs = torch.zeros_like(right)
    pairs[is_pair] = nodes.pairs(left[is_pair], right[is_pair])
    mean_total = (weights * proposals.total).sum(1)
    return MixedBeam(rows, pairs, mean_total, usable, alive)


def _with_last(beams: OpenBeams, mixed: MixedBeam) -> OpenBeams:
    """The beams, of which the last is the mixed one."""

    def replaced(part: Tensor, last: Tensor) -> Tensor:
        return torch.cat([part[:, :-1], last.unsqueeze(1)], 1)

    numbers = beams.numbers
    numbers = numbers._replace(
        rows=replaced(numbers.rows, mixed.rows),
        pairs=replaced(numbers.pairs, mixed.pairs),
    )
    return OpenBeams(
        numbers=numbers,
        total=replaced(beams.total, mixed.total),
        usable=replaced(beams.usable, mixed.usable),
        alive=replaced(beams.alive, mixed.alive),
    )


def _orders(steps: list[BeamStep], alive: Tensor) -> tuple[Tensor, Tensor]:
    """(B, K, T - 1), the gaps that each beam closed, read backwards from its end; (B, K), the start it came from."""
    beam = torch.arange(alive.shape[1]).repeat(len(alive), 1)
    orders = torch.full((*alive.shape, len(steps)), CLOSED)
    for t in reversed(range(len(steps))):
        step = steps[t]
        count, beams = step.closed.shape
        at_step = beam[:count].clamp(max=beams - 1)
        orders[:count, :, t] = step.closed.gather(1, at_step)
        beam[:count] = step.parent.gather(1, at_step)
    orders = orders.masked_fill(~alive.unsqueeze(2), CLOSED)
    return orders, beam


# ---------------------------------------------------------------------------------------------------------------------
# A step of a search by beams by kernels: what is chosen, with gradients by hand, and the beams after it.
#
# In torch a step is some sixty short operations on small arrays, which take longer than the products of the cell.


def beam_kernel(scores: Table) -> "type[BeamKernel] | None":
    """The kernel that chooses among scores; None where torch's operations do: a GPU, half precision, transforms."""
    if not are_taken([scores.buffer]) or inside_transform():
        return None
    return step_kernel("beams", (), scores.buffer, backward=torch.is_grad_enabled())


def choose_by_kernel(
    kernel: "type[BeamKernel]", scores: Table, beams: OpenBeams, candidates: Tensor, beam_size: int, noise: bool
) -> tuple[Choice, Tensor]:
    """The best K = ``beam_size`` joins of beams (b, K'), and their totals (b, K); noise is drawn as torch draws it."""
    pairs = beams.numbers.pairs
    total = beams.total
    sequences, before, size = pairs.shape
    proposals = before * min(beam_size, size)
    of_pairs = total.new_empty(0, 0, 0)
    of_proposals = total.new_empty(0, 0)
    if noise:
        of_pairs = gumbel(total.new_empty(pairs.shape))
        of_proposals = gumbel(total.new_empty(sequences, proposals))
    new_total, at, parent, alive = _ChooseByKernel.apply(
        kernel,
        scores.order,
        total.contiguous(),
        scores.store,
        pairs.contiguous(),
        candidates,
        beams.usable,
        (of_pairs, of_proposals),
        min(beam_size, proposals),
    )
    return Choice(at, parent, alive), new_total


class _ChooseByKernel(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernel: "type[BeamKernel]",
        order: Tensor,
        total: Tensor,
        scores: RowStore,
        pairs: Tensor,
        candidates: Tensor,
        usable: Tensor,
        noise: tuple[Tensor, Tensor],
        count: int,
    ) -> tuple[Tensor, ...]:
        at = pairs.new_empty(len(pairs), count)
        parent = torch.empty_like(at)
        alive = usable.new_empty(at.shape)
        new_total = total.new_empty(at.shape)
        beams = (pairs, candidates, total, usable.contiguous())
        after = (at, parent, alive, new_total)
        kernel.choose(tolerance(total.dtype), LOG_EPSILON, scores.buffer, beams, noise, after)
        ctx.save_for_backward(order, total)
        ctx.mark_non_differentiable(at, parent, alive)
        ctx.kernel = kernel
        ctx.scores = scores
        ctx.chosen = (pairs, candidates, at, parent, alive)
        return new_total, at, parent, alive

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_total: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        _, total = ctx.saved_tensors
        d_order = d_total.new_zeros(())
        d_before = torch.zeros_like(total)
        d_scores = ctx.scores.gradients()
        buffer = ctx.scores.buffer
        ctx.kernel.choose_back(LOG_EPSILON, buffer, *ctx.chosen, d_total.contiguous(), d_scores, d_before)
        return None, d_order, d_before, *[None] * 6
