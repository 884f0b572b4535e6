"""The child-sum Tree-LSTM."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.sum_cell import SumCell
from dgltree.engine.contract import Children, Computed, Shapes, State, Widths
from dgltree.engine.typed_linear import Linear


class ChildSumTreeLSTM(SumCell):
    r"""The child-sum Tree-LSTM (Tai et al. 2015, arXiv 1503.00075, eq. 2-8): any number of children, unordered.

    .. math::
        \tilde h &= \sum_k h_k, \quad in, o = \sigma(W x + U \tilde h + b), \quad u = \tanh(W x + U \tilde h + b) \\
        f_k &= \sigma(W^f x + U^f h_k + b^f) \\
        c &= in \odot drop(u) + \sum_k f_k \odot c_k, \qquad h = o \odot \tanh(c)

    With ``positions``, which are not in the paper, the order of children makes a difference. The sinusoids :math:`s_k`
    of a child's position (:mod:`dgltree.engine.positions`) are read by its forget gate, and by a gate of its
    h:

    .. math::
        \tilde h = \sum_k r_k \odot h_k, \quad r_k = \sigma(W^r x + U^r h_k + P^r s_k + b^r), \quad
            f_k = \sigma(W^f x + U^f h_k + P^f s_k + b^f)

    With another ``aggregation`` than the paper's, it takes the place of both sums.

    Every gate has its own W, U and b. With ``leaf="gates"`` a leaf is a node whose sums are 0, as in the paper.

    State: ``h`` (n,), ``c`` (n,).

    Args:
        typed: whether each function has weights of its own, at any arity; the paper has one set for all nodes.
        positions, aggregation: see above.
        vocabulary, hidden_size, options: see :class:`Cell`, which also documents the initialisation.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, typed: bool = False, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=typed, **options)
        self.build()

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,), "c": (self.hidden_size,)}

    @property
    def messages(self) -> Shapes:
        return {"h": (self.hidden_size,), "fc": (self.hidden_size,)}

    def message_gates(self) -> Widths:
        widths = {"f": self.hidden_size}
        if self.positions:
            widths["r"] = self.hidden_size
        return widths

    def message(self, pre: State, child: Mapping[str, Tensor]) -> State:
        f = torch.sigmoid(pre["f"])
        fc = f * child["c"]
        if not self.positions:
            return {"h": child["h"], "fc": fc, "f": f}
        r = torch.sigmoid(pre["r"])
        return {"h": r * child["h"], "fc": fc, "f": f, "r": r}

    def gates(self, arity: int) -> Widths:
        return {"u": self.hidden_size, "in_o": 2 * self.hidden_size}  # in and o: one sigmoid for both

    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        in_, o = torch.sigmoid(pre["in_o"]).split(self.hidden_size, -1)
        u = torch.tanh(pre["u"])
        c = in_ * self.drop(u) + children["fc"][0]
        return {"h": o * torch.tanh(c), "c": c, "in": in_, "o": o, "u": u}
