"""Names of networks on the page: the kind, and the name by which it was opened."""

from dgltree.cells import CELLS
from dgltree.encoders import SequenceEncoder, TreeEncoder
from dgltree.explore.open_models import DEFAULT, LISTOPS, LOGIC
from dgltree.models.tree_model import TreeModel

KINDS = {
    "tree_rnn": "Tree-RNN",
    "tree_lstm": "Tree-LSTM",
    "child_sum": "Child-sum Tree-LSTM",
    "stack_tree_rnn": "Stack Tree-RNN",
    "stack_tree_lstm": "Stack Tree-LSTM",
    "tree_smu": "Tree-SMU",
    "tree_cell": "Tree cell",
    "grc": "Gated recursive cell",
    "ordered_memory": "Ordered Memory",
    "on_lstm": "ON-LSTM",
    "beam_tree": "Beam Tree",
    "efficient_beam_tree": "Efficient Beam Tree",
    "crvnn": "CRvNN",
}
"""The usual names; those of other cells and encoders are written as in their registries."""

SHIPPED = {DEFAULT: "shipped", LOGIC: "logic", LISTOPS: "ListOps"}


def title(name: str, model: TreeModel) -> str:
    """``Tree-LSTM, shipped``: the kind of network, and where it comes from or what it was trained on."""
    return f"{_kind(model)}, {SHIPPED.get(name, name)}"


def _kind(model: TreeModel) -> str:
    encoder = model.encoder
    if isinstance(encoder, SequenceEncoder):
        return KINDS.get(encoder.name, encoder.name)
    assert isinstance(encoder, TreeEncoder)
    own = type(encoder.cell)
    return next((KINDS.get(name, name) for name, cell in CELLS.items() if cell is own), own.__name__)
