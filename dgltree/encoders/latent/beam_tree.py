"""Beam Tree cells: the best few orders in which neighbours are joined, and the mean of what they come to."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from dgltree.encoders.encoder import Beams, Encoded
from dgltree.encoders.latent.beams import FinalBeams, Starts, search
from dgltree.encoders.latent.beams_of_chunks import HANDED_ON, Draws, HandedOn, join_beams
from dgltree.encoders.latent.choice import ChildrenScore, LinearScore
from dgltree.encoders.latent.gated_attention import ParentAttention
from dgltree.encoders.latent.joining_core import Items, JoiningCore, JoinResult
from dgltree.encoders.latent.nodes import Nodes
from dgltree.encoders.sequence.padding import check_sequences
from dgltree.encoders.sequence.s4d import S4DFront
from dgltree.induction.merges import CLOSED, build_nodes
from dgltree.support.arguments import check_choice, check_size
from dgltree.support.torch_internals import exclude_from_compile

# ---------------------------------------------------------------------------------------------------------------------
# Nodes of beams, and each word's vector among the nodes above it.


class BeamNodes(NamedTuple):
    """R beams of up to T words."""

    rows: Tensor
    """(R, 2 T - 1) int64, of the words, then of what each merge made; 0 after the last merge. On the CPU."""
    below: Tensor
    """(R, T, T - 1) bool, whether a word is below what a merge made."""
    heights: Tensor
    """(R, T - 1) int64, 1 of what is made of two words."""


def beam_nodes(nodes: Nodes, words: Tensor, orders: Tensor, lengths: Tensor) -> BeamNodes:
    """The nodes that beams are made of, which all are there.

    Args:
        nodes: of the search.
        words: (R, T) int64, their rows.
        orders: (R, T - 1) int64, the merges.
        lengths: (R,) int64. All on the CPU.
    """
    built = build_nodes(orders, lengths)
    beams, T = words.shape
    rows = torch.cat([words, torch.zeros_like(orders)], 1)
    of_words = torch.eye(T, dtype=torch.bool).expand(beams, -1, -1)
    of_merges = torch.zeros(beams, T - 1, T, dtype=torch.bool)
    covered = torch.cat([of_words, of_merges], 1)  # (R, 2 T - 1, T), which words a node covers
    for s in range(T - 1):
        going = torch.nonzero(orders[:, s] != CLOSED).squeeze(1)
        left = built.left[going, s]
        right = built.right[going, s]
        pairs = nodes.pairs(rows[going, left], rows[going, right])
        rows[going, T + s] = nodes.built(pairs)
        covered[going, T + s] = covered[going, left] | covered[going, right]
    below = covered[:, T:].transpose(1, 2)
    return BeamNodes(rows, below, built.level[:, T:])


class InContext(NamedTuple):
    """The words of B sentences of up to T words among the nodes of K beams."""

    words: Tensor
    """(B, T, n), the mean over the beams of what each word becomes; 0 after a length."""
    attention: Tensor
    """(B, K, T, T - 1), of each word to what each merge of a beam made, 0 to what it is not below."""


def words_in_context(
    attention: ParentAttention, nodes: Nodes, ended: FinalBeams, words: Tensor, lengths: Tensor
) -> InContext:
    """Each word by the nodes above it in each beam.

    Args:
        attention: to the ancestors.
        nodes: of the search.
        ended: its beams.
        words: (B, T) int64, the words' rows.
        lengths: (B,) int64.
    """
    rows, T = words.shape
    beams = ended.total.shape[1]
    orders = ended.orders.where(ended.alive.unsqueeze(2), ended.orders[:, :1])  # any for those that do not count
    made = beam_nodes(
        nodes,
        words.cpu().repeat_interleave(beams, 0),
        orders.flatten(0, 1).cpu(),
        lengths.cpu().repeat_interleave(beams),
    )
    h = nodes.cell.h(nodes.states.read(made.rows))  # (B K, 2 T - 1, n)
    below = made.below.to(h.device, non_blocking=True)
    heights = made.heights.to(h.device, non_blocking=True)
    x, alpha = attention(h[:, :T], h[:, T:], below, heights)
    x = x.unflatten(0, (rows, beams))
    mean = (ended.weights.view(rows, beams, 1, 1) * x).sum(1)
    padding = torch.arange(T, device=h.device) >= lengths.unsqueeze(1)
    mean = mean.masked_fill(padding.unsqueeze(2), 0)
    return InContext(mean, alpha.unflatten(0, (rows, beams)))


SEEDS = 2**31
"""How many seeds of draws there are."""


class BeamSearch(JoiningCore):
    """A search by beams, the common part of both Beam Tree cells; a subclass gives ``score``.

    Args:
        size: the number of ids.
        hidden_size: n.
        own: the subclass's options, for ``config``.
        beam_size: K.
        noise: whether in training Gumbel noise chooses the proposals and the beams, as in the authors' first program;
            their later one has none.
        handed_on: what a chunk hands on to the next level. Its beams, so that those of a sequence begin with as many:
            "drawn", the first, and others by their probabilities (beam alignment), "random", the first, and any others,
            "ranked", as they are. Or "mean", one state, their mean by their probabilities.
        draw_seed: of the draws in evaluation, which are so the same in each call and for any batch; in training torch's
            generator draws.
        shared: as in :class:`dgltree.encoders.latent.joining_core.JoiningCore`.
    """

    score: LinearScore | ChildrenScore
    soft: bool = False

    def __init__(
        self,
        size: int,
        hidden_size: int,
        own: dict[str, Any],
        *,
        beam_size: int = 5,
        noise: bool = True,
        handed_on: HandedOn = "drawn",
        draw_seed: int = 0,
        **shared: Any,
    ) -> None:
        own = {"beam_size": beam_size, "noise": noise, "handed_on": handed_on, "draw_seed": draw_seed, **own}
        super().__init__(size, hidden_size, own, **shared)
        check_size("beam_size", beam_size)
        check_choice("handed_on", handed_on, HANDED_ON)
        if handed_on in ("ranked", "random") and self.chunk_size is None:
            raise ValueError(
                f"handed_on is {handed_on!r}, but states are handed on only between chunks: give a chunk_size"
            )
        if not 0 <= draw_seed < SEEDS:
            raise ValueError(f"draw_seed is {draw_seed}; it must be from 0 to {SEEDS - 1}")
        self.beam_size = beam_size
        self.noise = noise
        self.handed_on = handed_on
        self.draw_seed = draw_seed

    def join(self, items: Items) -> JoinResult:
        """The trace has the ``totals`` (B, K), the logarithm of each beam's probability, in the order of the parse."""
        starts = Starts.of(items.rows, items.states)
        return _answer(self._searched(items.states, starts, items.lengths))

    def in_chunks(self, items: Items, chunk_size: int) -> JoinResult:
        """The result of beams handed on has the trace of :meth:`join`; that of their mean has none."""
        if self.handed_on == "mean":
            return super().in_chunks(items, chunk_size)
        seed = None if self.training else self.draw_seed
        ended = join_beams(self._searched, items, chunk_size, self.handed_on, Draws(seed))
        return _answer(ended)

    def _searched(self, states: Tensor, starts: Starts, lengths: Tensor) -> FinalBeams:
        return self._search(self._nodes(states), starts, lengths)

    def _nodes(self, states: Tensor) -> Nodes:
        return Nodes(self.cell, self.norm, self.score, states)

    def _search(self, nodes: Nodes, starts: Starts, lengths: Tensor) -> FinalBeams:
        noise = self.training and self.noise
        soft = self.training and self.soft
        return search(nodes, starts, lengths, self.beam_size, noise=noise, soft=soft)


