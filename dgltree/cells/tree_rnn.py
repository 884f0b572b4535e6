"""The Tree-RNN."""

from typing import Any

import torch

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.cell import Cell
from dgltree.engine.contract import Children, Map, Shapes, State, Widths
from dgltree.engine.typed_linear import Affine, Linear
from dgltree.support.arguments import check_choice

ACTIVATIONS: dict[str, Map] = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}


def activation_named(name: str) -> Map:
    """The non-linearity of a name. ``ValueError`` for a name that is not in ``ACTIVATIONS``."""
    check_choice("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]


class TreeRNN(Cell):
    r"""The recursive network of the Tree-SMU papers (Arabshahi et al. 2019 and 2021, arXiv 1911.01545).

    .. math:: h = drop(act(W_f i + b_f)), \quad i = [h_{c_1}; ...; h_{c_N}]

    With ``num_layers=2``: :math:`h = drop(act(W_2 act(W_1 i + b_1) + b_2))`, the hidden layer of width n.

    State: ``h`` (n,).

    Args:
        activation: "sigmoid" (published), "tanh" or "relu".
        num_layers: 1 or 2.
        vocabulary, hidden_size, options: see :class:`Cell`, which also documents the initialisation.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        num_layers: int = 1,
        activation: str = "sigmoid",
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        if num_layers not in (1, 2):
            raise ValueError(f"num_layers is {num_layers}; a Tree-RNN has 1 or 2")
        self.num_layers = num_layers
        self.activation = activation
        self.act = activation_named(activation)
        self.build()

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> Widths:
        return {"z": self.hidden_size}

    def products(self, arity: int) -> dict[str, Affine]:
        n = self.hidden_size
        return {"second": Affine(n, n)} if self.num_layers == 2 else {}

    def combine(self, pre: State, children: Children, linear: Linear) -> State:
        h = self.act(pre["z"])
        if self.num_layers == 2:
            h = self.act(linear("second", h))
        return {"h": self.drop(h)}
