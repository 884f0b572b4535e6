"""The Continuous Recursive Neural Network: all neighbours are merged a little, in rounds, the surest first."""

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from dgltree.cells.compose import GELUGatedRecursive
from dgltree.encoders.encoder import Merges
from dgltree.encoders.latent.joining_core import Items, JoiningCore, JoinResult
from dgltree.encoders.sequence.core import length_groups
from dgltree.induction.merges import CLOSED

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
    """With K_ab what exists after place a up to place b, at most 1: R_ij = K_ij - K_i,j-1, which is e_j until 1 is used
    up, and L_ij = K_j-1,i-1 - K_j,i-1.

    In float64: differences of sums from the first place on lose a digit of float32 every ten places (at 300 places
    states were 1.3e-2 off).
    """
    sums = torch.nn.functional.pad(e.double().cumsum(1), (1, 0))  # from before the first place
    K = (sums.unsqueeze(1) - sums.unsqueeze(2)).clamp(max=1).triu()
    left, right = (K[:, :-1, :-1] - K[:, 1:, :-1]).transpose(1, 2), K[:, 1:, 1:] - K[:, 1:, :-1]
    return left.to(e.dtype), right.to(e.dtype)


def _product(e: Tensor) -> tuple[Tensor, Tensor]:
    return _right_product(e.flip(1)).flip(1, 2), _right_product(e)


def _right_product(e: Tensor) -> Tensor:
    """R_ij: e_j times the product of 1 - e_k over i < k < j."""
    size = e.shape[1]
    upper = torch.ones(size, size, dtype=torch.bool, device=e.device).triu(1)
    absent = (1 - e).unsqueeze(1).expand(-1, size, -1).masked_fill(~upper, 1)
    between = torch.nn.functional.pad(absent.cumprod(2)[:, :, :-1], (1, 0), value=1.0)
    return e.unsqueeze(1) * between * upper


Version = Literal["first", "later"]
VERSIONS = get_args(Version)
MergedBy = Literal["probability", "existence"]
MERGED_BY = get_args(MergedBy)
APPROXIMATIONS = {"erf": "none", "tanh": "tanh"}
"""Forms of the GELU, with torch's names of them."""
THRESHOLDS = {"first": 0.01, "later": 0.1}
"""The existence below which a node has gone."""
FEATURES = 64
"""Of "first": how many numbers say whether something was just merged into a node."""
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
        """Those with these numbers (b',) int64."""
        return State(*(each[rows] for each in self))

    def places(self) -> tuple[Tensor, Tensor, Tensor]:
        """(b, S) bool: which places are not padding, which are words, and which of these have a right neighbour."""
        places, last = torch.arange(self.e.shape[1], device=self.e.device), self.lengths.unsqueeze(1)
        return places <= last + 1, (places > 0) & (places <= last), (places > 0) & (places < last)

    def of_words(self) -> Tensor:
        """(b, S), the existence of words, 0 at other places."""
        return self.e * self.places()[1]

    def at_last(self, each: Tensor) -> Tensor:
        """(b, ...) of (b, S, ...): what the last word has."""
        return each[torch.arange(len(each), device=each.device), self.lengths]