def _answer(ended: FinalBeams) -> JoinResult:
    """The mean g (4) of the beams' roots; the beams of the parse, the largest weight first."""
    weights = ended.weights
    g = (weights.unsqueeze(2) * ended.state).sum(1)
    best = _best(weights)
    orders = ended.orders.gather(1, best.unsqueeze(2).expand_as(ended.orders))
    parse = Beams(orders, weights.detach().gather(1, best))
    totals = ended.total.gather(1, best)
    return JoinResult(g, parse, trace={"totals": totals})


def _best(weights: Tensor) -> Tensor:
    """(B, K) int64, the beams of each sequence, the largest weight first."""
    return weights.detach().argsort(dim=1, descending=True, stable=True)


class SequenceBeamTree(BeamSearch):
    r"""The Beam Tree cell (Ray Chowdhury & Caragea 2023, arXiv 2305.19999).

    Of every beam of states h, all pairs of neighbours are composed and scored, and the K best are proposed; of all
    proposals the K with the best totals a become the next beams, until one state is left in each.

    .. math::
        c_{b,j} &= cell(h_{b,j}, h_{b,j+1})\quad(1) \\
        s_{b,j} &= w \cdot c_{b,j} + w_0\quad(2) \\
        a_{b,j} &= a_b + \log(softmax(s_b)_j + 10^{-20})\quad(3) \\
        g &= \sum_b softmax(a)_b \, h_b\quad(4)

    Nothing but the totals carries a gradient to the scorer. Of scores within 1e-9 of each other the leftmost wins.

    Args:
        size: the number of ids.
        hidden_size: n.
        one_soft: whether in training all proposals but the K - 1 best are averaged into one beam (OneSoft).
        shared: those of :class:`BeamSearch` and of :class:`dgltree.encoders.latent.joining_core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`JoiningCore` does, for a beam size below 1, another
    way to hand beams on or one without chunks, and a seed that is none.
    """

    def __init__(self, size: int, hidden_size: int, *, one_soft: bool = False, **shared: Any) -> None:
        super().__init__(size, hidden_size, {"one_soft": one_soft}, **shared)
        self.soft = one_soft
        self.score = LinearScore(hidden_size)


