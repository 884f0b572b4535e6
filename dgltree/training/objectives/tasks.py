"""The tasks of ``fit``, and its defaults in each of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """One of the values of ``--task``."""

    each: int
    """Trees of an example."""
    readout: str
    """In ``dgltree.models.checkpoint.READOUTS``, unless another one is named."""
    gives: tuple[str, ...]
    """The kinds of output that its readouts may give."""
    dropout: float = 0.0
    input_dropout: float = 0.0
    token_dropout: float = 0.0
    weight_decay: float = 0.0
    """By which a training of few examples fits them less closely. Measured in docs/defaults.md."""


TASKS = {
    "classify": Task(
        1, "classifier", ("classes",), dropout=0.5, input_dropout=0.3, token_dropout=40.0, weight_decay=0.05
    ),
    "regress": Task(1, "number", ("numbers",)),
    "pair": Task(2, "pair", ("classes", "numbers")),
}
