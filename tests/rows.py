"""Every cell and sequence encoder with its options: the rows of all tests that hold for every one.

A table has one entry per case. ``ROWS`` has the cells: the key is the registry's name, then, after a comma, what is
special about the case; the value has the constructor's options. ``DOWNWARD`` has the downward cells, ``ENCODERS`` the
encoders of sequences. A test takes a row by its key, so that a failure names the case,
and builds the module by a function below. A new entry of a registry gets a row here, and with it the tests that compare
engines, gradients, files and devices; ``tests/test_registries.py`` fails without it.
"""

from typing import Any

import torch
from helpers import ANY, VOCABULARY

from dgltree import Vocabulary
from dgltree.cells import CELLS, SWEEPS, Cell, DownwardCell
from dgltree.encoders import SEQUENCE_ENCODERS, SequenceEncoder, make_encoder

GATES = {"input_size": 3, "leaf": "gates"}

ROWS: dict[str, dict[str, Any]] = {  # the registry's name is before the first comma
    "tree_rnn": {},
    "tree_rnn, two layers": {"num_layers": 2},
    "tree_rnn, two layers, shared weights": {"num_layers": 2, "typed": False},
    "tree_rnn, tanh, leaf network": {"activation": "tanh", "leaf": "network"},
    "tree_rnn, leaf gates": {"num_layers": 2, **GATES},
    "tree_lstm": {},
    "tree_lstm, shared weights": {"typed": False},
    "tree_lstm, numbers": {"numbers": True},
    "tree_lstm, numbers, scaled": {"numbers": True, "number_scale": (0.5, 0.25)},
    "tree_lstm, inputs": {"input_size": 3},
    "tree_lstm, leaf gates": {**GATES},
    "tree_lstm, leaf gates, shared, numbers": {"typed": False, "numbers": True, **GATES},
    "tree_lstm, leaf gates, functions, own parts of rank 2": {"rank": 2, "functions": True, **GATES},
    "child_sum": {},
    "child_sum, typed": {"typed": True},
    "child_sum, any arity": {"typed": True},
    "child_sum, inputs": {"input_size": 3},
    "child_sum, positions": {"positions": True},
    "child_sum, mean": {"aggregation": "mean"},
    "child_sum, max, inputs": {"aggregation": "max", "input_size": 3},
    "child_sum, any arity, min, leaf gates": {"aggregation": "min", **GATES},
    "child_sum, any arity, attention, positions": {"aggregation": "attention", "positions": True},
    "child_sum, bag": {"aggregation": "bag"},
    "child_sum, any arity, bag, leaf gates, typed": {"aggregation": "bag", "typed": True, **GATES},
    "child_sum, any arity, bag, leaf gates, positions": {"aggregation": "bag", "positions": True, **GATES},
    "child_sum, any arity, leaf gates": {**GATES},
    "child_sum, any arity, leaf gates, functions, positions": {"functions": True, "positions": True, **GATES},
    "child_sum, any arity, leaf gates, typed": {"typed": True, **GATES},
    "stack_tree_rnn": {"stack_size": 3},
    "stack_tree_rnn, no_op": {"stack_size": 3, "no_op": True},
    "stack_tree_rnn, no_op, top_k": {"stack_size": 4, "no_op": True, "top_k": 3},
    "stack_tree_rnn, children": {"stack_size": 3, "read": "children"},
    "stack_tree_rnn, children, no_op, typed stack": {
        "stack_size": 3,
        "no_op": True,
        "read": "children",
        "typed_stack": True,
    },
    "stack_tree_rnn, shared weights": {"stack_size": 3, "no_op": True, "typed": False},
    "stack_tree_rnn, leaf gates": {"stack_size": 3, "no_op": True, **GATES},
    "stack_tree_rnn, children, leaf gates": {"read": "children", **GATES},
    "stack_tree_lstm": {"stack_size": 3},
    "stack_tree_lstm, no_op without pop": {"stack_size": 3, "no_op": True, "pop": False},
    "stack_tree_lstm, normalize": {"stack_size": 3, "normalize": True},
    "stack_tree_lstm, data gate": {"stack_size": 3, "data_gate": True},
    "stack_tree_lstm, top_k": {"stack_size": 4, "top_k": 2},
    "stack_tree_lstm, gated top_k": {"stack_size": 4, "top_k": 2, "gated_top_k": True},
    "stack_tree_lstm, data gate, gated top_k": {"stack_size": 4, "top_k": 2, "gated_top_k": True, "data_gate": True},
    "stack_tree_lstm, shared weights": {"stack_size": 3, "no_op": True, "typed": False},
    "tree_smu": {"stack_size": 4},
    "tree_smu, no_op": {"stack_size": 4, "no_op": True},
    "tree_smu, one row": {"stack_size": 1, "no_op": True},
    "tree_smu, data gate": {"stack_size": 3, "no_op": True, "data_gate": True},
    "tree_smu, top_k": {"stack_size": 4, "top_k": 3, "no_op": True},
    "tree_smu, gated top_k": {"stack_size": 4, "top_k": 3, "gated_top_k": True},
    "tree_smu, leaf gates": {"stack_size": 3, "no_op": True, **GATES},
    "tree_cell": {},
    "tree_cell, typed": {"typed": True},
    "tree_cell, inputs": {"input_size": 3},
    "tree_cell, leaf gates": {**GATES},
    "tree_cell, leaf gates, functions": {"functions": True, **GATES},
    "grc": {},
    "grc, leaf gates": {**GATES},
}

