"""The Continuous Recursive Neural Network: all neighbours are merged a little, in rounds, the surest first."""

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from dgltree.encoders.encoded import Merges
from dgltree.encoders.latent.chunks import Items, JoinResult
from dgltree.encoders.latent.core import JoiningCore
from dgltree.encoders.latent.existence import NEIGHBOURS, Neighbours, neighbours
from dgltree.encoders.sequence.length_groups import length_groups
from dgltree.induction.merges import CLOSED

Version = Literal["first", "later"]
VERSIONS = get_args(Version)
THRESHOLDS = {"first": 0.01, "later": 0.1}
"""The existence below which a node has gone."""
FEATURES = 64
"""Of "first": how many numbers say whether something was just merged into a node."""
LEAST = 4e-8
HALF = 0.5
"""The existence below which a node has been merged, for the tree that is read from a pass."""


class Pass(NamedTuple):
    """The results of b sequences of T words."""

    root: Tensor
    """(b, D)"""
    order: Tensor
    """(b, T - 1) int64, merges."""
    penalty: Tensor
    """(b,)"""
    existence: Tensor
    """(b, T), at the end."""


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

    A node counts as merged in the round in which its existence falls below 1/2; those that never do come last, the
    least existing first. This is the tree of the pass.

    Args:
        size: the number of ids.
        hidden_size: n.
        version: "first": threshold 0.01, one LayerNorm for leaves and cell, 64 features of what was just merged, and a
            penalty on a sequence that never came down to its last word. "later", the authors' later programs: 0.1, two
            LayerNorms, neither features nor penalty.
        halt: whether a sequence may be done before T rounds.
        penalty: weight of the penalty of "first".
        batch_maximum: M, which the programs take over a whole batch, so that it depends on the rest of the batch (by
            underflow, and through 4e-8); else it is that of the sequence.
        neighbours: "cut": R as above, as in all programs; "product": equation 6 of the paper,
            :math:`R_{ij} = e_j \prod_{i<k<j} (1 - e_k)`.
        shared: as in :class:`dgltree.encoders.latent.core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0, and START, END and the features N(0, 1); torch's of the rest.

    Raises ``ValueError`` as :class:`dgltree.encoders.latent.core.JoiningCore` does, and for another version or way.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        version: Version = "later",
        halt: bool = True,
        penalty: float = 0.01,
        batch_maximum: bool = False,
        neighbours: Neighbours = "cut",
        **shared: Any,
    ) -> None:
        for name, value, known in (("version", version, VERSIONS), ("neighbours", neighbours, NEIGHBOURS)):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        own = {"version": version, "halt": halt, "penalty": penalty, "batch_maximum": batch_maximum}
        super().__init__(size, hidden_size, {**own, "neighbours": neighbours}, **shared)
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
        groups = everything if self.batch_maximum else length_groups(lengths)
        found = [self._pass(items.states[items.rows[rows, :longest]], lengths[rows]) for rows, longest in groups]
        back = torch.cat([rows for rows, _ in groups]).argsort()
        order, existence = lengths.new_full((count, most - 1), CLOSED), items.states.new_zeros(count, most)
        for (rows, _), of in zip(groups, found, strict=True):
            order[rows, : of.order.shape[1]] = of.order
            existence[rows, : of.existence.shape[1]] = of.existence.detach()
        root, penalty = (torch.cat(part)[back] for part in ([f.root for f in found], [f.penalty for f in found]))
        losses = {"halting": self.penalty * penalty} if self.penalty else {}
        return JoinResult(root, Merges(order), losses, {"existence": existence})

    def _pass(self, states: Tensor, lengths: Tensor) -> Pass:
        """All rounds over states (b, T, D), lengths (b,); the places are START, T words, and END after the last."""
        rows, words, _ = states.shape
        places = torch.arange(words + 2, device=lengths.device)
        end, last = (lengths + 1).unsqueeze(1), lengths.unsqueeze(1)
        real, merges = places <= end, (places > 0) & (places < last)
        inner = (places > 0) & (places <= last)
        h = self._between_ends(states, places == end)
        e, q = real.to(h.dtype), h.new_zeros(rows, words + 2)
        done, single = lengths < 1, lengths < 2
        gone = torch.full((rows, words + 2), words + 1, device=lengths.device)
        for t in range(words):
            if bool(done.all()):
                break
            going = (~done & (lengths > t)).unsqueeze(1)
            L, R = neighbours(e, self.neighbours)
            p = self._merged(h, q, L, R, real, merges)
            q_now = (L @ p.unsqueeze(2)).squeeze(2).to(e.dtype) * inner
            new = self.cell(L @ h, h, self.norm)
            share = q_now.unsqueeze(2)
            h = (share * new + (1 - share) * h).where(going.unsqueeze(2), h)
            e = (e * (1 - p)).where(going, e)
            q = q_now.where(going, q)
            gone = gone.masked_fill((gone > words) & (e < HALF) & merges & going, t)
            above = ((e > self.threshold) & inner).sum(1) <= 1
            single = single | (above & going.squeeze(1))
            done = done | above if self.halt else done
        words_e = e[:, 1:-1] * inner[:, 1:-1]
        at_end = e.gather(1, last).squeeze(1)
        penalty = (words_e.sum(1) / at_end).log().masked_fill(single, 0)
        root = h.gather(1, last.unsqueeze(2).expand(-1, -1, h.shape[2])).squeeze(1)
        return Pass(root, _order(gone[:, 1:-2], e[:, 1:-2].detach(), lengths, words), penalty, words_e)

    def _between_ends(self, states: Tensor, at_end: Tensor) -> Tensor:
        """(b, T + 2, D), the states of START, the words, and END after the last."""
        start, end = self.leaves(self.dropout(self.ends.expand(len(states), -1, -1))).split(1, 1)
        return end.where(at_end.unsqueeze(2), torch.cat([start, states, end], 1))

    def _merged(self, h: Tensor, q: Tensor, L: Tensor, R: Tensor, real: Tensor, merges: Tensor) -> Tensor:
        """p, (b, S)."""
        Lh, Rh = L @ h, R @ h
        window = [L @ Lh, Lh, h, Rh, R @ Rh]
        if self.features is not None:
            share = q.unsqueeze(2)
            window.append(share * self.features[0] + (1 - share) * self.features[1])
        s = self.second(nn.functional.gelu(self.first(torch.cat(window, 2)))).squeeze(2).to(h.dtype)
        largest = s.detach().masked_fill(~real, 0).amax(1, keepdim=True).clamp(min=0)
        M = largest.amax() if self.batch_maximum else largest
        A = (s - M).exp() * merges
        around = ((L + R) @ A.unsqueeze(2)).squeeze(2).to(A.dtype)
        return A / (A + (-M).exp() + around + LEAST)


def _order(gone: Tensor, e: Tensor, lengths: Tensor, words: int) -> Tensor:
    """(b, T - 1) int64: the gap after each word by the round in which the word was merged.

    Of words merged in one round the left one comes first, of those never merged the one that exists least.
    """
    never = e.masked_fill(gone <= words, 0)
    first = never.argsort(dim=1, stable=True)
    there = torch.arange(words - 1, device=gone.device) < lengths.unsqueeze(1) - 1
    rounds = gone.where(there, words + 2).gather(1, first)
    order = first.gather(1, rounds.argsort(dim=1, stable=True))
    return order.masked_fill(~there, CLOSED)
