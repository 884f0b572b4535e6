"""The cells, and their registry by name."""

from dgltree.cells.cell import Cell
from dgltree.cells.stack_tree_lstm import StackTreeLSTM
from dgltree.cells.tree_lstm import TreeLSTM
from dgltree.cells.tree_rnn import TreeRNN
from dgltree.cells.tree_smu import TreeSMU

CELLS: dict[str, type[Cell]] = {
    "tree_rnn": TreeRNN,
    "tree_lstm": TreeLSTM,
    "stack_tree_lstm": StackTreeLSTM,
    "tree_smu": TreeSMU,
}

__all__ = ["CELLS", "Cell", "StackTreeLSTM", "TreeLSTM", "TreeRNN", "TreeSMU"]
