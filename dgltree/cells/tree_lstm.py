"""The N-ary Tree-LSTM."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.cell import Cell
from dgltree.engine.contract import Children, Computed, Fused, Map, Shapes, State, Widths
from dgltree.engine.typed_linear import Linear


class TreeLSTM(Cell):
    r"""The N-ary Tree-LSTM (Tai et al. 2015, arXiv 1503.00075, eq. 9-14) with a forget gate for each child.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> trees = [dgltree.read_infix("sin(x) + 3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> states = dgltree.propagate(dgltree.batch(trees, vocabulary), TreeLSTM(vocabulary, hidden_size=8))
        >>> {name: tuple(state.shape) for name, state in states.items()}
        {'h': (4, 8), 'c': (4, 8)}

    .. math::
        in &= \sigma(W_f^{in} i + b), \quad o = \sigma(W_f^o i + b), \quad u = \tanh(W_f^u i + b) \\
        f_k &= \sigma(W_f^k i + b^k) \\
        c &= in \odot drop(u) + \sum_k f_k \odot c_k, \qquad h = o \odot \tanh(c)

    With ``input_size`` every gate also gets :math:`W_f^{\cdot,x} x_j` (Tai shares one forget matrix for x over the
    children; one for each child is a superset).

    State: ``h`` (n,), ``c`` (n,).

    Args:
        vocabulary, hidden_size, options: see :class:`Cell`.

    Initialisation, as published (Arabshahi et al. 2021): for two and more children one bias-free Linear(n, n) for each
    child, so weights U(-1/sqrt(n), 1/sqrt(n)) and biases 0; for one child a Linear(n, n) with its bias. No offset on
    the forget gates.

    See also: :class:`ChildSumTreeLSTM` for any number of children.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for name, linear in self.named_maps().items():
            if name.startswith("gates_") and linear.affine.fan_in > self.hidden_size:
                linear.reset_parameters(self.hidden_size**-0.5)
                nn.init.zeros_(cast(Tensor, linear.bias))

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,), "c": (self.hidden_size,)}

    def gates(self, arity: int) -> Widths:
        n = self.hidden_size
        return {"u": n, "in_o_f": (2 + arity) * n}  # in, o, f_1 ... f_N lie together: one sigmoid for all

    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        in_, o, *f = torch.sigmoid(pre["in_o_f"]).split(self.hidden_size, -1)
        return lstm_state(in_, o, f, torch.tanh(pre["u"]), children["c"], self.drop)

    def fused(self) -> Fused:
        return Fused("lstm")


def lstm_state(
    in_: Tensor, o: Tensor, f: Sequence[Tensor], u: Tensor, c: Sequence[Tensor], drop: Map
) -> dict[str, Any]:
    r""":math:`c = in \odot drop(u) + \sum_k f_k \odot c_k, h = o \odot \tanh(c)`, all (..., n)."""
    new_c = in_ * drop(u)
    for f_k, c_k in zip(f, c, strict=True):
        new_c = new_c + f_k * c_k
    h = o * torch.tanh(new_c)
    return {"h": h, "c": new_c, "in": in_, "o": o, "u": u, "f": f}