class SequenceEfficientBeamTree(BeamSearch):
    r"""The Efficient Beam Tree cell (Ray Chowdhury & Caragea 2023, arXiv 2307.10779).

    As :class:`SequenceBeamTree`, but a pair is scored by the first k numbers of its two states, so that only what is
    kept has to be composed:

    .. math:: s_{b,j} = v \cdot GELU(U [h_{b,j}^{1..k}; h_{b,j+1}^{1..k}] + d) + d'\quad(2)

    With ``in_context`` each word has a vector, too, of the nodes above it in all beams
    (:class:`dgltree.encoders.latent.gated_attention.ParentAttention`): a word's meaning in its sentence.

    Args:
        size: the number of ids.
        hidden_size: n.
        slice_size: k; None: all n.
        in_context: whether words have vectors in context; not with a ``chunk_size``.
        front: "s4d": a state space layer over the embeddings (:class:`dgltree.encoders.sequence.s4d.S4DFront`), as
            published of recursion in recursion, with the dropout of the embeddings; None: there is none.
        shared: as of :class:`SequenceBeamTree`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`SequenceBeamTree` does, for a slice size below 1, another front, and words in
    context of what is joined in chunks.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        slice_size: int | None = 64,
        in_context: bool = False,
        front: Literal["s4d"] | None = None,
        **shared: Any,
    ) -> None:
        own = {"slice_size": slice_size, "in_context": in_context, "front": front}
        super().__init__(size, hidden_size, own, **shared)
        if slice_size is not None:
            check_size("slice_size", slice_size)
        if in_context and self.chunk_size is not None:
            raise ValueError("in_context reads the nodes of whole beams; leave out in_context or chunk_size")
        if front not in (None, "s4d"):
            raise ValueError(f"front is {front!r}; it must be 's4d' or None")
        self.front = None if front is None else S4DFront(self.width, self.config["dropout"])
        self.score = ChildrenScore(hidden_size, slice_size)
        self.context = ParentAttention(hidden_size, self.config["cell_dropout"]) if in_context else None

    def items(self, ids: Tensor, lengths: Tensor) -> Items:
        """The words of ids (B, T); with a front every word has a row of its own."""
        if self.front is None:
            return super().items(ids, lengths)
        x = self.dropout(self.embedding(ids))
        states = self.leaves(self.front(x, lengths))
        return Items.of_places(states, lengths)

    def words_in_context(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, n), a vector of each word, the mean over the beams; 0 after a length.

        Args:
            ids: (B, T) int64.
            lengths: (B,) int64, 1 to T.

        Raises ``ValueError`` for other shapes, lengths and ids, and without the option ``in_context``.
        """
        return self.read_words(ids, lengths)[0]

    @exclude_from_compile
    def read_words(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The words in context, and the vectors of the sequences (B, n), by one pass.

        Raises ``ValueError`` as :meth:`words_in_context` does.
        """
        if self.context is None:
            raise ValueError("this encoder computes no word vectors in context: build it with in_context=True")
        check_sequences(ids, lengths, self.size, self.max_length)
        ended, context = self._in_context(self.context, ids, lengths)
        root = self.cell.h(_answer(ended).state)
        return context.words, root

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The result of a call. With ``in_context`` the trace has ``ancestors``, too (B, K, T, T - 1): how much each
        word attends to the node that each merge of a beam made, beams in the order of the parse."""
        if self.context is None or not trace:
            return super().read(ids, lengths, trace)
        ended, context = self._in_context(self.context, ids, lengths)
        answer = _answer(ended)
        best = _best(ended.weights)[:, :, None, None]
        ancestors = context.attention.gather(1, best.expand_as(context.attention))
        kept = {**answer.trace, "ancestors": ancestors}
        return Encoded(self.cell.h(answer.state), answer.parse, trace=kept)

    def _in_context(self, context: ParentAttention, ids: Tensor, lengths: Tensor) -> tuple[FinalBeams, InContext]:
        items = self.items(ids, lengths)
        nodes = self._nodes(items.states)
        starts = Starts.of(items.rows, items.states)
        ended = self._search(nodes, starts, lengths)
        return ended, words_in_context(context, nodes, ended, items.rows, lengths)
