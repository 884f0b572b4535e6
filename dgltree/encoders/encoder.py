"""Base class of all encoders, and their plans."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.induction.binary_trees import tree_from_attention, tree_from_distances
from dgltree.induction.merges import merged_trees
from dgltree.trees.picture import MAX_PICTURE_NODES, frame_pictures, tree_svg
from dgltree.trees.tree import Tree

# ---------------------------------------------------------------------------------------------------------------------
# Results of a pass of an encoder: vectors, and of one that finds trees those that this very pass built.


DRAWN = 4
"""Trees of a picture, at most."""


class Parse(ABC):
    """Which tree a pass built over each of B sequences of up to T words, in the numbers that it was built by."""

    kind: ClassVar[str]
    """The kind of numbers, which decides how they are drawn."""

    @abstractmethod
    def trees(self, words: Sequence[Sequence[str]]) -> list[Tree]:
        """The tree over each sequence: ``phrase`` nodes with two children over ``word`` leaves."""

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """How many words each of the B sequences has."""

    def _repr_html_(self) -> str:
        """The trees over the places of the words, of the first sequences, for notebooks; under 50 KB."""
        sizes = self.sizes
        if not sizes or 0 in sizes:
            return frame_pictures(f"{self.kind} of {len(sizes)} sequences", [])
        places = [_places(size) for size in sizes]
        trees = self.trees(places)[:DRAWN]
        title = f"the tree by {self.kind} over words 1 to {sizes[0]}"
        if len(sizes) > 1:
            title = f"the trees by {self.kind} over the words of {len(sizes)} sequences"
        if len(sizes) > DRAWN:
            title += f"; the first {DRAWN}"
        most = MAX_PICTURE_NODES // len(trees)
        pictures = [tree_svg(tree, _word, lambda node: node.children, most) for tree in trees]
        return frame_pictures(title, pictures)


def _places(size: int) -> list[str]:
    return [str(place) for place in range(1, size + 1)]


def _word(node: Tree) -> str:
    return node.token or ""


@dataclass(frozen=True)
class Attention(Parse):
    """Ordered Memory's attention over its slots, read by :func:`dgltree.induction.tree_from_attention`."""

    kind = "attention"
    scores: Tensor
    """(B, T, N)"""
    lengths: Tensor | None = None
    """(B,) int64, the words of each sequence; None: T."""

    @property
    def sizes(self) -> list[int]:
        return _sizes(self.scores, self.lengths)

    def trees(self, words: Sequence[Sequence[str]]) -> list[Tree]:
        scores = self.scores.detach().cpu()
        return [tree_from_attention(names, row[: len(names)]) for names, row in zip(words, scores, strict=True)]


@dataclass(frozen=True)
class Distances(Parse):
    """ON-LSTM's distances, read by :func:`dgltree.induction.tree_from_distances`."""

    kind = "distances"
    scores: Tensor
    """(B, T)"""
    lengths: Tensor | None = None
    """(B,) int64, the words of each sequence; None: T."""

    @property
    def sizes(self) -> list[int]:
        return _sizes(self.scores, self.lengths)

    def trees(self, words: Sequence[Sequence[str]]) -> list[Tree]:
        scores = self.scores.detach().cpu()
        return [tree_from_distances(names, row[: len(names)]) for names, row in zip(words, scores, strict=True)]


def _sizes(scores: Tensor, lengths: Tensor | None) -> list[int]:
    if lengths is None:
        return [scores.shape[1]] * len(scores)
    return lengths.tolist()


@dataclass(frozen=True)
class Merges(Parse):
    """Gaps in the order in which they were closed (:mod:`dgltree.induction.merges`)."""

    kind = "merges"
    order: Tensor
    """(B, T - 1) int64, -1 after the last merge of a sequence."""

    @property
    def sizes(self) -> list[int]:
        return (1 + (self.order >= 0).sum(1)).tolist()

    def trees(self, words: Sequence[Sequence[str]]) -> list[Tree]:
        return merged_trees(words, self.order)


@dataclass(frozen=True)
class Beams(Parse):
    """Several orders of merges for each sequence; the tree is that of the one with the largest weight."""

    kind = "beams"
    orders: Tensor
    """(B, K, T - 1) int64, as in :class:`Merges`, the largest weight first."""
    weights: Tensor
    """(B, K), how much of the root comes from each; 0 if a sequence has fewer."""

    @property
    def sizes(self) -> list[int]:
        return (1 + (self.orders[:, 0] >= 0).sum(1)).tolist()

    def trees(self, words: Sequence[Sequence[str]]) -> list[Tree]:
        return merged_trees(words, self.orders[:, 0])


@dataclass(frozen=True)
class Encoded:
    """The value of one pass over B trees or sequences."""

    root: Tensor
    """(B, n), one vector each."""
    parse: Parse | None = None
    """The trees that this pass used to compute ``root``; None of an encoder that finds none."""
    losses: Mapping[str, Tensor] = field(default_factory=dict)
    """Losses by name, (B,) each: what a training adds to its own loss, as a mean; what weighs them is in them."""
    trace: Mapping[str, Tensor] | None = None
    """Further results, if they were asked for; each encoder documents its own."""

    @property
    def loss(self) -> Tensor | float:
        """(), the sum of the means of ``losses``; 0.0 if there are none."""
        return sum((loss.mean() for loss in self.losses.values()), start=0.0)


class Planned(Protocol):
    """An encoder's preparation of a batch before its first product: a value, which may be pickled and moved.

    A :class:`TreeBatch` is one, of an encoder that has nothing to plan. One of your own derives from
    :class:`dgltree.batching.moving.Movable`, which moves whatever ``map`` names.
    """

    def map(self, function: Callable[[Tensor], Tensor]) -> "Planned":
        """A preparation with ``function`` of every tensor."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Planned":
        """A preparation whose tensors are on a device."""


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
        """The vectors of a call, and what else the pass gives: the trees that it used, its own losses, and on demand
        a trace.

        Args:
            batch, share: as in a call.
            trace: whether to give what the encoder documents as its trace, too.
        """
        return Encoded(self(batch, share))

    def trees(self, batch: TreeBatch | Any) -> list[Tree]:
        """The tree that the encoder induces for each tree of a batch (or of its plan).

        Raises ``ValueError`` if ``induces_trees`` is false.
        """
        raise ValueError(f"a {type(self).__name__} induces no trees; use a latent-tree encoder such as Ordered Memory")

    def node_states(self, batch: TreeBatch | Any, share: bool = False) -> Tensor:
        """(N, n), one row per node of a batch (or of its plan), in public numbering; ``share`` as in a call.

        Raises ``ValueError`` if ``gives_nodes`` is false.
        """
        raise ValueError(
            f"a {type(self).__name__} reads sequences and has no node vectors. Use a tree encoder, or "
            "efficient_beam_tree with in_context=True and order='leaves'. For word vectors of a 'dgltree embed' "
            "model, use 'encode --nodes --context'"
        )
