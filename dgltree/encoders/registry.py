"""Encoders by name, so that a tree model and a sequence model differ by one line of a configuration."""

from collections.abc import Callable
from typing import Any

from dgltree.cells import CELLS, Cell
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.lstm import LSTMEncoder
from dgltree.encoders.transformer import TransformerEncoder
from dgltree.encoders.tree import TreeEncoder
from dgltree.encoders.tree_transformer import TreeTransformerEncoder
from dgltree.vocabulary import Vocabulary

SEQUENCE_ENCODERS: dict[str, type[Encoder]] = {
    "lstm": LSTMEncoder,
    "transformer": TransformerEncoder,
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
        known = [option for option in make(vocabulary, hidden_size).config if option != "hidden_size"]
        raise ValueError(f"{name}: {error}; its options are {', '.join(known)}") from error
    return TreeEncoder(made) if isinstance(made, Cell) else made
