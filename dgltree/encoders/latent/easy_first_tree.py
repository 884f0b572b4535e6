"""Self-StrAE and Banyan as encoders: the neighbours that are most alike are joined first."""

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import SWEEPS, Cell
from dgltree.encoders.encoded import Encoded, Merges
from dgltree.encoders.latent.easy_first import FoundGraph, easy_first
from dgltree.encoders.sequence.core import InducingCore
from dgltree.induction.merges import CLOSED

UNITS = {"banyan": 2, "strae": 16}
"""Numbers of a channel, as published, by the name of the cells."""


class SequenceEasyFirst(InducingCore):
    r"""The upward sweep of Banyan (Opper & Siddharth 2024, arXiv 2407.17771) or Self-StrAE (2024, arXiv 2402.16325).

    As long as a sentence has two states, the neighbours i, i + 1 with the largest cosine become one, of equal ones the
    leftmost; no gradient passes through the choice:

    .. math:: i = argmax_i \cos(h_i, h_{i+1}), \quad h_i \leftarrow cell(h_i, h_{i+1})

    ``dgltree embed`` trains it without labels, and ``--from`` begins with that. Its parse has the merges of the tree
    that it found, those of the lower node first, not in the order in which they were chosen.

    Args:
        size: the number of ids.
        hidden_size: n, a multiple of the numbers of a channel, 2 of Banyan's and 16 of Self-StrAE's.
        cell: "banyan" or "strae".
        everywhere: whether a pair is joined at all of its places in a sentence at once.
        dropout: probability, in training only, on embeddings.
        cell_dropout: the same on what is joined.
        max_length: of a sequence; None: any.

    Initialisation: that of the cells.

    Raises ``ValueError`` for another cell, and a width that is not a multiple.
    """

    embedding_name = "cell.embedding.weight"

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        cell: Literal["banyan", "strae"] = "banyan",
        everywhere: bool = True,
        dropout: float = 0.0,
        cell_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        own = {"cell": cell, "everywhere": everywhere, "dropout": dropout, "cell_dropout": cell_dropout}
        super().__init__(size, max_length, hidden_size=hidden_size, **own)
        if cell not in UNITS:
            raise ValueError(f"cell is {cell!r}; it must be one of {', '.join(UNITS)}")
        if hidden_size < 1 or hidden_size % UNITS[cell]:
            raise ValueError(f"hidden_size is {hidden_size}; it must be a multiple of {UNITS[cell]} for {cell!r}")
        self.everywhere = everywhere
        ids = Vocabulary([("phrase", 2), ("word", 0)], [str(i) for i in range(size)])
        channels = hidden_size // UNITS[cell]
        upward: Any = SWEEPS[cell][0]
        self.cell: Cell = upward(ids, hidden_size, channels=channels, dropout=cell_dropout, leaf_dropout=dropout)

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """There is nothing to trace."""
        found = self._found(ids, lengths)
        return Encoded(found.up["h"][found.roots], Merges(_orders(found, ids.shape[1]).to(ids.device)))

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        found = self._found(ids, lengths)
        return found.up["h"][found.roots]

    def _found(self, ids: Tensor, lengths: Tensor) -> FoundGraph:
        return easy_first(self.cell, ids, lengths, entangled=True, everywhere=self.everywhere)


def _orders(found: FoundGraph, longest: int) -> Tensor:
    """(B, T - 1) int64, the merges of each sentence."""
    pairs: dict[int, tuple[int, int]] = {}
    start, child = found.batch.child_ptr.tolist(), found.batch.child_index.tolist()
    for node, (first, end) in enumerate(pairwise(start)):
        if end > first:
            pairs[node] = (child[first], child[first + 1])
    orders = torch.full((len(found.roots), longest - 1), CLOSED)
    for row, root in enumerate(found.roots.tolist()):
        order = _order(pairs, root)
        orders[row, : len(order)] = torch.tensor(order, dtype=torch.int64)
    return orders


def _order(pairs: dict[int, tuple[int, int]], root: int) -> list[int]:
    """The gaps of a tree: those of the nodes that were made first come first."""
    gaps: list[tuple[int, int]] = []
    waiting, words = [(root, False)], 0
    while waiting:
        node, left_is_done = waiting.pop()
        if node not in pairs:
            words += 1
        elif left_is_done:
            gaps.append((node, words - 1))
            waiting.append((pairs[node][1], False))
        else:
            waiting += [(node, True), (pairs[node][0], False)]
    return [gap for _, gap in sorted(gaps)]
