"""Downward cells whose h is so many channels, on each of which they act alike: StrAE's and Banyan's."""

from typing import Any

import torch
from torch import Tensor, nn

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.channels import check_channels
from dgltree.cells.downward.cell import DownwardCell
from dgltree.cells.step import State
from dgltree.cells.typed_linear import Affine, Linear


class DownwardChannelCell(DownwardCell):
    """Base of the two cells.

    Args:
        channels: c, which divides n; U = n / c.
        vocabulary, hidden_size, options: see :class:`DownwardCell`. Their ``dropout`` acts on each message.
    """

    fixed = frozenset({"positions"})

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, channels: int = 1, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.channels, self.unit = channels, check_channels(channels, hidden_size)

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self) -> dict[str, int]:
        return {}

    def split(self, h: Tensor) -> Tensor:
        """(..., c, U) of (..., n)."""
        return h.unflatten(-1, (self.channels, self.unit))


class DownwardStrAECell(DownwardChannelCell):
    r"""The decomposition of StrAE and Self-StrAE, whose upward cell is :class:`dgltree.cells.StrAECell`.

    .. math:: h_k = drop(\Theta_k h + \theta_k)

    at place k, in each channel, with one map for all channels.

    State: ``h`` (n,).

    Args:
        typed: whether each function has maps of its own; published: False.
        vocabulary, hidden_size, options: see :class:`DownwardChannelCell`; published: 16 channels of 16, dropout 0.1.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, *, typed: bool = False, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=typed, **options)
        self.build()

    def products(self) -> dict[str, Affine]:
        return {"theta": Affine(self.unit, self.unit)}

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        return {"h": self.drop(linear("theta", self.split(parent["h"])).flatten(-2))}


class DownwardBanyanCell(DownwardChannelCell):
    r"""The decomposition of Banyan, whose upward cell is :class:`dgltree.cells.BanyanCell`.

    .. math:: h_k = drop(\sigma(\theta_k) \odot h + t_k)

    at place k, in each channel, with the same weights for all channels, functions and arities.

    State: ``h`` (n,).

    Args:
        vocabulary, hidden_size, options: see :class:`DownwardChannelCell`; published: 128 channels of 2, dropout 0.1.

    Initialisation: theta U(0.6, 0.9), t 0.
    """

    fixed = frozenset({"typed"})

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, typed=False, **options)
        places = max(vocabulary.arities, default=0)
        self.weight = nn.Parameter(torch.empty(places, self.unit))
        self.bias = nn.Parameter(torch.empty(places, self.unit))
        self.build()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.uniform_(self.weight, 0.6, 0.9)
        nn.init.zeros_(self.bias)

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        kept, added = (nn.functional.embedding(slot, each) for each in (torch.sigmoid(self.weight), self.bias))
        return {"h": self.drop((kept.unsqueeze(-2) * self.split(parent["h"]) + added.unsqueeze(-2)).flatten(-2))}
