"""Trees to vectors."""

from torch import Tensor

from dgltree.batch import TreeBatch
from dgltree.cells.cell import Cell
from dgltree.encoders.encoder import Encoder
from dgltree.propagate import propagate


class TreeEncoder(Encoder):
    """The hidden states, by a cell along the given tree: the roots' by a call, all nodes' by ``node_states``."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell
        self.vocabulary, self.config = cell.vocabulary, cell.config

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n), one row a root; ``share`` as in :func:`dgltree.propagate`."""
        return self.node_states(batch, share).index_select(0, batch.roots)

    def node_states(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(N, n), one row a node in public numbering; ``share`` as in :func:`dgltree.propagate`."""
        return propagate(batch, self.cell, share=share)["h"]
