"""The plan of a sequence encoder: sequences of ids."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.moving import Movable
from dgltree.batching.unfold import unfold
from dgltree.encoders.sequence.linearization import PADDING

ROOT, NO_WORD = -1, -2
"""In place of the place of a node's word."""


@dataclass(frozen=True, eq=False)
class Sequences(Movable):
    """Sequences of ids, padded at the end, and for which encoders they were made."""

    ids: Tensor
    """(B, T) int64"""
    lengths: Tensor
    """(B,) int64, 1 to T."""
    places: Tensor | None = None
    """(B, T, k) int64, where in its tree the node of each id is, for a core that reads it."""
    form: str = ""
    """How trees became these sequences, and by which vocabulary."""
    nodes: Tensor | None = None
    """(N, 2) int64, of each node of the trees the sequence and the place of its word; for an encoder that gives vectors
    of nodes. The place is ``ROOT`` of roots that are not words, ``NO_WORD`` of other inner nodes and of nodes with
    several parents."""

    @property
    def device(self) -> torch.device:
        return self.ids.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "Sequences":
        places = None if self.places is None else function(self.places)
        nodes = None if self.nodes is None else function(self.nodes)
        return Sequences(function(self.ids), function(self.lengths), places, self.form, nodes)


def nodes_of(batch: TreeBatch) -> Tensor:
    """:attr:`Sequences.nodes` of a batch that is read by its leaves."""
    flat = batch.to("cpu")
    trees = unfold(flat)
    leaf, root = flat.arity[trees.node] == 0, trees.parent < 0
    tree = torch.arange(len(trees.sizes)).repeat_interleave(trees.sizes)
    before = leaf.cumsum(0) - leaf.long()
    place = before - before[root][tree]
    found = torch.full((flat.num_nodes, 2), NO_WORD)
    found[trees.node] = torch.stack([tree, place.where(leaf, torch.where(root, ROOT, NO_WORD))], 1)
    found[trees.node.bincount(minlength=flat.num_nodes) > 1, 1] = NO_WORD
    return found.to(batch.device)


def join_pairs(items: Tensor, lengths: Tensor, separator: int | Tensor) -> tuple[Tensor, Tensor]:
    """Sequences 2i and 2i + 1 as one, with ``separator`` between them: items (B / 2, T', ...) and lengths (B / 2,).

    Args:
        items: (B, T, ...), ids or vectors.
        lengths: (B,) int64.
        separator: an id that no sequence has, or a vector (...).

    Raises ``ValueError`` for an odd number of sequences.
    """
    if len(lengths) % 2:
        raise ValueError(f"a batch of {len(lengths)} trees; pairs need an even number")
    first, second = lengths[::2], lengths[1::2]
    row, t = (torch.arange(items.shape[1], device=items.device) < lengths.unsqueeze(1)).nonzero(as_tuple=True)
    start = torch.stack([torch.zeros_like(first), first + 1], 1).flatten()
    pairs = items.new_full((len(first), int((first + second).max()) + 1, *items.shape[2:]), PADDING)
    pairs[row // 2, start[row] + t] = items[row, t]
    pairs[torch.arange(len(first), device=items.device), first] = separator
    return pairs, first + 1 + second
