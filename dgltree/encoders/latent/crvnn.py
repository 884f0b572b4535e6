"""The Continuous Recursive Neural Network: all neighbours are merged a little, in rounds, the surest first."""

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from dgltree.cells.compose import GELUGatedRecursive
from dgltree.encoders.encoder import Merges
from dgltree.encoders.latent.joining_core import Items, JoiningCore, JoinResult
from dgltree.encoders.sequence.core import length_groups
from dgltree.induction.merges import CLOSED
from dgltree.support.arguments import check_choice

# ---------------------------------------------------------------------------------------------------------------------
# Neighbours among nodes that exist in part: each is the nearer the less exists between.


Neighbours = Literal["cut", "product"]
NEIGHBOURS = get_args(Neighbours)


def neighbours(e: Tensor, how: Neighbours = "cut") -> tuple[Tensor, Tensor]:
    """L and R, (b, S, S) each, the weights of left and right neighbours, from the existences (b, S).

    Args:
        e: 0 to 1.
        how: "cut" as all programs of CRvNN do, until an existence of 1 is used up; "product": equation 6 of its paper.
    """
    return _cut(e) if how == "cut" else _product(e)


def _cut(e: Tensor) -> tuple[Tensor, Tensor]:
    """L and R by K_ab, what exists after place a up to place b, at most 1: R_ij = K_ij - K_i,j-1, which is e_j until 1
    is used up, and L_ij = K_j-1,i-1 - K_j,i-1.

    In float64: differences of sums from the first place on lose a digit of float32 every ten places (at 300 places
    states were 1.3e-2 off).
    """
    sums = pad(e.double().cumsum(1), (1, 0))  # from before the first place
    K = sums.unsqueeze(1) - sums.unsqueeze(2)
    K = K.clamp(max=1).triu()
    left = K[:, :-1, :-1] - K[:, 1:, :-1]
    right = K[:, 1:, 1:] - K[:, 1:, :-1]
    return left.transpose(1, 2).to(e.dtype), right.to(e.dtype)


def _product(e: Tensor) -> tuple[Tensor, Tensor]:
    mirrored = _right_product(e.flip(1))
    return mirrored.flip(1, 2), _right_product(e)


def _right_product(e: Tensor) -> Tensor:
    """R_ij: e_j times the product of 1 - e_k over i < k < j."""
    size = e.shape[1]
    is_right = torch.ones(size, size, dtype=torch.bool, device=e.device).triu(1)
    absent = (1 - e).unsqueeze(1).expand(-1, size, -1)
    up_to = absent.masked_fill(~is_right, 1).cumprod(2)
    between = pad(up_to[:, :, :-1], (1, 0), value=1.0)
    return e.unsqueeze(1) * between * is_right


Version = Literal["first", "later"]
VERSIONS = get_args(Version)
MergedBy = Literal["probability", "existence"]
MERGED_BY = get_args(MergedBy)
APPROXIMATIONS = {"erf": "none", "tanh": "tanh"}
"""Forms of the GELU, with torch's names of them."""
THRESHOLDS = {"first": 0.01, "later": 0.1}
"""The existence below which a node has gone."""
FEATURES = 64
"""How many numbers say, in "first", whether something was just merged into a node."""
MIN_PROBABILITY = 4e-8
"""Added to a denominator whose other terms can all be 0."""
HALF = 0.5
"""The existence below which, or the sum of probabilities from which on, a node counts as merged, for the tree."""
SUM_UNIT = 1e-4
"""Sums of probabilities are compared in units of it: in a batch, those of equal words differ by their rounding."""


