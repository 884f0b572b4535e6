"""Encoders of a batch to one vector per root: over a cell, over a sequence, or over trees that they find."""

from dgltree.encoders.bracket_scores import score_induced
from dgltree.encoders.encoder import Attention, Beams, Distances, Encoded, Encoder, Merges, Parse, Planned
from dgltree.encoders.latent.balanced_tree import SequenceBalancedTree
from dgltree.encoders.latent.beam_tree import SequenceBeamTree, SequenceEfficientBeamTree
from dgltree.encoders.latent.crvnn import SequenceCRvNN
from dgltree.encoders.latent.easy_first import SequenceEasyFirst
from dgltree.encoders.latent.gumbel_tree import SequenceGumbelTree
from dgltree.encoders.latent.on_lstm import ONLSTM, SequenceONLSTM
from dgltree.encoders.latent.ordered_memory import MemorySteps, OrderedMemory, SequenceOrderedMemory
from dgltree.encoders.make import make_encoder
from dgltree.encoders.sequence.core import InducingCore, SequenceCore
from dgltree.encoders.sequence.linearization import Sequences, linearize
from dgltree.encoders.sequence.lstm import LSTM, SequenceLSTM
from dgltree.encoders.sequence.neural_data_router import SequenceNeuralDataRouter
from dgltree.encoders.sequence.recurrent import RecurrentLayers, RecurrentSteps
from dgltree.encoders.sequence.recurrent_grc import SequenceRecurrentGRC
from dgltree.encoders.sequence.transformer import SequenceTransformer
from dgltree.encoders.sequence.tree_transformer import TreeTransformer
from dgltree.encoders.sequence.universal_transformer import SequenceUniversalTransformer
from dgltree.encoders.sequence_encoder import SEQUENCE_ENCODERS, SequenceEncoder
from dgltree.encoders.tree_encoder import TreeEncoder

__all__ = [
    "LSTM",
    "ONLSTM",
    "SEQUENCE_ENCODERS",
    "Attention",
    "Beams",
    "Distances",
    "Encoded",
    "Encoder",
    "InducingCore",
    "MemorySteps",
    "Merges",
    "OrderedMemory",
    "Parse",
    "Planned",
    "RecurrentLayers",
    "RecurrentSteps",
    "SequenceBalancedTree",
    "SequenceBeamTree",
    "SequenceCRvNN",
    "SequenceCore",
    "SequenceEasyFirst",
    "SequenceEfficientBeamTree",
    "SequenceEncoder",
    "SequenceGumbelTree",
    "SequenceLSTM",
    "SequenceNeuralDataRouter",
    "SequenceONLSTM",
    "SequenceOrderedMemory",
    "SequenceRecurrentGRC",
    "SequenceTransformer",
    "SequenceUniversalTransformer",
    "Sequences",
    "TreeEncoder",
    "TreeTransformer",
    "linearize",
    "make_encoder",
    "score_induced",
]
