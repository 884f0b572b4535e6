"""Beam Tree cells: the best few orders in which neighbours are joined, and the mean of what they come to."""

from torch import Tensor

from dgltree.arguments import check_size
from dgltree.encoders.encoded import Beams, Encoded
from dgltree.encoders.latent.beams import search
from dgltree.encoders.latent.core import JoiningCore, longest_first
from dgltree.encoders.latent.scorers import ChildrenScore, LinearScore


class BeamSearch(JoiningCore):
    """What both have in common; a subclass gives ``score``."""

    score: LinearScore | ChildrenScore
    beam_size: int
    noise: bool
    soft: bool = False

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The trace has the ``totals`` (B, K), the logarithm of each beam's probability, in the order of the parse."""
        order = longest_first(lengths)
        nodes, rows = self.nodes(ids[order], lengths[order], self.score)
        noise, soft = self.training and self.noise, self.training and self.soft
        found = search(nodes, rows, lengths[order].tolist(), self.beam_size, noise=noise, soft=soft)
        back, weights = order.argsort(), found.weights
        root = (weights.unsqueeze(2) * self.cell.h(nodes.states.read(found.rows))).sum(1)
        best = weights.detach().argsort(dim=1, descending=True, stable=True)
        orders = found.orders.gather(1, best.unsqueeze(2).expand_as(found.orders))
        parse = Beams(orders[back], weights.detach().gather(1, best)[back])
        return Encoded(root[back], parse, trace={"totals": found.total.gather(1, best)[back]} if trace else None)


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
        beam_size: K.
        noise: whether in training Gumbel noise chooses the proposals and the beams, as in the authors' first program;
            their later one has none.
        one_soft: whether in training all proposals but the K - 1 best are averaged into one beam (OneSoft).
        cell, embedding_size, dropout, cell_dropout, max_length: as in
            :class:`dgltree.encoders.latent.core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`dgltree.encoders.latent.core.JoiningCore` does, and for a beam size below 1.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: str = "grc",
        beam_size: int = 5,
        noise: bool = True,
        one_soft: bool = False,
        embedding_size: int | None = None,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        own = {"beam_size": beam_size, "noise": noise, "one_soft": one_soft}
        super().__init__(size, hidden_size, cell, embedding_size, dropout, cell_dropout, max_length, own)
        check_size("beam_size", beam_size)
        self.beam_size, self.noise, self.soft = beam_size, noise, one_soft
        self.score = LinearScore(hidden_size)


class SequenceEfficientBeamTree(BeamSearch):
    r"""The Efficient Beam Tree cell (Ray Chowdhury & Caragea 2023, arXiv 2307.10779).

    As :class:`SequenceBeamTree`, but a pair is scored by the first k numbers of its two states, so that only what is
    kept has to be composed:

    .. math:: s_{b,j} = v \cdot GELU(U [h_{b,j}^{1..k}; h_{b,j+1}^{1..k}] + d) + d'

    Args:
        size: the number of ids.
        hidden_size: n.
        beam_size: K.
        slice_size: k; None: all n.
        noise: whether in training Gumbel noise chooses the proposals and the beams.
        cell, embedding_size, dropout, cell_dropout, max_length: as in
            :class:`dgltree.encoders.latent.core.JoiningCore`.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`SequenceBeamTree` does, and for a slice size below 1.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: str = "grc",
        beam_size: int = 5,
        slice_size: int | None = 64,
        noise: bool = True,
        embedding_size: int | None = None,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        own = {"beam_size": beam_size, "slice_size": slice_size, "noise": noise}
        super().__init__(size, hidden_size, cell, embedding_size, dropout, cell_dropout, max_length, own)
        check_size("beam_size", beam_size)
        if slice_size is not None:
            check_size("slice_size", slice_size)
        self.beam_size, self.noise = beam_size, noise
        self.score = ChildrenScore(hidden_size, slice_size)
