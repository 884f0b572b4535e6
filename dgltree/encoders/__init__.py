"""Encoders: a batch of trees to one vector a root."""

from dgltree.encoders.encoder import Encoder
from dgltree.encoders.joint import JointEncoder
from dgltree.encoders.linearization import linearize
from dgltree.encoders.lstm import LSTMEncoder, SequenceLSTM
from dgltree.encoders.on_lstm import ONLSTM, ONLSTMEncoder, ONLSTMSteps, SequenceONLSTM
from dgltree.encoders.ordered_memory import MemorySteps, OrderedMemory, OrderedMemoryEncoder, SequenceOrderedMemory
from dgltree.encoders.registry import SEQUENCE_ENCODERS, make_encoder
from dgltree.encoders.sequence import InducingEncoder
from dgltree.encoders.transformer import SequenceTransformer, TransformerEncoder
from dgltree.encoders.tree import TreeEncoder
from dgltree.encoders.tree_transformer import TreeTransformer, TreeTransformerEncoder
from dgltree.encoders.universal_transformer import SequenceUniversalTransformer, UniversalTransformerEncoder

__all__ = [
    "ONLSTM",
    "SEQUENCE_ENCODERS",
    "Encoder",
    "InducingEncoder",
    "JointEncoder",
    "LSTMEncoder",
    "MemorySteps",
    "ONLSTMEncoder",
    "ONLSTMSteps",
    "OrderedMemory",
    "OrderedMemoryEncoder",
    "SequenceLSTM",
    "SequenceONLSTM",
    "SequenceOrderedMemory",
    "SequenceTransformer",
    "SequenceUniversalTransformer",
    "TransformerEncoder",
    "TreeEncoder",
    "TreeTransformer",
    "TreeTransformerEncoder",
    "UniversalTransformerEncoder",
    "linearize",
    "make_encoder",
]
