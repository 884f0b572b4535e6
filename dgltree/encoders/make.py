"""Encoders by name, so that a tree model and a sequence model differ by one line of a configuration."""

from collections.abc import Iterable
from typing import Any

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS
from dgltree.encoders.encoder import Encoder
from dgltree.encoders.sequence_encoder import SEQUENCE_ENCODERS, SequenceEncoder, sequence_options
from dgltree.encoders.tree_encoder import TreeEncoder
from dgltree.support.arguments import near, option_names

TREE_OPTIONS = ("pooling", "rounds", "context")
"""Options of the encoder around a cell."""


def make_encoder(name: str, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> Encoder:
    """The encoder of a name: a key of ``dgltree.cells.CELLS`` or of ``SEQUENCE_ENCODERS``.

    Examples:
        >>> import dgltree
        >>> from dgltree.encoders import make_encoder
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> encoder = make_encoder("tree_lstm", vocabulary, 16)
        >>> encoder(dgltree.batch(trees, vocabulary)).shape  # (trees, n)
        torch.Size([2, 16])

    Args:
        name: a cell's name gives a :class:`TreeEncoder` of that cell, another one a :class:`SequenceEncoder`.
        vocabulary: of the trees.
        hidden_size: n, the width of what the encoder gives.
        options: of the cell or encoder.

    Raises ``ValueError`` for a name or option that is not there, with those that are, and what the encoder raises.
    """
    known = check_encoder(name, options)
    try:
        if name in CELLS:
            around = {option: options.pop(option) for option in TREE_OPTIONS if option in options}
            return TreeEncoder(CELLS[name](vocabulary, hidden_size, **options), **around)
        return SequenceEncoder(name, vocabulary, hidden_size, **options)
    except TypeError as error:
        raise ValueError(f"{name}: {error}; its options are {', '.join(known)}") from error


def check_encoder(name: str, options: Iterable[str] = ()) -> list[str]:
    """The options of the encoder of a name. ``ValueError`` for another name, and for an option that it lacks."""
    names = [*CELLS, *SEQUENCE_ENCODERS]
    if name not in names:
        raise ValueError(f"the encoder is {name!r}; it must be one of {', '.join(names)}{near(name, names)}")
    known = encoder_options(name)
    for option in options:
        if option not in known:
            raise ValueError(
                f"{name} has no option {option!r}; its options are {', '.join(known)}{near(option, known)}"
            )
    return known


def encoder_options(name: str) -> list[str]:
    """The options of the encoder of a name, except for its width."""
    if name in SEQUENCE_ENCODERS:
        return sequence_options(SEQUENCE_ENCODERS[name])
    return [*(option for option in option_names(CELLS[name]) if option != "hidden_size"), *TREE_OPTIONS]
