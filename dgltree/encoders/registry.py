"""Encoders by name, so that a tree model and a sequence model differ by one line of a configuration."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS, Cell
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.lstm import LSTMEncoder
from dgltree.encoders.on_lstm import ONLSTMEncoder
from dgltree.encoders.ordered_memory import OrderedMemoryEncoder
from dgltree.encoders.sequence import SequenceEncoder
from dgltree.encoders.transformer import TransformerEncoder
from dgltree.encoders.tree import TreeEncoder
from dgltree.encoders.tree_transformer import TreeTransformerEncoder
from dgltree.encoders.universal_transformer import UniversalTransformerEncoder

SEQUENCE_ENCODERS: dict[str, type[SequenceEncoder] | type[TreeTransformerEncoder]] = {
    "lstm": LSTMEncoder,
    "on_lstm": ONLSTMEncoder,
    "ordered_memory": OrderedMemoryEncoder,
    "transformer": TransformerEncoder,
    "universal_transformer": UniversalTransformerEncoder,
    "tree_transformer": TreeTransformerEncoder,
}


def make_encoder(name: str, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> Encoder:
    """The encoder of a name: a key of ``dgltree.cells.CELLS`` or of ``SEQUENCE_ENCODERS``.

    Args:
        name: a cell's name gives a :class:`TreeEncoder` of that cell.
        vocabulary: of the trees.
        hidden_size: n, the width of what the encoder gives.
        options: of the cell or encoder.

    Raises ``ValueError`` for a name or option that is not there, with those that are, and what the encoder raises.
    """
    make: Callable[..., Cell | Encoder] | None = CELLS.get(name) or SEQUENCE_ENCODERS.get(name)
    if make is None:
        raise ValueError(f"the encoder is {name!r}; it is one of {', '.join([*CELLS, *SEQUENCE_ENCODERS])}")
    try:
        made = make(vocabulary, hidden_size, **options)
    except TypeError as error:
        known = cell_options(name, vocabulary) if name in CELLS else keyword_options(name)
        raise ValueError(f"{name}: {error}; its options are {', '.join(known)}") from error
    return TreeEncoder(made) if isinstance(made, Cell) else made


def cell_options(name: str, vocabulary: Vocabulary) -> list[str]:
    """The options of a cell, which stand in the signatures of several classes, and all in its ``config``."""
    return [option for option in CELLS[name](vocabulary, 1).config if option != "hidden_size"]


def keyword_options(name: str) -> list[str]:
    """The options of a sequence encoder: its own, and those of its core."""
    encoder = SEQUENCE_ENCODERS[name]
    parameters = [signature(made).parameters.values() for made in (encoder, encoder.core_class)]
    return [p.name for own in parameters for p in own if p.kind is Parameter.KEYWORD_ONLY]
