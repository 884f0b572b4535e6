"""Trees to vectors."""

from typing import Any

from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.cells import Cell
from dgltree.encoders.encoder import Encoder
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.propagate import propagate, root_states


class TreeEncoder(Encoder):
    """The hidden states, by a cell along the given tree: the roots' by a call, all nodes' by ``node_states``.

    Args:
        cell: the cell.
        recompute: as in :func:`dgltree.propagate`: less memory, more time.
    """

    def __init__(self, cell: Cell, recompute: bool = False) -> None:
        super().__init__()
        self.cell, self.recompute = cell, recompute
        self.vocabulary, self.config = cell.vocabulary, cell.config

    def forward(self, batch: Any, share: bool = False) -> Tensor:
        """(B, n), one row a root; ``share`` as in :func:`dgltree.propagate`."""
        return root_states(batch, self.cell, share, self.recompute)

    def plan(self, batch: TreeBatch, share: bool) -> PlannedBatch:
        return plan(batch, self.cell, share)

    def node_states(self, batch: Any, share: bool = False) -> Tensor:
        """(N, n), one row a node in public numbering; ``share`` as in :func:`dgltree.propagate`."""
        return propagate(batch, self.cell, share=share, recompute=self.recompute)["h"]
