"""What all encoders have in common."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary


class Encoder(nn.Module, ABC):
    """A batch of trees to one vector a root: what readouts and models build on."""

    vocabulary: Vocabulary
    config: dict[str, Any]
    """The options, by which another one like it can be made."""

    @abstractmethod
    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n), one row a root; ``share`` allows to compute equal subtrees once, where an encoder can."""

    def plan(self, batch: TreeBatch, share: bool) -> None:
        """What a data loader's worker does for :meth:`forward` beforehand; the batch keeps it. Nothing by default."""
