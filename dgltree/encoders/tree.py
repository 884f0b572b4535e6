"""Trees to vectors."""

from torch import Tensor, nn

from dgltree.batch import TreeBatch
from dgltree.cells.cell import Cell
from dgltree.propagate import propagate


class TreeEncoder(nn.Module):
    """The root's hidden state, by a cell along the given tree."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n), one row a root; ``share`` as in :func:`dgltree.propagate`."""
        return propagate(batch, self.cell, share=share)["h"].index_select(0, batch.roots)
