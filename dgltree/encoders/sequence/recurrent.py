"""Layers that read vectors from left to right, and can continue where they were."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltree.encoders.sequence.padding import check_vectors
from dgltree.support.arguments import check_dropout, check_size

LayerState = tuple[Tensor, Tensor]
"""h and c of a layer, (B, D) each."""
State = tuple[LayerState, ...]
"""The states of the layers, from below, between one part of a text and the next."""


class LayerSteps(NamedTuple):
    """The output of one layer for B sequences of T steps."""

    states: Tensor
    """(B, T, D)"""
    state: LayerState
    """After the last word of each sequence."""
    d: Tensor
    """(B, T, 1), its distances, or (B, T, 0) of a layer that has none."""
    master_gates: Tensor | None = None
    """(B, T, 2, D_m), those of an ON-LSTM if they are traced."""


class RecurrentSteps(NamedTuple):
    """The output of all layers for B sequences of T steps."""

    root: Tensor
    """(B, n), the last layer's state after the last word."""
    states: Tensor
    """(B, T, n), the last layer's state after each word; 0 at padding."""
    d: Tensor
    """(B, T, layers), the distances D_m - sum_k f~_k of an ON-LSTM, from 0 to D_m, of which a tree can be read; 0 at
    padding. (B, T, 0) of an LSTM, which has none."""
    state: State
    """The state of each layer after the last word: with it, what follows is read as if all were read at once."""
    master_gates: Tensor | None = None
    """(B, T, layers, 2, D_m), f~ and i~ of an ON-LSTM with layers of one size, if they are traced; 0 at padding."""


def check_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """The sizes of layers. ``TypeError`` for a size alone."""
    if isinstance(sizes, int):
        raise TypeError(f"sizes is {sizes}; give the size of each layer in a list: [{sizes}]")
    return sizes


class RecurrentLayers(nn.Module):
    """Layers on top of one another, over vectors.

    Args:
        input_size: of a vector.
        layers: from below; each gives :class:`LayerSteps` of x (B, T, d), padding (B, T) or None, and its state or
            None, and has a ``hidden_size``.
        dropout: probability, in training only, between layers, with one mask for all steps of a sequence.

    Raises ``ValueError`` if there is no layer.
    """

    def __init__(self, input_size: int, layers: Sequence[nn.Module], dropout: float) -> None:
        super().__init__()
        check_size("the number of layers", len(layers))
        self.input_size = input_size
        self.layers = nn.ModuleList(layers)
        self.dropout = LockedDropout(dropout)

    def forward(
        self, x: Tensor, padding: Tensor | None = None, state: State | None = None, trace: bool = False
    ) -> RecurrentSteps:
        """Read the vectors x (B, T, input_size), but not where ``padding`` (B, T) bool is true.

        Args:
            x: of words.
            padding: where there is no word; None: every place has one, and nothing waits for a GPU.
            state: that of an earlier call, from which to continue; None: 0.
            trace: whether to give master gates, which layers of ON-LSTMs have.

        Raises ``ValueError`` for other shapes, and for a sequence without a word.
        """
        check_vectors(x, padding, self.input_size)
        x = x if padding is None else x.masked_fill(padding.unsqueeze(2), 0)
        return read(self.layers, x, padding, state, self.dropout, {"trace": True} if trace else {})


def read(
    layers: Iterable[nn.Module],
    x: Tensor,
    padding: Tensor | None,
    state: State | None,
    dropout: Callable[[Tensor], Tensor],
    how: Mapping[str, Any] = MappingProxyType({}),
) -> RecurrentSteps:
    """Run the layers over x (B, T, d), with ``dropout`` between them. Raises ``ValueError`` for another state.

    ``how`` has further arguments of each layer.
    """
    layers = list(layers)
    _check_state(layers, len(x), state)
    before: Sequence[LayerState | None] = [None] * len(layers) if state is None else state
    states = x
    after: list[LayerState] = []
    distances: list[Tensor] = []
    opened: list[Tensor] = []
    for i, layer in enumerate(layers):
        below = dropout(states) if i else states
        steps: LayerSteps = layer(below, padding, before[i], **how)
        states = steps.states
        after.append(steps.state)
        distances.append(steps.d)
        if steps.master_gates is not None:
            opened.append(steps.master_gates)
    d = torch.cat(distances, 2)
    master_gates = torch.stack(opened, 2) if opened else None
    if padding is not None:
        absent = padding.unsqueeze(2)
        states = states.masked_fill(absent, 0)
        d = d.masked_fill(absent, 0)
        if master_gates is not None:
            master_gates = master_gates.masked_fill(absent[..., None, None], 0)
    root, _ = after[-1]
    return RecurrentSteps(root, states, d, tuple(after), master_gates)


def drop_weights(weight: Tensor, p: float, training: bool) -> Tensor:
    """The hidden-to-gates weights of one pass, of which training leaves each out with probability p.

    What is kept is not rescaled; in evaluation the weights are multiplied by 1 - p.
    """
    if not p:
        return weight
    if not training:
        return weight * (1 - p)
    mask = torch.empty_like(weight).bernoulli_(1 - p)
    return weight * mask


def check_layer(input_size: int, hidden_size: int, weight_dropout: float) -> None:
    """``ValueError`` for sizes below 1 and a dropout outside of 0 to below 1."""
    check_size("input_size", input_size)
    check_size("hidden_size", hidden_size)
    check_dropout(weight_dropout, "weight_dropout")


def _check_state(layers: Sequence[nn.Module], rows: int, state: State | None) -> None:
    if state is None:
        return
    expected = [(rows, layer.hidden_size) for layer in layers]
    shapes = [tuple(part.shape) for h_and_c in state for part in h_and_c]
    if shapes[::2] != expected or shapes[1::2] != expected:
        raise ValueError(f"the state has shapes {shapes}; give h and c of each layer, each of the shapes {expected}")


class LockedDropout(nn.Module):
    """Drops the same columns at every step (Gal & Ghahramani 2016, arXiv 1512.05287), in training only.

    Args:
        p: probability; what is kept is divided by 1 - p.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        check_dropout(p)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, n) to the same; the mask is (B, 1, n)."""
        if not self.training or not self.p:
            return x
        mask = nn.functional.dropout(torch.ones_like(x[:, :1]), self.p)
        return x * mask