class State(NamedTuple):
    """b sequences in some round; S places are START, the words, and END after the last."""

    rows: Tensor
    """(b,) int64, which sequences of the pass they are."""
    lengths: Tensor
    """(b,) int64"""
    h: Tensor
    """(b, S, D)"""
    e: Tensor
    """(b, S), existence."""
    q: Tensor
    """(b, S), how much was just merged into each node."""
    gone: Tensor
    """(b, S) int64, the round in which a word was merged; at least S - 1 if it was not."""
    sums: Tensor
    """(b, S), of a word's p, up to the round in which it was merged."""
    single: Tensor
    """(b,) bool, whether only the last word was above the threshold at the end of some round."""
    done: Tensor
    """(b,) bool"""

    def taken(self, rows: Tensor) -> "State":
        """The sequences with these numbers (b',) int64."""
        return State(*(part[rows] for part in self))

    def places(self) -> "PlaceKinds":
        """The kinds of places."""
        place = torch.arange(self.e.shape[1], device=self.e.device)
        last = self.lengths.unsqueeze(1)
        is_after_start = place > 0
        return PlaceKinds(
            real=place <= last + 1,
            words=is_after_start & (place <= last),
            merging=is_after_start & (place < last),
        )

    def of_words(self) -> Tensor:
        """(b, S), the existence of words, 0 at other places."""
        return self.e * self.places().words

    def at_last(self, values: Tensor) -> Tensor:
        """(b, ...) of (b, S, ...): what the last word has."""
        sequence = torch.arange(len(values), device=values.device)
        return values[sequence, self.lengths]


class PlaceKinds(NamedTuple):
    """The kinds of places of b sequences."""

    real: Tensor
    """(b, S) bool, START, words and END."""
    words: Tensor
    """(b, S) bool"""
    merging: Tensor
    """(b, S) bool, words that have a right neighbour."""


