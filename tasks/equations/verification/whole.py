"""Whole equations for an encoder: the two sides below one root, as the papers feed sequence models."""

from typing import Any

import torch
from torch import Tensor

from dgltree import TreeBatch, Vocabulary
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN
from dgltree.encoders import Encoded, Encoder, make_encoder
from dgltree.encoders.encoder import Planned

EQUALS = ("=", 2)


class WholeEquations(Encoder):
    """Reads each pair of trees as one tree below ``=``: "the whole equation" (Arabshahi et al. 2021, section 4).

    Args:
        name: of the encoder that reads it, as of :func:`dgltree.encoders.make_encoder`.
        vocabulary: of the sides.
        hidden_size: n.
        options: of that encoder.

    Raises ``ValueError`` as :func:`dgltree.encoders.make_encoder` does.
    """

    def __init__(self, name: str, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__()
        wider = Vocabulary([*vocabulary.functions, EQUALS], vocabulary.tokens)
        self.vocabulary = vocabulary
        self.reader = make_encoder(name, wider, hidden_size, **options)
        self.config = self.reader.config

    def forward(self, batch: TreeBatch | Any, share: bool = False) -> Tensor:
        """(E, n), one row per equation, of the 2E trees of a batch or of their plan."""
        return self.encoded(batch, share).root

    def encoded(self, batch: TreeBatch | Any, share: bool = False, trace: bool = False) -> Encoded:
        return self.reader.encoded(self.plan(batch, share) if isinstance(batch, TreeBatch) else batch, share, trace)

    def plan(self, batch: TreeBatch, share: bool) -> Planned:
        """The plan of the whole equations. Raises ``ValueError`` for an odd number of trees."""
        return self.reader.plan(join_sides(batch, self.reader.vocabulary), share)


def join_sides(sides: TreeBatch, vocabulary: Vocabulary) -> TreeBatch:
    """The trees 2i and 2i + 1 of a batch below one ``=``.

    Args:
        sides: trees without numbers, each a graph of its own.
        vocabulary: that of the sides with ``=`` after its functions.

    Raises ``ValueError`` for an odd number of trees.
    """
    if len(sides) % 2:
        raise ValueError(f"{len(sides)} trees are not pairs of sides")
    sizes = sides.sizes.view(-1, 2).sum(1)
    pairs = torch.arange(len(sizes), device=sides.device)
    node = torch.arange(sides.num_nodes, device=sides.device) + torch.repeat_interleave(pairs + 1, sizes)
    total = sides.num_nodes + len(sizes)
    roots = sizes.cumsum(0) - sizes + pairs

    def spread(old: Tensor, new: Tensor | int) -> Tensor:
        """(total,), ``old`` for the nodes of the sides and ``new`` for the roots."""
        found = old.new_empty(total)
        found[node] = old
        found[roots] = torch.as_tensor(new, device=old.device).expand(len(roots))
        return found

    ptr = torch.nn.functional.pad(spread(sides.child_ptr.diff(), 2).cumsum(0), (1, 0))
    child = torch.empty(int(ptr[-1]), dtype=torch.int64, device=sides.device)
    of_roots = torch.zeros(len(child), dtype=torch.bool, device=sides.device)
    of_roots[ptr[roots]] = of_roots[ptr[roots] + 1] = True
    child[of_roots] = node[sides.roots]
    child[~of_roots] = node[sides.child_index]
    return TreeBatch(
        function=spread(sides.function, vocabulary.function_id(*EQUALS)),
        token=spread(sides.token, NO_TOKEN),
        child_ptr=ptr,
        child_index=child,
        level=spread(sides.level, sides.level[sides.roots].view(-1, 2).amax(1) + 1),
        roots=roots,
        sizes=sizes + 1,
        label=spread(sides.label, NO_LABEL),
        vocabulary=vocabulary,
    )
