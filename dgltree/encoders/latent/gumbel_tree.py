"""The Gumbel Tree-LSTM: one order of merges, drawn, with the gradient of the draw's softmax."""

import math
from typing import Literal, get_args

import torch
from torch import Tensor

from dgltree.encoders.encoded import Encoded, Merges
from dgltree.encoders.latent.beams import search
from dgltree.encoders.latent.choice import gumbel, leftmost_best, shrink, straight_through
from dgltree.encoders.latent.core import JoiningCore, longest_first
from dgltree.encoders.latent.scorers import ChildrenScore, LinearScore, QueryScore, Score
from dgltree.induction.merges import CLOSED

Scorer = Literal["query", "linear", "children"]
SCORERS = get_args(Scorer)
SLICE = 64
"""Numbers of a state that "children" reads."""


class SequenceGumbelTree(JoiningCore):
    r"""The Gumbel Tree-LSTM (Choi et al. 2018, arXiv 1707.02786), with any cell and score.

    Until one state is left: all neighbours are composed and scored, and one pair is joined,

    .. math::
        c_j &= cell(h_j, h_{j+1}), \quad s_j = q \cdot c_j / \sqrt n, \quad
        y = softmax((s + \epsilon) / \tau), \quad \epsilon \sim Gumbel \\
        m &= onehot(\arg\max y) \text{ with the gradient of } y, \quad
        h' = shrink(h, m, c)

    In evaluation m is the one of the best s, without noise; then only what a merge changes is computed, by
    :mod:`dgltree.encoders.latent.beams`. Of scores within 1e-9 of each other the leftmost wins.

    Args:
        size: the number of ids.
        hidden_size: n.
        score: "query" (published); "linear", :math:`w \cdot c_j + w_0` (GT-GRC with ``cell="grc"``); "children", the
            scorer of the Efficient Beam Tree (EGT-GRC).
        scaled: whether "query" divides by the root of n, as the published program does and the paper does not.
        forget_bias: added to the forget gates of "tree_lstm"; 1 in the published program, 0 in the paper.
        temperature: :math:`\tau`.
        noise: whether training draws; without noise it takes the best.
        cell, embedding_size, dropout, cell_dropout, max_length: as in
            :class:`dgltree.encoders.latent.core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0; q N(0, 0.01); "tree_lstm" orthogonal, its biases 0; torch's
        of the
    rest.

    Raises ``ValueError`` as :class:`dgltree.encoders.latent.core.JoiningCore` does, for another score, and for a
    temperature that is not above 0.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: str = "tree_lstm",
        score: Scorer = "query",
        scaled: bool = True,
        forget_bias: float = 1.0,
        temperature: float = 1.0,
        noise: bool = True,
        embedding_size: int | None = None,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        own = {"score": score, "scaled": scaled, "forget_bias": forget_bias, "temperature": temperature, "noise": noise}
        shared = (cell, embedding_size, dropout, cell_dropout, max_length)
        super().__init__(size, hidden_size, *shared, own, forget_bias=forget_bias)
        if score not in SCORERS:
            raise ValueError(f"score is {score!r}; it must be one of {', '.join(SCORERS)}")
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; it must be above 0")
        self.temperature, self.noise = temperature, noise
        self.score = _made(score, hidden_size, scaled)

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The trace has, in training, ``choices`` (B, T - 1, T - 1): the softmax of each step over its pairs."""
        order = longest_first(lengths)
        back, ids, lengths = order.argsort(), ids[order], lengths[order]
        if not self.training:
            nodes, rows = self.nodes(ids, lengths, self.score)
            found = search(nodes, rows, lengths.tolist(), 1)
            root = self.cell.h(nodes.states.read(found.rows[:, 0]))
            return Encoded(root[back], Merges(found.orders[back, 0]))
        root, merges, choices = self._drawn(self.words(ids), lengths.tolist())
        return Encoded(root[back], Merges(merges[back]), trace={"choices": choices[back]} if trace else None)

    def _drawn(self, h: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Roots (B, n), merges (B, T - 1) and choices (B, T - 1, T - 1) of words (B, T, D), the longest first."""
        rows, longest = h.shape[:2]  # padding may be wider than what is longest
        gaps = torch.arange(longest - 1, device=h.device).expand(rows, -1)
        merges = torch.full_like(gaps, CLOSED)
        choices = h.new_zeros(rows, longest - 1, longest - 1)
        ended = []
        for t in range(lengths[0] - 1):
            count = sum(length > t + 1 for length in lengths)
            ended.append(h[count:, 0])
            h, gaps = h[:count], gaps[:count]
            candidates = torch.tensor(lengths[:count], device=h.device).unsqueeze(1) - 1 - t
            left, right = h[:, :-1], h[:, 1:]
            composed = self.cell(left, right, self.norm)
            scores = self._scores(left, right, composed, candidates)
            soft, at = (scores / self.temperature).softmax(1), leftmost_best(scores, 1)
            merges[:count, t] = gaps.gather(1, at).squeeze(1)
            choices[:count, t, : soft.shape[1]] = soft.detach()
            h = shrink(h, straight_through(soft, at), composed)
            places = torch.arange(gaps.shape[1] - 1, device=gaps.device)
            gaps = gaps.gather(1, places + (places >= at))
        ended.append(h[:, 0])
        return self.cell.h(torch.cat(ended[::-1])), merges, choices

    def _scores(self, left: Tensor, right: Tensor, composed: Tensor, candidates: Tensor) -> Tensor:
        """(b, S - 1), of the pairs, with noise; -inf behind the last of each sequence."""
        h = self.cell.h
        scores = self.score(h(left), h(right)) if self.score.of_children else self.score(h(composed))
        scores = scores + gumbel(scores) if self.noise else scores
        there = torch.arange(scores.shape[1], device=scores.device) < candidates
        return scores.masked_fill(~there, -math.inf)


def _made(score: Scorer, hidden_size: int, scaled: bool) -> Score:
    if score == "query":
        return QueryScore(hidden_size, scaled)
    return LinearScore(hidden_size) if score == "linear" else ChildrenScore(hidden_size, SLICE)
