"""The Gumbel Tree-LSTM: one order of merges, drawn, with the gradient of the draw's softmax."""

import math
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from dgltree.cells.compose import LSTMComposition
from dgltree.encoders.encoder import Merges
from dgltree.encoders.latent.beams import Starts, search
from dgltree.encoders.latent.choice import (
    ChildrenScore,
    LinearScore,
    QueryScore,
    Score,
    gumbel,
    leftmost_best,
    shrink,
    straight_through,
)
from dgltree.encoders.latent.joining_core import Items, JoiningCore, JoinResult, longest_first, sort_on_cpu
from dgltree.encoders.latent.nodes import Nodes
from dgltree.encoders.sequence.padding import reverse_places
from dgltree.induction.merges import CLOSED
from dgltree.support.arguments import check_choice

# ---------------------------------------------------------------------------------------------------------------------
# Leaves of a Tree-LSTM that know their sentence: the states of an LSTM at each word.


FORGET = 1
"""The gate's place among the four of torch's LSTM."""


class LeafLSTM(nn.Module):
    """[h; c] of an LSTM after each word (Choi et al. 2018, arXiv 1707.02786).

    Args:
        input_size: of x.
        hidden_size: n.
        both: whether a second one reads from right to left, each with n / 2 columns of h and of c.

    Initialisation, as published: input weights Kaiming normal, recurrent weights orthogonal, biases 0,
    those of the forget gates 1.

    Raises ``ValueError`` for an odd n if there are both.
    """

    def __init__(self, input_size: int, hidden_size: int, *, both: bool = False) -> None:
        super().__init__()
        if both and hidden_size % 2:
            raise ValueError(f"hidden_size is {hidden_size}; it must be even, half of it for each direction")
        self.cells = nn.ModuleList(nn.LSTMCell(input_size, hidden_size // (1 + both)) for _ in range(1 + both))
        for name, parameter in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            else:
                (nn.init.orthogonal_ if "_hh" in name else nn.init.kaiming_normal_)(parameter)
            if "bias_ih" in name:
                nn.init.ones_(parameter.detach().chunk(4)[FORGET])

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, 2 n) of x (B, T, input_size) and lengths (B,); of no meaning after a length. In the dtype of x."""
        places = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
        found = []
        for cell, order in zip(self.cells, (places, reverse_places(lengths, x.shape[1])), strict=False):
            back = order.unsqueeze(2)
            states, state = [], None
            for word in x.gather(1, back.expand_as(x)).unbind(1):
                state = cell(word, state)
                states.append(torch.stack(state))
            both = torch.stack(states, 2)  # h and c
            found.append(both.gather(2, back.expand(2, *both.shape[1:])))
        return torch.cat(list(torch.cat(found, 3)), 2).to(x.dtype)


Scorer = Literal["query", "linear", "children"]
SCORERS = get_args(Scorer)
Leaf = Literal["linear", "lstm", "both"]
LEAVES = get_args(Leaf)
Composed = Literal["pairs", "mixture"]
COMPOSED = get_args(Composed)
SLICE = 64
"""Numbers of a state that "children" reads."""


class Drawn(NamedTuple):
    """The results of b sequences, the longest first."""

    state: Tensor
    """(b, D)"""
    merges: Tensor
    """(b, T - 1) int64"""
    choices: Tensor
    """(b, T - 1, T - 1)"""
    nodes: Tensor
    """(b, 2 T - 1, n), for attention alone: h of the words and of what each step joined, 0 if there is none."""
    joined: int
    """Steps."""


class SequenceGumbelTree(JoiningCore):
    r"""The Gumbel Tree-LSTM (Choi et al. 2018, arXiv 1707.02786), with any cell and score.

    Until one state is left: all neighbours are composed and scored, and one pair is joined,

    .. math::
        c_j &= cell(h_j, h_{j+1}), \quad s_j = q \cdot c_j / \sqrt n, \quad
        y = softmax((s + \epsilon) / \tau), \quad \epsilon \sim Gumbel \\
        m &= onehot(\arg\max y) \text{ with the gradient of } y, \quad
        h' = shrink(h, m, c)

    With "children" the cell is called once a step, on the mixtures of the left and of the right states by m, as the
    program of EGT-GRC does; the states are the same as with all pairs composed, the gradient is not:

    .. math:: c = cell(\sum_j m_j h_j, \sum_j m_j h_{j+1}), \quad h' = shrink(h, m, c)

    In evaluation m is the one of the best s, without noise; then only what a merge changes is computed, by
    :mod:`dgltree.encoders.latent.beams`. Of scores within 1e-9 of each other the leftmost wins.

    Args:
        size: the number of ids.
        hidden_size: n.
        score: "query" (published); "linear", :math:`w \cdot c_j + w_0` (GT-GRC with ``cell="grc"``); "children", the
            scorer of the Efficient Beam Tree (EGT-GRC).
        composed: "pairs": all neighbours; "mixture": once a step, as above, for "children" alone; None: "mixture" for
            "children", else "pairs".
        scaled: whether "query" divides by the root of n, with "both" of n / 2, as the published program does and the
            paper does not.
        forget_bias: added to the forget gates of "tree_lstm"; 1 in the published program, 0 in the paper.
        temperature: :math:`\tau`.
        noise: whether training draws; without noise it takes the best.
        leaf: "linear"; "lstm", h and c of an LSTM at each word; "both", those of two LSTMs, one in each direction, with
            n / 2 columns each. The LSTMs are published for the cell "tree_lstm", which alone has a c.
        attention: whether the answer's h is the sum over all 2 T - 1 nodes, the words and what was joined at each step,
            :math:`\sum_t softmax(k \cdot \bar k)_t \, k_t` with their mean :math:`\bar k` (the published program takes
            the mean over the padded width of the batch, and it does not run as it is published: this is what it says).
            Then evaluation composes all neighbours, too.
        shared: as in :class:`dgltree.encoders.latent.joining_core.JoiningCore`; ``cell`` is "tree_lstm".

    Initialisation: embeddings N(0, 1), that of padding 0; q N(0, 0.01); "tree_lstm" orthogonal, its biases 0; torch's
    of the rest.

    Raises ``ValueError`` as :class:`JoiningCore` does, for another score, leaf or way to
    compose, for "mixture" with a score that reads what pairs become, for a temperature that is not above 0, for LSTMs
    with another cell or, of both directions, an odd n, and for attention over what is joined in chunks.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: str = "tree_lstm",
        score: Scorer = "query",
        composed: Composed | None = None,
        scaled: bool = True,
        forget_bias: float = 1.0,
        temperature: float = 1.0,
        noise: bool = True,
        leaf: Leaf = "linear",
        attention: bool = False,
        **shared: Any,
    ) -> None:
        if composed is None:
            composed = "mixture" if score == "children" else "pairs"
        drawing = {"score": score, "scaled": scaled, "temperature": temperature, "noise": noise}
        own = {"composed": composed, "forget_bias": forget_bias, "leaf": leaf, "attention": attention}
        super().__init__(size, hidden_size, {**drawing, **own}, cell=cell, **shared)
        check_choice("score", score, SCORERS)
        check_choice("leaf", leaf, LEAVES)
        check_choice("composed", composed, COMPOSED)
        if composed == "mixture" and score != "children":
            raise ValueError(f"composed is 'mixture', but the score {score!r} needs 'pairs'")
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; it must be above 0")
        if attention and self.chunk_size is not None:
            raise ValueError("attention reads all nodes of one tree; it must be False with a chunk_size")
        if leaf != "linear" and cell != "tree_lstm":
            raise ValueError(f"leaf is {leaf!r}, which gives h and c; it needs the cell tree_lstm, not {cell}")
        self.temperature, self.noise, self.attention = temperature, noise, attention
        if isinstance(self.cell, LSTMComposition):
            self.cell.forget_bias = forget_bias
        if leaf != "linear":
            self.leaf = LeafLSTM(self.width, hidden_size, both=leaf == "both")
        self.mixes = composed == "mixture"
        root = hidden_size // 2 if leaf == "both" else hidden_size
        self.score = _made(score, hidden_size, math.sqrt(root) if scaled else 1.0)

    def items(self, ids: Tensor, lengths: Tensor) -> Items:
        """With an LSTM every word has a row of its own."""
        if not isinstance(self.leaf, LeafLSTM):
            return super().items(ids, lengths)
        states = self.leaf(self.dropout(self.embedding(ids)), lengths)
        return Items(states.flatten(0, 1), torch.arange(ids.numel(), device=ids.device).view(ids.shape), lengths)

    def join(self, items: Items) -> JoinResult:
        """The trace has, in training, ``choices`` (B, T - 1, T - 1): the softmax of each step over its pairs."""
        if not self.training and not self.attention:
            rows, known, order = sort_on_cpu(items.rows, items.lengths)
            nodes = Nodes(self.cell, self.norm, self.score, items.states)
            found = search(nodes, Starts.of(rows, items.states), known, 1)
            back = order.argsort().to(items.states.device, non_blocking=True)
            return JoinResult(nodes.states.read(found.rows[:, 0])[back], Merges(found.orders[back, 0]))
        order = longest_first(items.lengths)
        back, rows, lengths = order.argsort(), items.rows[order], items.lengths[order]
        drawn = self._drawn(items.states[rows], lengths)
        state = self._attended(drawn, lengths) if self.attention else drawn.state
        return JoinResult(state[back], Merges(drawn.merges[back]), trace={"choices": drawn.choices[back]})

    def _drawn(self, h: Tensor, lengths: Tensor) -> Drawn:
        """Of words (B, T, D), the longest first."""
        rows, longest = h.shape[:2]  # padding may be wider than what is longest
        known = lengths.tolist()
        gaps = torch.arange(longest - 1, device=h.device).expand(rows, -1)
        merges = torch.full_like(gaps, CLOSED)
        choices = h.new_zeros(rows, longest - 1, longest - 1)
        ended, nodes = [], [self.cell.h(h)] if self.attention else []
        for t in range(known[0] - 1):
            count = sum(length > t + 1 for length in known)
            ended.append(h[count:, 0])
            h, gaps = h[:count], gaps[:count]
            candidates = lengths[:count].unsqueeze(1) - 1 - t
            left, right = h[:, :-1], h[:, 1:]
            composed = None if self.mixes else self.cell(left, right, self.norm)
            scores = self._scores(left, right, composed, candidates)
            soft, at = (scores / self.temperature).softmax(1), leftmost_best(scores, 1)
            merges[:count, t] = gaps.gather(1, at).squeeze(1)
            choices[:count, t, : soft.shape[1]] = soft.detach()
            m = straight_through(soft if self.training else soft.detach(), at)
            h = shrink(h, m, self._mixture(left, right, m) if composed is None else composed)
            if self.attention:
                joined = (m.unsqueeze(2) * self.cell.h(h)).sum(1, keepdim=True)
                nodes.append(pad(joined, (0, 0, 0, 0, 0, rows - count)))
            places = torch.arange(gaps.shape[1] - 1, device=gaps.device)
            gaps = gaps.gather(1, places + (places >= at))
        ended.append(h[:, 0])
        return Drawn(torch.cat(ended[::-1]), merges, choices, torch.cat(nodes, 1) if nodes else h[:, :0], known[0] - 1)

    def _attended(self, drawn: Drawn, lengths: Tensor) -> Tensor:
        """(b, D), with h the sum over all nodes, weighed by how they agree with their mean."""
        words = drawn.nodes.shape[1] - drawn.joined  # padding may be wider
        places = torch.arange(drawn.nodes.shape[1], device=lengths.device)
        step = places - words + 1
        there = torch.where(places < words, places < lengths.unsqueeze(1), step < lengths.unsqueeze(1))
        k = drawn.nodes * there.unsqueeze(2)
        mean = k.sum(1) / (2 * lengths - 1).unsqueeze(1)
        weights = (k @ mean.unsqueeze(2)).squeeze(2).masked_fill(~there, -math.inf).softmax(1)
        h = (weights.unsqueeze(2) * k).sum(1)
        return torch.cat([h, drawn.state[:, h.shape[1] :]], 1)

    def _mixture(self, left: Tensor, right: Tensor, m: Tensor) -> Tensor:
        """(b, 1, D), what the left and right states (b, S - 1, D), each averaged by m (b, S - 1), become."""
        both = (m.unsqueeze(1) @ side for side in (left, right))
        return self.cell(*both, self.norm)

    def _scores(self, left: Tensor, right: Tensor, composed: Tensor | None, candidates: Tensor) -> Tensor:
        """(b, S - 1), of the pairs, with noise; -inf after the last of each sequence."""
        h = self.cell.h
        if isinstance(self.score, ChildrenScore):
            scores = self.score(torch.stack([h(left), h(right)], -2))
        else:
            assert composed is not None
            scores = self.score(h(composed))
        scores = scores + gumbel(scores) if self.noise and self.training else scores
        there = torch.arange(scores.shape[1], device=scores.device) < candidates
        return scores.masked_fill(~there, -math.inf)


def _made(score: Scorer, hidden_size: int, divisor: float) -> Score:
    if score == "query":
        return QueryScore(hidden_size, divisor)
    return LinearScore(hidden_size) if score == "linear" else ChildrenScore(hidden_size, SLICE)
