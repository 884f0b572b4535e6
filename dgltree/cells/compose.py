"""Two states to one: a cell's equations on rows of any leading sizes, without a vocabulary or an engine.

For networks that find out by themselves which two states they join. The equations are those of the cells
(:func:`dgltree.cells.compose.gated_recursive`, :func:`dgltree.cells.tree_lstm.lstm_state`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from dgltree.cells.tree_lstm import lstm_state
from dgltree.engine.contract import Map
from dgltree.support.arguments import check_choice
from dgltree.support.torch_internals import inside_transform

# ---------------------------------------------------------------------------------------------------------------------
# The equations of the Gated Recursive Cell, of trees that are given and of trees that are found.


class LayerNorm(nn.LayerNorm):
    """torch's, with second derivatives in ``torch.func``, where those of ``layer_norm`` are wrong (torch 2.13)."""

    def forward(self, v: Tensor) -> Tensor:
        if not inside_transform():
            return super().forward(v)
        centred = v - v.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        scaled = centred * (variance + self.eps).rsqrt()
        return scaled * self.weight + self.bias


def gated_recursive(
    hidden: Tensor, children: Sequence[Tensor], second: Map, drop: Map, norm: Map, act: Map = torch.relu
) -> dict[str, Any]:
    r"""The Gated Recursive Cell (Shen et al. 2019, Ordered Memory, arXiv 1910.13466) at any arity N.

    .. math::
        [g_1; ...; g_N; c; u] &= W_2 \, drop(relu(hidden)) + b_2, \quad hidden = W_1 \, drop([h_1; ...; h_N]) + b_1 \\
        h &= LayerNorm(\sum_k \sigma(g_k) \odot h_k + \sigma(c) \odot u)

    Args:
        hidden: (..., 4n), the product with W_1.
        children: the N states h_k, (..., n) each.
        second: the map W_2, b_2, (..., 4n) to (..., (N + 2) n).
        drop: the dropout before W_2.
        norm: the LayerNorm.
        act: the non-linearity, relu as published, or GELU (Ray Chowdhury & Caragea 2021, arXiv 2106.06038).

    Returns h (..., n), and the gates: g, N of (..., n), c and u (..., n).
    """
    z = second(drop(act(hidden)))
    *g, c, u = z.split(z.shape[-1] // (len(children) + 2), -1)
    g = [torch.sigmoid(g_k) for g_k in g]
    c = torch.sigmoid(c)
    h = c * u
    for g_k, h_k in zip(g, children, strict=True):
        h = h + g_k * h_k
    return {"h": norm(h), "g": g, "c": c, "u": u}


class Compose(nn.Module, ABC):
    """``compose(left, right, norm)``: (..., D) of two states (..., D).

    The map of [h_1; h_2] is in two halves, ``vertical`` for h_1 and ``horizontal`` for h_2, after the words of Ordered
    Memory, which knows h_2 beforehand; they begin as one ``Linear`` of both.

    Args:
        hidden_size: n, the width of h.
        width: of what the map gives.
        dropout: probability, in training only.
    """

    parts: ClassVar[int] = 1
    """D is so many times n; the first n columns are h."""
    normed: ClassVar[bool] = False
    """Whether a LayerNorm ends it, which the network owns, because it may share one with its leaves."""
    drops_inputs: ClassVar[bool] = True
    """Whether the dropout acts on [h_1; h_2]."""

    def __init__(self, hidden_size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.vertical = nn.Linear(hidden_size, width, bias=False)
        self.horizontal = nn.Linear(hidden_size, width)
        self.drop = nn.Dropout(dropout)
        bound = (2 * hidden_size) ** -0.5  # torch's for a Linear of [h_1; h_2]
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    @property
    def state_size(self) -> int:
        """D."""
        return self.parts * self.hidden_size

    def h(self, state: Tensor) -> Tensor:
        """(..., n) of a state (..., D): what readouts and scorers read."""
        return state if self.parts == 1 else state[..., : self.hidden_size]

    def of_right(self, h_2: Tensor) -> Tensor:
        """(..., width), what h_2, (..., n), adds to the product, with the bias."""
        if self.drops_inputs:
            h_2 = self.drop(h_2)
        return self.horizontal(h_2)

    def product(self, h_1: Tensor, of_right: Tensor, drop: Map | None = None) -> Tensor:
        """(..., width), the map of [h_1; h_2]; ``drop`` is the dropout of h_1 if not that of the cell."""
        if self.drops_inputs:
            h_1 = (drop or self.drop)(h_1)
        rows = h_1.flatten(0, -2)
        flat = torch.addmm(of_right.flatten(0, -2), rows, self.vertical.weight.t())
        return flat.view(of_right.shape)

    def forward(self, left: Tensor, right: Tensor, norm: Map) -> Tensor:
        """(..., D) of two states, in their dtype under autocast, too; ``norm`` is the network's LayerNorm."""
        product = self.product(self.h(left), self.of_right(self.h(right)))
        return self.combined(product, left, right, norm).to(left.dtype)

    @abstractmethod
    def combined(self, product: Tensor, left: Tensor, right: Tensor, norm: Map, drop: Map | None = None) -> Tensor:
        """(..., D) from the map of [h_1; h_2] and the two states; ``drop`` is the dropout if not that of the cell."""


class GatedRecursive(Compose):
    """:func:`dgltree.cells.compose.gated_recursive` of two states, with one set of weights.

    Args:
        hidden_size: n.
        dropout: probability, in training only, on [h_1; h_2] and before W_2.
    """

    normed = True

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__(hidden_size, 4 * hidden_size, dropout)
        self.second = nn.Linear(4 * hidden_size, 4 * hidden_size)

    def combined(self, product: Tensor, left: Tensor, right: Tensor, norm: Map, drop: Map | None = None) -> Tensor:
        computed = gated_recursive(product, (left, right), self.second, drop or self.drop, norm, self.act)
        return cast(Tensor, computed["h"])

    def act(self, v: Tensor) -> Tensor:
        """The non-linearity."""
        return torch.relu(v)


class GELUGatedRecursive(GatedRecursive):
    """:class:`GatedRecursive` with GELU for relu, and dropout before W_2 alone (Ray Chowdhury & Caragea 2021,
    arXiv 2106.06038).

    ``approximate`` is torch's name of the GELU's form; a network that has another one sets it.
    """

    drops_inputs = False
    approximate = "none"

    def act(self, v: Tensor) -> Tensor:
        return nn.functional.gelu(v, approximate=self.approximate)


class TanhComposition(Compose):
    """``tanh(W drop([h_1; h_2]) + b)``; there is no LayerNorm.

    Args:
        hidden_size: n.
        dropout: probability, in training only, on [h_1; h_2].
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__(hidden_size, hidden_size, dropout)

    def combined(self, product: Tensor, left: Tensor, right: Tensor, norm: Map, drop: Map | None = None) -> Tensor:
        return torch.tanh(product)


class LSTMComposition(Compose):
    r"""The binary Tree-LSTM of [h; c] (Tai et al. 2015), its forget gates raised by ``forget_bias``.

    Args:
        hidden_size: n.
        dropout: probability, in training only, on u.
        forget_bias: what is added to the forget gates' pre-activations.

    Initialisation: W of [h_1; h_2] orthogonal, b 0 (Choi et al. 2018).
    """

    parts = 2
    drops_inputs = False

    def __init__(self, hidden_size: int, dropout: float, forget_bias: float = 1.0) -> None:
        super().__init__(hidden_size, 5 * hidden_size, dropout)
        self.forget_bias = forget_bias
        both = nn.init.orthogonal_(torch.empty(5 * hidden_size, 2 * hidden_size))
        with torch.no_grad():
            self.vertical.weight.copy_(both[:, :hidden_size])
            self.horizontal.weight.copy_(both[:, hidden_size:])
            self.horizontal.bias.zero_()

    def combined(self, product: Tensor, left: Tensor, right: Tensor, norm: Map, drop: Map | None = None) -> Tensor:
        n = self.hidden_size
        in_, o, f_1, f_2, u = product.split(n, -1)
        f = [torch.sigmoid(f_k + self.forget_bias) for f_k in (f_1, f_2)]
        c = [left[..., n:], right[..., n:]]
        state = lstm_state(torch.sigmoid(in_), torch.sigmoid(o), f, torch.tanh(u), c, drop or self.drop)
        return torch.cat([state["h"], state["c"]], -1)


Composition = type[GatedRecursive] | type[TanhComposition] | type[LSTMComposition]
COMPOSITIONS: dict[str, Composition] = {
    "grc": GELUGatedRecursive,
    "tree_cell": GatedRecursive,
    "tree_rnn": TanhComposition,
    "tree_lstm": LSTMComposition,
}
"""Name of the cell whose equations they are to the composition."""


def composition_named(name: str) -> Composition:
    """The composition of a name. ``ValueError`` for a name that is not in ``COMPOSITIONS``."""
    check_choice("cell", name, COMPOSITIONS)
    return COMPOSITIONS[name]
