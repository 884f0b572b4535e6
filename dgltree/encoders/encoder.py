"""What all encoders have in common."""

from abc import ABC, abstractmethod
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary


class Planned(Protocol):
    """What can be made of a batch before it is computed: tensors that move to a device. A batch itself is one."""

    def to(self, device: torch.device, /) -> Self: ...


class Encoder(nn.Module, ABC):
    """A batch of trees to one vector a root: what readouts and models build on."""

    vocabulary: Vocabulary
    config: dict[str, Any]
    """The options, by which another one like it can be made."""

    @abstractmethod
    def forward(self, batch: Any, share: bool = False) -> Tensor:
        """(B, n), one row a root; ``share`` allows to compute equal subtrees once, where an encoder can."""

    def plan(self, batch: TreeBatch, share: bool) -> Planned:
        """What a data loader's worker may do for :meth:`forward` beforehand, which takes it instead of the batch.

        The batch itself, unless an encoder has something to do.
        """
        return batch
