"""Trees to vectors."""

from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.cells.cell import Cell
from dgltree.encoders.encoder import Encoder
from dgltree.engine.propagate import plan_for, propagate, root_states


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

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n), one row a root; ``share`` as in :func:`dgltree.propagate`."""
        return root_states(batch, self.cell, share, self.recompute)

    def plan(self, batch: TreeBatch, share: bool) -> TreeBatch:
        plan_for(self.cell, batch, share)
        return batch

    def node_states(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(N, n), one row a node in public numbering; ``share`` as in :func:`dgltree.propagate`."""
        return propagate(batch, self.cell, share=share, recompute=self.recompute)["h"]
