"""Base class of all encoders, and their plans."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.encoders.encoded import Encoded
from dgltree.trees.tree import Tree


class Planned(Protocol):
    """An encoder's preparation of a batch before its first product: a value, which may be pickled and moved.

    A :class:`TreeBatch` is one, of an encoder that has nothing to plan. One of your own derives from
    :class:`dgltree.batching.moving.Movable`, which moves whatever ``map`` names.
    """

    def map(self, function: Callable[[Tensor], Tensor]) -> "Planned":
        """The same with ``function`` of every tensor."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Planned":
        """The same on a device."""


class Encoder(nn.Module, ABC):
    """A batch of trees to one vector per root: what readouts and models build on.

    ``encoder(batch)`` is ``encoder(encoder.plan(batch, share), share)``. The second form lets a data loader's worker
    make the plan while the model computes. Nothing is kept in the batch: who made a plan hands it on.
    """

    vocabulary: Vocabulary
    config: dict[str, Any]
    """The options, by which another one like it can be made."""
    induces_trees: bool = False
    """Whether :meth:`trees` gives trees that the encoder found by itself."""
    gives_nodes: bool = False
    """Whether :meth:`node_states` gives a vector for each node."""

    @abstractmethod
    def forward(self, batch: TreeBatch | Any, share: bool = False) -> Tensor:
        """(B, n), one row per root; ``share`` allows to compute equal subtrees once, if an encoder can.

        Args:
            batch: trees, or what :meth:`plan` of this encoder, or of one with the same options, made of them.
            share: as in :func:`dgltree.engine.propagate.propagate`; a plan shares as it was made.
        """

    def plan(self, batch: TreeBatch, share: bool) -> Planned:
        """The preparation in :meth:`forward` before its first product; the batch itself if there is none."""
        return batch

    def encoded(self, batch: TreeBatch | Any, share: bool = False, trace: bool = False) -> Encoded:
        """The same vectors, and what else the pass gives: the trees that it used, its own losses, and on demand a
        trace.

        Args:
            batch, share: as in a call.
            trace: whether to give what the encoder documents as its trace, too.
        """
        return Encoded(self(batch, share))

    def trees(self, batch: TreeBatch | Any) -> list[Tree]:
        """The tree that the encoder induces for each tree of a batch (or of its plan).

        Raises ``ValueError`` if ``induces_trees`` is false.
        """
        raise ValueError(f"a {type(self).__name__} induces no trees; latent-tree encoders such as Ordered Memory do")

    def node_states(self, batch: TreeBatch | Any, share: bool = False) -> Tensor:
        """(N, n), one row per node of a batch (or of its plan), in public numbering; ``share`` as in a call.

        Raises ``ValueError`` if ``gives_nodes`` is false.
        """
        raise ValueError(
            f"a {type(self).__name__} reads sequences; nodes have vectors in a tree encoder, and in the "
            "efficient_beam_tree with in_context=True and order='leaves'; of a model that 'dgltree embed' made of "
            "sentences 'encode --nodes --context' has those of words"
        )
