"""Encoders by name, so that a tree model and a sequence model differ by one line of a configuration."""

import re
from inspect import Parameter, signature
from typing import Any

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.sequence_encoder import SEQUENCE_ENCODERS, SequenceEncoder
from dgltree.encoders.tree_encoder import TreeEncoder


def make_encoder(name: str, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> Encoder:
    """The encoder of a name: a key of ``dgltree.cells.CELLS`` or of ``SEQUENCE_ENCODERS``.

    Args:
        name: a cell's name gives a :class:`TreeEncoder` of that cell, another one a :class:`SequenceEncoder`.
        vocabulary: of the trees.
        hidden_size: n, the width of what the encoder gives.
        options: of the cell or encoder.

    Raises ``ValueError`` for a name or option that is not there, with those that are, and what the encoder raises.
    """
    if name not in CELLS and name not in SEQUENCE_ENCODERS:
        raise ValueError(f"the encoder is {name!r}; it must be one of {', '.join([*CELLS, *SEQUENCE_ENCODERS])}")
    try:
        if name in CELLS:
            return TreeEncoder(CELLS[name](vocabulary, hidden_size, **options))
        return SequenceEncoder(name, vocabulary, hidden_size, **options)
    except TypeError as error:
        known = cell_options(name, vocabulary) if name in CELLS else keyword_options(name)
        unknown = re.search(r"unexpected keyword argument ('\w+')", str(error))
        wrong = f"{name} has no option {unknown[1]}" if unknown else f"{name}: {error}"
        raise ValueError(f"{wrong}; its options are {', '.join(known)}") from error


def cell_options(name: str, vocabulary: Vocabulary) -> list[str]:
    """The options of a cell, which are in the signatures of several classes, and all in its ``config``."""
    return [option for option in CELLS[name](vocabulary, 1).config if option != "hidden_size"]


def keyword_options(name: str) -> list[str]:
    """The options of a sequence encoder: the wrapper's, those of its core, and of the classes that this is built on."""
    made = [SequenceEncoder, *SEQUENCE_ENCODERS[name].__mro__]
    parameters = [signature(vars(of)["__init__"]).parameters.values() for of in made if "__init__" in vars(of)]
    return list(dict.fromkeys(p.name for own in parameters for p in own if p.kind is Parameter.KEYWORD_ONLY))
