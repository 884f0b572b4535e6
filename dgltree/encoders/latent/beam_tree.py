"""Beam Tree cells: the best few orders in which neighbours are joined, and the mean of what they come to."""

from typing import Any

from dgltree.arguments import check_size
from dgltree.encoders.encoded import Beams
from dgltree.encoders.latent.beams import search
from dgltree.encoders.latent.chunks import Items, JoinResult
from dgltree.encoders.latent.core import JoiningCore, sorted_on_cpu
from dgltree.encoders.latent.nodes import Nodes
from dgltree.encoders.latent.scorers import ChildrenScore, LinearScore


class BeamSearch(JoiningCore):
    """The common part of both; a subclass gives ``score``.

    Args:
        size: the number of ids.
        hidden_size: n.
        own: the subclass's options, for ``config``.
        beam_size: K.
        noise: whether in training Gumbel noise chooses the proposals and the beams, as in the authors' first program;
            their later one has none.
        shared: as in :class:`dgltree.encoders.latent.core.JoiningCore`.
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
        **shared: Any,
    ) -> None:
        super().__init__(size, hidden_size, {"beam_size": beam_size, "noise": noise, **own}, **shared)
        check_size("beam_size", beam_size)
        self.beam_size, self.noise = beam_size, noise

    def join(self, items: Items) -> JoinResult:
        """The trace has the ``totals`` (B, K), the logarithm of each beam's probability, in the order of the parse."""
        rows, lengths, back = sorted_on_cpu(items)
        nodes = Nodes(self.cell, self.norm, self.score, items.states)
        noise, soft = self.training and self.noise, self.training and self.soft
        found = search(nodes, rows, lengths, self.beam_size, noise=noise, soft=soft)
        weights = found.weights
        state = (weights.unsqueeze(2) * nodes.states.read(found.rows)).sum(1)
        best = weights.detach().argsort(dim=1, descending=True, stable=True)
        orders = found.orders.gather(1, best.unsqueeze(2).expand_as(found.orders))
        parse = Beams(orders[back], weights.detach().gather(1, best)[back])
        return JoinResult(state[back], parse, trace={"totals": found.total.gather(1, best)[back]})


class SequenceBeamTree(BeamSearch):
    r"""The Beam Tree cell (Ray Chowdhury & Caragea 2023, arXiv 2305.19999).

    Of every beam of states h, all pairs of neighbours are composed and scored, and the K best are proposed; of all
    proposals the K with the best totals a become the next beams, until one state is left in each.

    .. math::
        c_{b,j} &= cell(h_{b,j}, h_{b,j+1}), \quad s_{b,j} = w \cdot c_{b,j} + w_0, \quad
        a_{b,j} = a_b + \log(softmax(s_b)_j + 10^{-20}) \\
        g &= \sum_b softmax(a)_b \, h_b

    Nothing but the totals carries a gradient to the scorer. Of scores within 1e-9 of each other the leftmost wins.

    Args:
        size: the number of ids.
        hidden_size: n.
        one_soft: whether in training all proposals but the K - 1 best are averaged into one beam (OneSoft).
        shared: ``beam_size`` K, and ``noise``, whether in training Gumbel noise chooses the proposals and the beams, as
            in the authors' first program (their later one has none); and those of
            :class:`dgltree.encoders.latent.core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`dgltree.encoders.latent.core.JoiningCore` does, and for a beam size below 1.
    """

    def __init__(self, size: int, hidden_size: int, *, one_soft: bool = False, **shared: Any) -> None:
        super().__init__(size, hidden_size, {"one_soft": one_soft}, **shared)
        self.soft = one_soft
        self.score = LinearScore(hidden_size)


class SequenceEfficientBeamTree(BeamSearch):
    r"""The Efficient Beam Tree cell (Ray Chowdhury & Caragea 2023, arXiv 2307.10779).

    As :class:`SequenceBeamTree`, but a pair is scored by the first k numbers of its two states, so that only what is
    kept has to be composed:

    .. math:: s_{b,j} = v \cdot GELU(U [h_{b,j}^{1..k}; h_{b,j+1}^{1..k}] + d) + d'

    Args:
        size: the number of ids.
        hidden_size: n.
        slice_size: k; None: all n.
        shared: as of :class:`SequenceBeamTree`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`SequenceBeamTree` does, and for a slice size below 1.
    """

    def __init__(self, size: int, hidden_size: int, *, slice_size: int | None = 64, **shared: Any) -> None:
        super().__init__(size, hidden_size, {"slice_size": slice_size}, **shared)
        if slice_size is not None:
            check_size("slice_size", slice_size)
        self.score = ChildrenScore(hidden_size, slice_size)