class SequenceCRvNN(JoiningCore):
    r"""The Continuous Recursive Neural Network (Ray Chowdhury & Caragea 2021, arXiv 2106.06038).

    The words are between a START and an END that are learnt. Each node i has an existence :math:`e_i`, at first 1.
    With :math:`C_{ij}` the sum of the existences after i up to j, and L and R the weights of left and right
    neighbours,

    .. math::
        R_{ij} &= e_j \text{ if } C_{ij} \le 1 \text{ else } \max(0, 1 - C_{i,j-1}), \; j > i; \; L \text{ mirrored}
        \quad(1) \\
        s_i &= v \cdot GELU(W [LLh; Lh; h; Rh; RRh]_i + b) + b'\quad(2) \\
        A_i &= \exp(s_i - M), \quad O = \exp(-M), \quad M = \max(0, \max_i s_i)\quad(3) \\
        p_i &= A_i / (A_i + O + (L A)_i + (R A)_i + 4 \cdot 10^{-8})\quad(4) \\
        q &= L p\quad(5) \\
        h_i &\leftarrow q_i \, cell((L h)_i, h_i) + (1 - q_i) \, h_i\quad(6) \\
        e_i &\leftarrow e_i (1 - p_i)\quad(7)

    where p is the probability that a node is merged into its right neighbour; it is 0 for START, END and the last word,
    which is the answer. A sequence is done when one node other than START and END is above the threshold, or after T
    rounds.

    For the tree of the pass, a node counts as merged in the round in which the sum of its p reaches 1/2, of several
    those of the largest sums first; those that never do come last in the same order (the authors' rule). Or, by
    "existence", in the round in which :math:`e_i` falls below 1/2, of several the left one first, and those that never
    do come last, the least existing first.

    Args:
        size: the number of ids.
        hidden_size: n.
        version: "first": threshold 0.01, one LayerNorm for leaves and cell, 64 features of what was just merged, and a
            penalty on a sequence that never came down to its last word. "later", the authors' later programs: 0.1, two
            LayerNorms, neither features nor penalty.
        gelu: "erf", or of "first" "tanh", as its program of ListOps and SST has it in the score and in "grc"; that of
            logic and inference has "erf".
        halt: whether a sequence may be done before T rounds. (The published "nohalt" continues with others, but leaves
            as it is what is done, and so has the answers of ``halt=True``.)
        penalty: weight of the penalty of "first".
        batch_maximum: whether a batch is computed as the programs do, if it depends on its rest: M is that of all
            places of all its sequences, padding too, and a shorter sequence may have a round more; else M is that of
            the sequence.
        merged_by: the rule that the tree is read by, "probability" or "existence".
        neighbours: "cut": R as above, as in all programs; "product": equation 6 of the paper,
            :math:`R_{ij} = e_j \prod_{i<k<j} (1 - e_k)`.
        shared: as in :class:`dgltree.encoders.latent.joining_core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0, and START, END and the features N(0, 1); torch's of the rest.

    Raises ``ValueError`` as :class:`JoiningCore` does, for another version, form or way,
    and for "tanh" with "later" or with another cell than "grc".
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: str = "grc",
        version: Version = "later",
        gelu: str = "erf",
        halt: bool = True,
        penalty: float = 0.01,
        batch_maximum: bool = False,
        neighbours: Neighbours = "cut",
        merged_by: MergedBy = "probability",
        **shared: Any,
    ) -> None:
        check_choice("version", version, VERSIONS)
        check_choice("gelu", gelu, APPROXIMATIONS)
        check_choice("neighbours", neighbours, NEIGHBOURS)
        check_choice("merged_by", merged_by, MERGED_BY)
        if gelu == "tanh" and (version != "first" or cell != "grc"):
            raise ValueError(f"gelu='tanh' needs version='first' and the cell grc, not {version!r} and {cell}")
        own = {
            "version": version,
            "gelu": gelu,
            "halt": halt,
            "penalty": penalty,
            "batch_maximum": batch_maximum,
            "neighbours": neighbours,
            "merged_by": merged_by,
        }
        super().__init__(size, hidden_size, own, cell=cell, **shared)
        self.gelu = gelu
        if isinstance(self.cell, GELUGatedRecursive):
            self.cell.approximate = APPROXIMATIONS[gelu]
        self.halt = halt
        self.batch_maximum = batch_maximum
        self.threshold = THRESHOLDS[version]
        self.neighbours = neighbours
        self.merged_by = merged_by
        self.ends = nn.Parameter(torch.empty(2, self.width).normal_())
        self.features: nn.Parameter | None = None
        self.penalty = 0.0
        window = 5 * self.cell.state_size
        if version == "first":
            self.leaf_norm = None  # the cell's serves leaves, too
            self.features = nn.Parameter(torch.empty(2, FEATURES).normal_())
            self.penalty = penalty
            window += FEATURES
        self.first = nn.Linear(window, hidden_size)
        self.second = nn.Linear(hidden_size, 1)

    def join(self, items: Items) -> JoinResult:
        """The trace has the ``existence`` (B, T) of each word at the end."""
        sequences, words = items.rows.shape
        lengths = items.lengths
        if self.batch_maximum:
            groups = [(torch.arange(sequences, device=lengths.device), words)]
        else:
            groups = length_groups(lengths, lengths.device)
        order = lengths.new_full((sequences, words - 1), CLOSED)
        existence = items.states.new_zeros(sequences, words)
        roots: list[Tensor] = []
        left_over: list[Tensor] = []
        for rows, longest in groups:
            states = items.states[items.rows[rows, :longest]]
            end = self._pass(states, lengths[rows])
            order[rows, : longest - 1] = _order(end, self.merged_by)
            existence[rows, :longest] = end.of_words()[:, 1:-1].detach()
            roots.append(end.at_last(end.h))
            left_over.append(_left_over(end))
        back = torch.cat([rows for rows, _ in groups]).argsort()
        losses: dict[str, Tensor] = {}
        if self.penalty:
            losses["halting"] = self.penalty * torch.cat(left_over)[back]
        return JoinResult(torch.cat(roots)[back], Merges(order), losses, {"existence": existence})

    def _pass(self, states: Tensor, lengths: Tensor) -> State:
        """All rounds over states (b, T, D), lengths (b,). What is done is left out of the rounds after it.

        A GPU is waited for once a round, to know what is done.
        """
        now = self._at_first(states, lengths)
        ended: list[State] = []
        for t in range(states.shape[1]):
            going = ~now.done & (now.lengths + self.batch_maximum > t)
            going_on_cpu = going.cpu()
            if not going_on_cpu.any():
                break
            if not self.batch_maximum and not going_on_cpu.all():
                stops = (~going_on_cpu).nonzero().squeeze(1)
                stays = going_on_cpu.nonzero().squeeze(1)
                ended.append(now.taken(stops.to(going.device, non_blocking=True)))
                now = now.taken(stays.to(going.device, non_blocking=True))
                going = ~now.done
            now = self._round(now, going, t)
        every = State(*map(torch.cat, zip(*ended, now, strict=True)))
        return every.taken(every.rows.argsort())

    def _at_first(self, states: Tensor, lengths: Tensor) -> State:
        sequences, words, _ = states.shape
        place = torch.arange(words + 2, device=lengths.device)
        end = (lengths + 1).unsqueeze(1)
        start, stop = self.leaves(self.ends.expand(sequences, -1, -1)).split(1, 1)
        h = torch.cat([start, states, stop], 1)
        h = stop.where((place == end).unsqueeze(2), h)
        h = h.masked_fill((place > end).unsqueeze(2), 0)
        e = (place <= end).to(h.dtype)
        return State(
            rows=torch.arange(sequences, device=lengths.device),
            lengths=lengths,
            h=h,
            e=e,
            q=torch.zeros_like(e),
            gone=torch.full((sequences, words + 2), words + 1, device=lengths.device),
            sums=torch.zeros_like(e),
            single=lengths < 2,
            done=lengths < 1,
        )

    def _round(self, now: State, going: Tensor, t: int) -> State:
        """The sequences that are ``going`` (b,) after round t."""
        places = now.places()
        is_going = going.unsqueeze(1)
        L, R = neighbours(now.e, self.neighbours)  # (1)
        Lh = L @ now.h
        Rh = R @ now.h
        window = [L @ Lh, Lh, now.h, Rh, R @ Rh]
        p = self._merged(window, now.q, L + R, places)
        q = (L @ p.unsqueeze(2)).squeeze(2)  # (5)
        q = q.to(p.dtype) * places.words
        share = q.unsqueeze(2)
        h = share * self.cell(Lh, now.h, self.norm) + (1 - share) * now.h  # (6)
        e = now.e * (1 - p)  # (7)
        e = e.where(is_going, now.e)

        is_open = (now.gone >= e.shape[1] - 1) & places.merging & is_going
        sums = now.sums + p.detach() * is_open
        is_merged = e < HALF if self.merged_by == "existence" else sums >= HALF
        remaining = (e > self.threshold) & places.words
        last_alone = remaining.sum(1) <= 1
        return now._replace(
            h=h.where(is_going.unsqueeze(2), now.h),
            e=e,
            q=q.where(is_going, now.q),
            gone=now.gone.masked_fill(is_open & is_merged, t),
            sums=sums,
            single=now.single | (last_alone & going),
            done=now.done | last_alone if self.halt else now.done,
        )

    def _merged(self, window: list[Tensor], q: Tensor, around: Tensor, places: PlaceKinds) -> Tensor:
        """p, (b, S), from the five parts (b, S, D) of the window, q (b, S) of the last round, and L + R (b, S, S)."""
        if self.features is not None:
            share = q.unsqueeze(2)
            just_merged, rests = self.features
            window = [*window, share * just_merged + (1 - share) * rests]
        hidden = self.first(torch.cat(window, 2))
        hidden = nn.functional.gelu(hidden, approximate=APPROXIMATIONS[self.gelu])
        s = self.second(hidden).squeeze(2).to(q.dtype)  # (2)
        of_sequences = s.masked_fill(~places.real, 0).amax(1, keepdim=True)
        largest = s.amax() if self.batch_maximum else of_sequences
        M = largest.clamp(min=0)
        A = (s - M).exp() * places.merging  # (3)
        O = (-M).exp()  # noqa: E741 (the paper's name)
        beside = (around @ A.unsqueeze(2)).squeeze(2).to(A.dtype)
        return A / (A + O + beside + MIN_PROBABILITY)  # (4)


def _left_over(end: State) -> Tensor:
    """(b,), the logarithm of all existence over the last word's; 0 if that was alone once."""
    existence = end.of_words().sum(1)
    ratio = existence / end.at_last(end.e)
    return ratio.log().masked_fill(end.single, 0)


def _order(end: State, merged_by: MergedBy) -> Tensor:
    """(b, T - 1) int64: the gap after each word by the round in which the word was merged.

    Of words merged in one round the one with the largest sum comes first, or by "existence" the left one; so too of
    those never merged, or by "existence" the one that exists least.
    """
    inner = slice(1, -2)  # words but the last place
    last_round = end.e.shape[1] - 2
    gone = end.gone[:, inner]
    if merged_by == "existence":
        late = end.e[:, inner].detach().masked_fill(gone <= last_round, 0)
    else:
        late = -(end.sums[:, inner] / SUM_UNIT).round()
    first = late.argsort(dim=1, stable=True)
    merging = end.places().merging[:, inner]
    rounds = gone.where(merging, last_round + 2).gather(1, first)
    by_round = rounds.argsort(dim=1, stable=True)
    return first.gather(1, by_round).masked_fill(~merging, CLOSED)
