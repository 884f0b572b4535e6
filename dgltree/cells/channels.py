"""Cells whose h is so many channels of equal width, on each of which they act alike: StrAE's and Banyan's."""

from typing import Any

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.cell import Cell
from dgltree.engine.contract import Children, Computed, Shapes, State, Widths
from dgltree.engine.typed_linear import Affine, Linear, Segments, concatenate
from dgltree.support.arguments import check_dropout, check_size

EMBEDDING_BOUND = 0.1
"""Embeddings are drawn from U(-EMBEDDING_BOUND, EMBEDDING_BOUND)."""


def check_channels(channels: int, hidden_size: int) -> int:
    """U, the numbers of a channel. ``ValueError`` for a number of channels that does not divide the width."""
    check_size("channels", channels)
    if hidden_size % channels:
        raise ValueError(f"channels is {channels}; it must divide hidden_size {hidden_size}")
    return hidden_size // channels


class ChannelCell(Cell):
    """Base of the two cells, which know of a state only h, in c channels.

    Args:
        channels: c, which divides n; U = n / c.
        leaf_dropout: probability, in training only, on the embeddings.
        vocabulary, hidden_size, options: see :class:`Cell`. Their ``dropout`` acts on the new h.

    Initialisation: embeddings U(-0.1, 0.1).

    Raises ``ValueError`` for a number of channels that does not divide n, and, as there are no gates, with
    ``input_size``.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        channels: int = 1,
        leaf_dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        check_dropout(leaf_dropout)
        self.channels = channels
        self.leaf_dropout = leaf_dropout
        self.unit = check_channels(channels, hidden_size)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.uniform_(self.embedding.weight, -EMBEDDING_BOUND, EMBEDDING_BOUND)

    @property
    def drops(self) -> bool:
        return bool(self.dropout or self.leaf_dropout)

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> Widths:
        return {}

    def split(self, h: Tensor) -> Tensor:
        """(..., c, U) of (..., n)."""
        return h.unflatten(-1, (self.channels, self.unit))

    def leaf_states(self, batch: TreeBatch, leaves: Tensor, segments: Segments) -> Computed:
        states = super().leaf_states(batch, leaves, segments)
        return {**states, "h": nn.functional.dropout(states["h"], self.leaf_dropout, self.training)}


class StrAECell(ChannelCell):
    r"""The composition of StrAE and Self-StrAE (Opper et al. 2023, arXiv 2305.05588; 2024, arXiv 2402.16325).

    .. math:: h = drop(\Phi [h_{c_1}; ...; h_{c_N}] + \varphi)

    in each channel, with one map for all channels.

    State: ``h`` (n,).

    Args:
        typed: whether each function has a map of its own; published: False.
        vocabulary, hidden_size, options: see :class:`ChannelCell`; published: n = 256, 16 channels, dropout 0.1,
            leaf_dropout 0.2.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, typed: bool = False, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=typed, **options)
        self.build()

    def products(self, arity: int) -> dict[str, Affine]:
        return {"phi": Affine(arity * self.unit, self.unit)}

    def combine(self, pre: State, children: Children, linear: Linear) -> State:
        i = concatenate([self.split(h_k) for h_k in children["h"]])
        return {"h": self.drop(linear("phi", i).flatten(-2))}


class BanyanCell(ChannelCell):
    r"""The composition of Banyan (Opper & Siddharth 2024, arXiv 2407.17771): diagonal, with 3 U weights for two places.

    .. math:: h = drop(\sum_k \sigma(\varphi_k) \odot h_{c_k} + \varphi)

    in each channel, with the same weights for all channels, functions and arities.

    State: ``h`` (n,).

    Args:
        vocabulary, hidden_size, options: see :class:`ChannelCell`; published: n = 256, 128 channels, both dropouts 0.1.

    Initialisation: phi_k U(0.6, 0.9), phi 0.
    """

    fixed = frozenset({"typed", "rank"})

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=False, **options)
        self.weight = nn.Parameter(torch.empty(max(vocabulary.arities, default=0), self.unit))
        self.bias = nn.Parameter(torch.empty(self.unit))
        self.build()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.uniform_(self.weight, 0.6, 0.9)
        nn.init.zeros_(self.bias)

    def combine(self, pre: State, children: Children, linear: Linear) -> State:
        h = self.bias
        for kept, h_k in zip(torch.sigmoid(self.weight), children["h"], strict=False):  # rows for the highest arity
            h = h + kept * self.split(h_k)
        return {"h": self.drop(h.flatten(-2))}
