"""The cores of sequence encoders by name."""

from dgltree.encoders.core import SequenceCore
from dgltree.encoders.lstm import SequenceLSTM
from dgltree.encoders.on_lstm import SequenceONLSTM
from dgltree.encoders.ordered_memory.core import SequenceOrderedMemory
from dgltree.encoders.transformer import SequenceTransformer
from dgltree.encoders.tree_transformer import TreeTransformer
from dgltree.encoders.universal_transformer import SequenceUniversalTransformer

SEQUENCE_ENCODERS: dict[str, type[SequenceCore]] = {
    "lstm": SequenceLSTM,
    "on_lstm": SequenceONLSTM,
    "ordered_memory": SequenceOrderedMemory,
    "transformer": SequenceTransformer,
    "universal_transformer": SequenceUniversalTransformer,
    "tree_transformer": TreeTransformer,
}
"""The cores by name: what :class:`dgltree.encoders.SequenceEncoder` and ``--encoder`` take, and model files name."""
