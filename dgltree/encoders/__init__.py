"""Encoders: a batch of trees to one vector a root."""

from dgltree.encoders.core import InducingCore, SequenceCore
from dgltree.encoders.encoder import Encoder, Planned
from dgltree.encoders.linearization import linearize
from dgltree.encoders.lstm import SequenceLSTM
from dgltree.encoders.make import make_encoder
from dgltree.encoders.on_lstm import ONLSTM, ONLSTMSteps, SequenceONLSTM
from dgltree.encoders.ordered_memory import MemorySteps, OrderedMemory, SequenceOrderedMemory
from dgltree.encoders.registry import SEQUENCE_ENCODERS
from dgltree.encoders.sequence import SequenceEncoder
from dgltree.encoders.sequences import Sequences
from dgltree.encoders.transformer import SequenceTransformer
from dgltree.encoders.tree import TreeEncoder
from dgltree.encoders.tree_transformer import TreeTransformer
from dgltree.encoders.universal_transformer import SequenceUniversalTransformer

__all__ = [
    "ONLSTM",
    "SEQUENCE_ENCODERS",
    "Encoder",
    "InducingCore",
    "MemorySteps",
    "ONLSTMSteps",
    "OrderedMemory",
    "Planned",
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
