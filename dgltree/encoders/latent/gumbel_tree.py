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
    without,
)
from dgltree.encoders.latent.joining_core import Items, JoiningCore, JoinResult, longest_first
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
        directions = 2 if both else 1
        self.cells = nn.ModuleList(nn.LSTMCell(input_size, hidden_size // directions) for _ in range(directions))
        for name, parameter in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            elif "_hh" in name:
                nn.init.orthogonal_(parameter)
            else:
                nn.init.kaiming_normal_(parameter)
            if "bias_ih" in name:
                forget = parameter.detach().chunk(4)[FORGET]
                nn.init.ones_(forget)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, 2 n) of x (B, T, input_size) and lengths (B,); of no meaning after a length. In the dtype of x."""
        T = x.shape[1]
        in_order = torch.arange(T, device=x.device).expand(len(x), -1)
        directions = zip(self.cells, (in_order, reverse_places(lengths, T)), strict=False)
        read: list[Tensor] = []
        for cell, order in directions:
            order = order.unsqueeze(2)
            state = None
            states: list[Tensor] = []
            for word in x.gather(1, order.expand_as(x)).unbind(1):
                state = cell(word, state)
                states.append(torch.stack(state))
            h_and_c = torch.stack(states, 2)  # (2, B, T, n or n / 2)
            back = order.expand(2, *h_and_c.shape[1:])
            read.append(h_and_c.gather(2, back))
        h, c = torch.cat(read, 3)
        return torch.cat([h, c], 2).to(x.dtype)


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
    nodes: list[Tensor]
    """For attention alone: h of the words (b, T, n), then of what each step joined (b, 1, n), 0 if there is none."""


class SequenceGumbelTree(JoiningCore):
    r"""The Gumbel Tree-LSTM (Choi et al. 2018, arXiv 1707.02786), with any cell and score.

    Until one state is left: all neighbours are composed and scored, and one pair is joined,

    .. math::
        c_j &= cell(h_j, h_{j+1})\quad(1) \\
        s_j &= q \cdot c_j / \sqrt n\quad(2) \\
        y &= softmax((s + \epsilon) / \tau), \quad \epsilon \sim Gumbel\quad(3) \\
        m &= onehot(\arg\max y) \text{ with the gradient of } y\quad(4) \\
        h' &= shrink(h, m, c)\quad(5)

    With "children" the cell is called once a step, on the mixtures of the left and of the right states by m, as the
    program of EGT-GRC does; the states are the same as with all pairs composed, the gradient is not:

    .. math:: c = cell(\sum_j m_j h_j, \sum_j m_j h_{j+1})\quad(6)

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
            :math:`\sum_t softmax(k \cdot \bar k)_t \, k_t` (7) with their mean :math:`\bar k` (the published program
            takes the mean over the padded width of the batch, and it does not run as it is published: this is what it
            says). Then evaluation composes all neighbours, too.
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
        own = {
            "score": score,
            "scaled": scaled,
            "temperature": temperature,
            "noise": noise,
            "composed": composed,
            "forget_bias": forget_bias,
            "leaf": leaf,
            "attention": attention,
        }
        super().__init__(size, hidden_size, own, cell=cell, **shared)
        check_choice("score", score, SCORERS)
        check_choice("leaf", leaf, LEAVES)
        check_choice("composed", composed, COMPOSED)
        if composed == "mixture" and score != "children":
            raise ValueError(f"composed is 'mixture', but the score {score!r} needs 'pairs'")
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; it must be above 0")
        if attention and self.chunk_size is not None:
            raise ValueError("attention reads all nodes of one tree; leave out attention or chunk_size")
        if leaf != "linear" and cell != "tree_lstm":
            raise ValueError(f"leaf={leaf!r} computes h and c, which needs the cell tree_lstm, not {cell}")
        self.temperature = temperature
        self.noise = noise
        self.attention = attention
        if isinstance(self.cell, LSTMComposition):
            self.cell.forget_bias = forget_bias
        if leaf != "linear":
            self.leaf = LeafLSTM(self.width, hidden_size, both=leaf == "both")
        self.mixes = composed == "mixture"
        root = hidden_size // 2 if leaf == "both" else hidden_size
        self.score = _made(score, hidden_size, math.sqrt(root) if scaled else 1.0)

    def items(self, ids: Tensor, lengths: Tensor) -> Items:
        """The words of ids (B, T); with an LSTM every word has a row of its own."""
        if not isinstance(self.leaf, LeafLSTM):
            return super().items(ids, lengths)
        x = self.dropout(self.embedding(ids))
        return Items.of_places(self.leaf(x, lengths), lengths)

    def join(self, items: Items) -> JoinResult:
        """The trace has ``choices`` (B, T - 1, T - 1), the softmax of each step, in training and with ``attention``."""
        if not self.training and not self.attention:
            nodes = Nodes(self.cell, self.norm, self.score, items.states)
            ended = search(nodes, Starts.of(items.rows, items.states), items.lengths, 1)
            return JoinResult(ended.state[:, 0], Merges(ended.orders[:, 0]))
        order = longest_first(items.lengths)
        back = order.argsort()
        lengths = items.lengths[order]
        drawn = self._drawn(items.states[items.rows[order]], lengths)
        state = self._attended(drawn, lengths) if self.attention else drawn.state
        return JoinResult(state[back], Merges(drawn.merges[back]), trace={"choices": drawn.choices[back]})

    def _drawn(self, h: Tensor, lengths: Tensor) -> Drawn:
        """The tree of each sequence of words h (B, T, D), the longest first."""
        sequences, longest, _ = h.shape  # padding may be wider than what is longest
        falling = lengths.tolist()
        gaps = torch.arange(longest - 1, device=h.device).expand(sequences, -1)
        merges = torch.full_like(gaps, CLOSED)
        choices = h.new_zeros(sequences, longest - 1, longest - 1)
        ended: list[Tensor] = []
        nodes = [self.cell.h(h)] if self.attention else []
        for t in range(falling[0] - 1):
            going = sum(length > t + 1 for length in falling)
            ended.append(h[going:, 0])
            h = h[:going]
            gaps = gaps[:going]
            left = h[:, :-1]
            right = h[:, 1:]
            composed = None if self.mixes else self.cell(left, right, self.norm)  # (1)
            candidates = lengths[:going].unsqueeze(1) - 1 - t
            scores = self._scores(left, right, composed, candidates)
            y = (scores / self.temperature).softmax(1)  # (3)
            at = leftmost_best(scores, 1)
            merges[:going, t] = gaps.gather(1, at).squeeze(1)
            choices[:going, t, : y.shape[1]] = y.detach()
            m = straight_through(y if self.training else y.detach(), at)  # (4)
            if composed is None:
                composed = self._mixture(left, right, m)
            h = shrink(h, m, composed)  # (5)
            gaps = without(gaps, at.squeeze(1))
            if self.attention:
                joined = (m.unsqueeze(2) * self.cell.h(h)).sum(1, keepdim=True)
                nodes.append(pad(joined, (0, 0, 0, 0, 0, sequences - going)))
        ended.append(h[:, 0])
        return Drawn(torch.cat(ended[::-1]), merges, choices, nodes)

    def _attended(self, drawn: Drawn, lengths: Tensor) -> Tensor:
        """(b, D), with h the sum over all nodes (7), weighed by how they agree with their mean."""
        nodes = torch.cat(drawn.nodes, 1)
        words = drawn.nodes[0].shape[1]  # padding may be wider
        index = torch.arange(nodes.shape[1], device=lengths.device)
        step = index - words + 1
        is_node = torch.where(index < words, index < lengths.unsqueeze(1), step < lengths.unsqueeze(1))
        k = nodes * is_node.unsqueeze(2)
        k_mean = k.sum(1) / (2 * lengths - 1).unsqueeze(1)
        agreement = (k @ k_mean.unsqueeze(2)).squeeze(2)
        weights = agreement.masked_fill(~is_node, -math.inf).softmax(1)
        h = (weights.unsqueeze(2) * k).sum(1)
        rest = drawn.state[:, h.shape[1] :]
        return torch.cat([h, rest], 1)

    def _mixture(self, left: Tensor, right: Tensor, m: Tensor) -> Tensor:
        """(b, 1, D), what the left and right states (b, S - 1, D), each averaged by m (b, S - 1), become (6)."""
        mean_left = m.unsqueeze(1) @ left
        mean_right = m.unsqueeze(1) @ right
        return self.cell(mean_left, mean_right, self.norm)

    def _scores(self, left: Tensor, right: Tensor, composed: Tensor | None, candidates: Tensor) -> Tensor:
        """(b, S - 1), of the pairs (2), with noise; -inf after the last of each sequence."""
        h = self.cell.h
        if isinstance(self.score, ChildrenScore):
            both = torch.stack([h(left), h(right)], -2)
            scores = self.score(both)
        else:
            assert composed is not None
            scores = self.score(h(composed))
        if self.noise and self.training:
            scores = scores + gumbel(scores)
        is_pair = torch.arange(scores.shape[1], device=scores.device) < candidates
        return scores.masked_fill(~is_pair, -math.inf)


def _made(score: Scorer, hidden_size: int, divisor: float) -> Score:
    """The module of a name; ``divisor`` is that of "query"."""
    if score == "query":
        return QueryScore(hidden_size, divisor)
    if score == "linear":
        return LinearScore(hidden_size)
    return ChildrenScore(hidden_size, SLICE)