DOWNWARD: dict[
    str, tuple[str | None, dict[str, Any]]
] = {  # row to the upward row; None: a cell with these options, too
    "downward tree_lstm": ("tree_lstm", {}),
    "downward tree_lstm, shared weights": ("tree_lstm, shared weights", {"typed": False}),
    "downward tree_lstm, positions": ("tree_lstm", {"positions": True}),
    "downward tree_lstm, any arity": ("child_sum, any arity", {"positions": True}),
    "downward tree_lstm, any arity, shared weights": ("child_sum, any arity", {"positions": True, "typed": False}),
    "downward tree_lstm, max": ("tree_rnn", {"aggregation": "max"}),
    "downward tree_lstm, sum": ("tree_lstm", {"aggregation": "sum"}),
    "downward strae": (None, {}),
    "downward strae, channels": (None, {"channels": 3}),
    "downward strae, typed": (None, {"typed": True}),
    "downward banyan": (None, {}),
    "downward banyan, channels": (None, {"channels": 3}),
}
"""The rows of the second sweep: both sweeps run, and are compared, together."""


ENCODERS: dict[str, dict[str, Any]] = {  # each with all that is its own, at the width that make_sequence_encoder takes
    "lstm": {"num_layers": 2},
    "on_lstm": {"num_layers": 2, "chunk_size": 3},
    "ordered_memory": {"num_slots": 4},
    "balanced_tree": {},
    "gumbel_tree": {"noise": False},
    "crvnn": {},
    "beam_tree": {"beam_size": 3, "noise": False},
    "efficient_beam_tree": {"beam_size": 3, "slice_size": 5, "noise": False},
    "easy_first": {},
    "recurrent_grc": {},
    "transformer": {"num_layers": 2, "num_heads": 3},
    "universal_transformer": {"num_steps": 3, "num_heads": 3},
    "neural_data_router": {"num_layers": 3, "num_heads": 3},
    "tree_transformer": {"num_layers": 2, "num_heads": 3, "path_length": 3},
}
PAIRS = [name for name, core in SEQUENCE_ENCODERS.items() if not core.place_options]
"""The sequence encoders that read pairs as one sequence, and trees in any order."""


def make_sequence_encoder(name: str, vocabulary: Vocabulary, **options: Any) -> SequenceEncoder:
    """The encoder of a row of ENCODERS, 12 wide, drawn from seed 0."""
    torch.manual_seed(0)
    made = make_encoder(name, vocabulary, 12, **ENCODERS[name], **options)
    assert isinstance(made, SequenceEncoder)
    return made


def make_downward(name: str, seed: int = 1) -> tuple[Cell, DownwardCell]:
    """Both cells of a row of DOWNWARD in float64."""
    row, options = DOWNWARD[name]
    hidden_size = 6 if "channels" in options else 5
    upward, downward = SWEEPS[name.split(",")[0].removeprefix("downward ")]
    torch.manual_seed(seed)
    up = make_cell(row, hidden_size=hidden_size) if row else upward(VOCABULARY, hidden_size, **options).double()
    return up, downward(up.vocabulary, hidden_size, **options).double()


def make_cell(name: str, vocabulary: Vocabulary | None = None, hidden_size: int = 5, seed: int = 0) -> Cell:
    """The cell of a row in float64, drawn from a seed."""
    torch.manual_seed(seed)
    if vocabulary is None:
        vocabulary = ANY if "any arity" in name else VOCABULARY
    return CELLS[name.split(",")[0]](vocabulary, hidden_size, **ROWS[name]).double()
