"""Every option of every network with a value that is not its default: the other side of each option.

``OTHERS`` has a row for each class, by its name. A value is given alone, or with the options without which it makes no
difference: a stack that is not popped has to do something else. ``tests/test_off_default.py`` builds both, asks
whether anything that can be seen differs, and saves and loads the one that is not the default. A new option gets its
entry here; the test fails without it.
"""

from inspect import signature
from typing import Any, NamedTuple

from dgltree.cells import CELLS, SWEEPS
from dgltree.encoders import SEQUENCE_ENCODERS, TreeEncoder
from dgltree.encoders.sequence_encoder import sequence_options
from dgltree.models import LanguageModel
from dgltree.models.checkpoint import READOUTS
from dgltree.support.arguments import option_names


class Beside(NamedTuple):
    """A value, and the options of both networks that are compared."""

    value: Any
    options: dict[str, Any]
    sharpened: float = 1.0
    """What the weights of both are multiplied by."""


DROPOUT = {"dropout": 0.5}
CELL = {
    "hidden_size": 4,
    "rank": Beside(2, {"typed": True, "input_size": 3, "leaf": "gates"}),
    "input_size": 3,
    "leaf": Beside("gates", {"input_size": 3}),
    "functions": Beside(True, {"input_size": 3, "leaf": "gates"}),
    "numbers": True,
    "number_scale": Beside((0.5, 0.25), {"numbers": True}),
    **DROPOUT,
}
STACK = {**CELL, "typed": False, "stack_size": 2, "top_k": 2, "no_op": True, "pop": Beside(False, {"no_op": True})}
GATED = {"gated_top_k": Beside(True, {"top_k": 2}), "data_gate": True}
SEQUENCE = {"order": "leaves", "joint": True, "max_length": 4, **DROPOUT}
SIZED = {**SEQUENCE, "embedding_size": 5}
LATENT = {
    **SEQUENCE,
    "embedding_size": 5,
    "cell": "tree_cell",
    "cell_dropout": 0.5,
    "chunk_size": 3,
    "chunks_in_evaluation": Beside(False, {"chunk_size": 3}),
}
BEAMS = {
    **LATENT,
    "beam_size": 2,
    "noise": False,
    "handed_on": Beside("random", {"chunk_size": 3, "noise": False}),
    "draw_seed": Beside(1, {"chunk_size": 3}),
}
ATTENTION = {**SEQUENCE, "num_heads": 2, "feedforward_size": 7}
PLACED = {"order", "joint"}
"""What an encoder of the places of nodes leaves no choice of."""
TRANSFORMER = {**ATTENTION, "num_layers": 1, "pre_norm": True}
READOUT = {"size": 7, "classes": 4, "hidden_size": 5, **DROPOUT}

OTHERS: dict[str, dict[str, Any]] = {
    "tree_rnn": {**CELL, "typed": False, "num_layers": 2, "activation": "tanh"},
    "tree_lstm": {**CELL, "typed": False},
    "child_sum": {**CELL, "typed": True, "positions": True, "aggregation": "mean"},
    "stack_tree_rnn": {
        **STACK,
        "read": "children",
        "typed_stack": Beside(True, {"read": "children"}),
        "activation": "tanh",
    },
    "stack_tree_lstm": {**STACK, **GATED, "normalize": True},
    "tree_smu": {**STACK, **GATED},
    "tree_cell": {**CELL, "typed": True},
    "grc": {**CELL, "typed": True},
    "downward tree_lstm": {
        "hidden_size": 4,
        "typed": False,
        "positions": True,
        "aggregation": "sum",
        **DROPOUT,
        "reads_up": False,
    },
    "downward strae": {"hidden_size": 4, "typed": True, "aggregation": "sum", **DROPOUT, "channels": 3},
    "downward banyan": {"hidden_size": 4, "aggregation": "sum", **DROPOUT, "channels": 3},
    "lstm": {**SEQUENCE, "num_layers": 2},
    "on_lstm": {**SIZED, "num_layers": 2, "chunk_size": 4, "weight_dropout": 0.5},
    "ordered_memory": {
        **SIZED,
        "num_slots": 4,
        "num_evaluation_slots": 3,
        "bidirectional": True,
        "operator": "grc",
        "attention": "paper",
        "allowed_maximum": Beside(True, {}, 10.0),
        "locked": Beside(True, DROPOUT),
        "cell_dropout": 0.5,
        "attention_dropout": 0.5,
    },
    "balanced_tree": LATENT,
    "gumbel_tree": {
        **LATENT,
        "score": "linear",
        "composed": Beside("pairs", {"score": "children"}),
        "scaled": False,
        "forget_bias": 0.0,
        "temperature": 2.0,
        "noise": False,
        "leaf": "lstm",
        "attention": True,
    },
    "crvnn": {
        **LATENT,
        "version": "first",
        "gelu": Beside("tanh", {"version": "first"}),
        "halt": False,
        "penalty": Beside(0.5, {"version": "first"}),
        "batch_maximum": True,
        "neighbours": "product",
        "merged_by": "existence",
    },
    "beam_tree": {**BEAMS, "one_soft": True},
    "efficient_beam_tree": {**BEAMS, "slice_size": 2, "in_context": True, "front": "s4d"},
    "easy_first": {**SEQUENCE, "cell": "strae", "everywhere": False, "cell_dropout": 0.5},
    "recurrent_grc": {**SEQUENCE, "padded_mean": True, "cell_dropout": 0.5},
    "transformer": TRANSFORMER,
    "universal_transformer": {**ATTENTION, "num_steps": 3, "pre_norm": True},
    "neural_data_router": {
        **ATTENTION,
        "num_layers": 3,
        "test_layers": 5,
        "key_dropout": 0.5,
        "gate_dropout": 0.5,
        "read_at": "first",
    },
    "tree_transformer": {name: value for name, value in TRANSFORMER.items() if name not in PLACED} | {"path_length": 3},
    "pair": READOUT,
    "classifier": READOUT,
    "number": {"size": 7, "scale": {"name": "asinh", "values": [-9.0, 9.0, 0.5, 2.0]}, "centre": [1.0, 2.0]},
    "gelu_pair": READOUT,
    "gelu_classifier": READOUT,
    "TreeEncoder": {"pooling": "mean", "rounds": 2, "context": "down"},
    "LanguageModel": {
        "layers": "lstm",
        "sizes": [5, 6],
        "options": {"chunk_size": 2},
        "word_dropout": 0.5,
        "input_dropout": 0.5,
        "layer_dropout": Beside(0.5, {"sizes": [6, 6]}),
        "output_dropout": 0.5,
        "weight_dropout": 0.5,
        "tied": False,
    },
}


def options_of(name: str) -> set[str]:
    """What a row has to name: all that a caller of the class may give, but the vocabulary."""
    if name in CELLS:
        return set(option_names(CELLS[name]))
    if name.startswith("downward "):
        return set(option_names(SWEEPS[name.removeprefix("downward ")][1]))
    if name in SEQUENCE_ENCODERS:
        core = SEQUENCE_ENCODERS[name]
        fixed = PLACED if core.place_options else set()
        return set(sequence_options(core)) - fixed - {"branching"}  # which follows from the vocabulary
    kinds = {"TreeEncoder": TreeEncoder, "LanguageModel": LanguageModel}
    kind = kinds[name] if name in kinds else READOUTS[name][0]
    given = set(signature(kind).parameters) - {"vocabulary", "cell"}
    return given - {"recompute"}  # changes nothing but time and memory
