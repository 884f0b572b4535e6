"""Encoders: a batch of trees to one vector a root."""

from dgltree.encoders.core import InducingCore, SequenceCore
from dgltree.encoders.encoder import Encoder, Planned
from dgltree.encoders.linearization import linearize
from dgltree.encoders.lstm import LSTM, SequenceLSTM
from dgltree.encoders.make import make_encoder
from dgltree.encoders.on_lstm import ONLSTM, SequenceONLSTM
from dgltree.encoders.ordered_memory import MemorySteps, OrderedMemory, SequenceOrderedMemory
from dgltree.encoders.recurrent import RecurrentLayers, RecurrentSteps
from dgltree.encoders.registry import SEQUENCE_ENCODERS
from dgltree.encoders.sequence import SequenceEncoder
from dgltree.encoders.sequences import Sequences
from dgltree.encoders.transformer import SequenceTransformer
from dgltree.encoders.tree import TreeEncoder
from dgltree.encoders.tree_transformer import TreeTransformer
from dgltree.encoders.universal_transformer import SequenceUniversalTransformer

__all__ = [
    "LSTM",
    "ONLSTM",
    "SEQUENCE_ENCODERS",
    "Encoder",
    "InducingCore",
    "MemorySteps",
    "OrderedMemory",
    "Planned",
    "RecurrentLayers",
    "RecurrentSteps",
    "SequenceCore",
    "SequenceEncoder",
    "SequenceLSTM",
    "SequenceONLSTM",
    "SequenceOrderedMemory",
    "SequenceTransformer",
    "SequenceUniversalTransformer",
    "Sequences",
    "TreeEncoder",
    "TreeTransformer",
    "linearize",
    "make_encoder",
]
