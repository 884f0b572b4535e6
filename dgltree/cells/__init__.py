"""The cells, one per file: what their authors write, and what is derived from it; their registry by name."""

from dgltree.cells.cell import Cell
from dgltree.cells.channels import BanyanCell, StrAECell
from dgltree.cells.child_sum_tree_lstm import ChildSumTreeLSTM
from dgltree.cells.downward import DownwardBanyanCell, DownwardCell, DownwardStrAECell, DownwardTreeLSTM
from dgltree.cells.grc import GRC
from dgltree.cells.stack_tree_lstm import StackTreeLSTM
from dgltree.cells.stack_tree_rnn import StackTreeRNN
from dgltree.cells.sum_cell import SumCell
from dgltree.cells.tree_cell import TreeCell
from dgltree.cells.tree_lstm import TreeLSTM
from dgltree.cells.tree_rnn import TreeRNN
from dgltree.cells.tree_smu import TreeSMU
from dgltree.engine.aggregation import AGGREGATIONS, Aggregation
from dgltree.engine.contract import Children, Computed, State
from dgltree.engine.typed_linear import Affine, Linear, concatenate

CELLS: dict[str, type[Cell]] = {
    "tree_rnn": TreeRNN,
    "tree_lstm": TreeLSTM,
    "child_sum": ChildSumTreeLSTM,
    "stack_tree_rnn": StackTreeRNN,
    "stack_tree_lstm": StackTreeLSTM,
    "tree_smu": TreeSMU,
    "tree_cell": TreeCell,
    "grc": GRC,
}
"""The cells by name: what ``--encoder`` and :func:`dgltree.encoders.make_encoder` take, and model files name."""

SWEEPS: dict[str, tuple[type[Cell], type[DownwardCell]]] = {
    "tree_lstm": (TreeLSTM, DownwardTreeLSTM),
    "strae": (StrAECell, DownwardStrAECell),
    "banyan": (BanyanCell, DownwardBanyanCell),
}
"""Pairs of a cell upwards and one downwards that go together, by name."""

__all__ = [
    "AGGREGATIONS",
    "CELLS",
    "GRC",
    "SWEEPS",
    "Affine",
    "Aggregation",
    "BanyanCell",
    "Cell",
    "ChildSumTreeLSTM",
    "Children",
    "Computed",
    "DownwardBanyanCell",
    "DownwardCell",
    "DownwardStrAECell",
    "DownwardTreeLSTM",
    "Linear",
    "StackTreeLSTM",
    "StackTreeRNN",
    "State",
    "StrAECell",
    "SumCell",
    "TreeCell",
    "TreeLSTM",
    "TreeRNN",
    "TreeSMU",
    "concatenate",
]
