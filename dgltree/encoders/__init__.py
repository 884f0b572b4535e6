"""Encoders: a batch of trees to one vector a root."""

from dgltree.encoders.encoder import Encoder
from dgltree.encoders.linearize import linearize
from dgltree.encoders.lstm import LSTMEncoder, SequenceLSTM
from dgltree.encoders.registry import SEQUENCE_ENCODERS, make_encoder
from dgltree.encoders.transformer import SequenceTransformer, TransformerEncoder
from dgltree.encoders.tree import TreeEncoder
from dgltree.encoders.tree_transformer import TreeTransformer, TreeTransformerEncoder

__all__ = [
    "SEQUENCE_ENCODERS",
    "Encoder",
    "LSTMEncoder",
    "SequenceLSTM",
    "SequenceTransformer",
    "TransformerEncoder",
    "TreeEncoder",
    "TreeTransformer",
    "TreeTransformerEncoder",
    "linearize",
    "make_encoder",
]