class SequenceCRvNN(JoiningCore):
    r"""The Continuous Recursive Neural Network (Ray Chowdhury & Caragea 2021, arXiv 2106.06038).

    The words are between a START and an END that are learnt. Each node i has an existence :math:`e_i`, at first 1.
    With :math:`C_{ij}` the sum of the existences after i up to j, and L and R the weights of left and right
    neighbours,

    .. math::
        R_{ij} &= e_j \text{ if } C_{ij} \le 1 \text{ else } \max(0, 1 - C_{i,j-1}), \; j > i; \; L \text{ mirrored} \\
        s_i &= v \cdot GELU(W [LLh; Lh; h; Rh; RRh]_i + b) + b' \\
        A_i &= \exp(s_i - M), \quad O = \exp(-M), \quad M = \max(0, \max_i s_i) \\
        p_i &= A_i / (A_i + O + (L A)_i + (R A)_i + 4 \cdot 10^{-8}), \quad q = L p \\
        h_i &\leftarrow q_i \, cell((L h)_i, h_i) + (1 - q_i) \, h_i, \quad e_i \leftarrow e_i (1 - p_i)

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
        forms = (("version", version, VERSIONS), ("gelu", gelu, tuple(APPROXIMATIONS)))
        ways = (("neighbours", neighbours, NEIGHBOURS), ("merged_by", merged_by, MERGED_BY))
        for name, value, known in (*forms, *ways):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        if gelu == "tanh" and (version != "first" or cell != "grc"):
            raise ValueError(
                f"gelu is 'tanh', which needs the version 'first' and the cell grc, not {version!r} and {cell}"
            )
        own = {"version": version, "gelu": gelu, "halt": halt, "penalty": penalty, "batch_maximum": batch_maximum}
        super().__init__(
            size, hidden_size, {**own, "neighbours": neighbours, "merged_by": merged_by}, cell=cell, **shared
        )
        self.gelu, self.merged_by = gelu, merged_by
        if isinstance(self.cell, GELUGatedRecursive):
            self.cell.approximate = APPROXIMATIONS[gelu]
        self.halt, self.batch_maximum, self.threshold = halt, batch_maximum, THRESHOLDS[version]
        self.neighbours = neighbours
        self.penalty = penalty if version == "first" else 0.0
        if version == "first":
            self.leaf_norm = None  # the cell's serves leaves, too
        self.ends = nn.Parameter(torch.empty(2, self.width).normal_())
        features = FEATURES if version == "first" else 0
        self.features = nn.Parameter(torch.empty(2, features).normal_()) if features else None
        self.first = nn.Linear(5 * self.cell.state_size + features, hidden_size)
        self.second = nn.Linear(hidden_size, 1)

    def join(self, items: Items) -> JoinResult:
        """The trace has the ``existence`` (B, T) of each word at the end."""
        (count, most), lengths = items.rows.shape, items.lengths
        everything = [(torch.arange(count, device=lengths.device), most)]
        groups = everything if self.batch_maximum else length_groups(lengths, lengths.device)
        found = [self._pass(items.states[items.rows[rows, :longest]], lengths[rows]) for rows, longest in groups]
        back = torch.cat([rows for rows, _ in groups]).argsort()
        order, existence = lengths.new_full((count, most - 1), CLOSED), items.states.new_zeros(count, most)
        for (rows, longest), of in zip(groups, found, strict=True):
            order[rows, : longest - 1] = _order(of, self.merged_by)
            existence[rows, :longest] = of.of_words()[:, 1:-1].detach()
        root = torch.cat([of.at_last(of.h) for of in found])[back]
        losses = {}
        if self.penalty:
            losses["halting"] = self.penalty * torch.cat([_left_over(of) for of in found])[back]
        return JoinResult(root, Merges(order), losses, {"existence": existence})

    def _pass(self, states: Tensor, lengths: Tensor) -> State:
        """All rounds over states (b, T, D), lengths (b,). What is done is left out of the rounds after it.

        A GPU is waited for once a round, to know what is done.
        """
        now, ended = self._at_first(states, lengths), []
        for t in range(states.shape[1]):
            going = ~now.done & (now.lengths + self.batch_maximum > t)
            known = going.cpu()
            if not known.any():
                break
            if not self.batch_maximum and not known.all():
                done, more = (rows.nonzero().squeeze(1).to(going.device, non_blocking=True) for rows in (~known, known))
                ended.append(now.taken(done))
                now = now.taken(more)
                going = ~now.done
            now = self._round(now, going, t)
        together = State(*map(torch.cat, zip(*ended, now, strict=True)))
        return together.taken(together.rows.argsort())

    def _at_first(self, states: Tensor, lengths: Tensor) -> State:
        rows, words, _ = states.shape
        places, end = torch.arange(words + 2, device=lengths.device), (lengths + 1).unsqueeze(1)
        start, stop = self.leaves(self.ends.expand(rows, -1, -1)).split(1, 1)
        h = stop.where((places == end).unsqueeze(2), torch.cat([start, states, stop], 1))
        h = h.masked_fill((places > end).unsqueeze(2), 0)
        e, gone = (places <= end).to(h.dtype), torch.full((rows, words + 2), words + 1, device=lengths.device)
        return State(
            torch.arange(rows, device=lengths.device),
            lengths,
            h,
            e,
            torch.zeros_like(e),
            gone,
            torch.zeros_like(e),
            lengths < 2,
            lengths < 1,
        )

    def _round(self, now: State, going: Tensor, t: int) -> State:
        """Those that are ``going`` (b,) after round t."""
        (real, words, merging), place = now.places(), going.unsqueeze(1)
        L, R = neighbours(now.e, self.neighbours)
        Lh, Rh = L @ now.h, R @ now.h
        p = self._merged([L @ Lh, Lh, now.h, Rh, R @ Rh], now.q, L + R, real, merging)
        q = (L @ p.unsqueeze(2)).squeeze(2).to(p.dtype) * words
        share = q.unsqueeze(2)
        h = share * self.cell(Lh, now.h, self.norm) + (1 - share) * now.h
        e = (now.e * (1 - p)).where(place, now.e)
        open_ = (now.gone >= e.shape[1] - 1) & merging & place
        sums = now.sums + p.detach() * open_
        merged = e < HALF if self.merged_by == "existence" else sums >= HALF
        last_alone = ((e > self.threshold) & words).sum(1) <= 1
        return now._replace(
            h=h.where(place.unsqueeze(2), now.h),
            e=e,
            q=q.where(place, now.q),
            gone=now.gone.masked_fill(open_ & merged, t),
            sums=sums,
            single=now.single | (last_alone & going),
            done=now.done | last_alone if self.halt else now.done,
        )

    def _merged(self, window: list[Tensor], q: Tensor, around: Tensor, real: Tensor, merging: Tensor) -> Tensor:
        """p, (b, S)."""
        if self.features is not None:
            share = q.unsqueeze(2)
            window = [*window, share * self.features[0] + (1 - share) * self.features[1]]
        hidden = nn.functional.gelu(self.first(torch.cat(window, 2)), approximate=APPROXIMATIONS[self.gelu])
        s = self.second(hidden).squeeze(2).to(q.dtype)
        M = (s.amax() if self.batch_maximum else s.masked_fill(~real, 0).amax(1, keepdim=True)).clamp(min=0)
        A = (s - M).exp() * merging
        beside = (around @ A.unsqueeze(2)).squeeze(2).to(A.dtype)
        return A / (A + (-M).exp() + beside + MIN_PROBABILITY)


def _left_over(of: State) -> Tensor:
    """(b,), the logarithm of all existence over the last word's; 0 if that was alone once."""
    return (of.of_words().sum(1) / of.at_last(of.e)).log().masked_fill(of.single, 0)


def _order(of: State, merged_by: MergedBy) -> Tensor:
    """(b, T - 1) int64: the gap after each word by the round in which the word was merged.

    Of words merged in one round the one with the largest sum comes first, or by "existence" the left one; so too of
    those never merged, or by "existence" the one that exists least.
    """
    gone, last, inner = of.gone[:, 1:-2], of.e.shape[1] - 2, slice(1, -2)
    if merged_by == "existence":
        late = of.e[:, inner].detach().masked_fill(gone <= last, 0)
    else:
        late = -(of.sums[:, inner] / SUM_UNIT).round()
    first = late.argsort(dim=1, stable=True)
    there = of.places()[2][:, inner]
    rounds = gone.where(there, last + 2).gather(1, first)
    order = first.gather(1, rounds.argsort(dim=1, stable=True))
    return order.masked_fill(~there, CLOSED)
