"""Defaults that follow from the data: the encoder and its options, its vocabulary, and what numbers are."""

from typing import Any

import torch

from dgltree.batching.vocabulary import ANY_ARITY, NO_TOKEN, UNKNOWN, Vocabulary
from dgltree.cells import CELLS, Cell, SumCell
from dgltree.datasets.settings.field_texts import number
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import SEQUENCE_ENCODERS, Encoder, TreeEncoder, make_encoder
from dgltree.encoders.make import encoder_options
from dgltree.training.options import FitOptions

WIDEST = 3
"""Children up to which trees are read by weights of their own for each place, unless an encoder is named."""
EMBEDDING_STD = 0.1
"""Vectors of tokens and functions that gates read begin as N(0, EMBEDDING_STD^2)."""
PATH_LENGTH = 16
"""Edges of a node's path to the root that a Tree Transformer reads, where its width has room for them."""
QUARTILES = (0.25, 0.5, 0.75)


def encoder_for(data: TreeDataset) -> str:
    """The name of the encoder, by the most children that a node has."""
    return "tree_lstm" if most_children(data) <= WIDEST else "child_sum"


def most_children(data: TreeDataset) -> int:
    return max(int(block.trees.arity.max()) for block in data.blocks())


def has_own_weights(name: str, options: dict[str, Any] | None) -> bool:
    """Whether each function has weights of its own in an encoder of this name."""
    return name in CELLS and bool((options or {}).get("typed", _small(name).typed))


def attends(name: str) -> bool:
    """Whether an encoder is a Transformer, which needs a lower rate and a warm-up."""
    return name in SEQUENCE_ENCODERS and "pre_norm" in encoder_options(name)


def numbers_are_read(data: TreeDataset, name: str, min_count: int) -> bool:
    """Whether leaves that are written as numbers are better read as such than as words, by an encoder that can.

    They are where some are not whole, or where most of the different ones are rare.

    Args:
        data: to train on.
        name: of the encoder.
        min_count: a token that occurs at fewer nodes is rare.
    """
    if name not in CELLS:
        return False
    _, counts = stands_at((block.trees for block in data.blocks()), data.own_vocabulary)
    found = [
        (value, count)
        for token, count in zip(data.own_vocabulary.tokens, counts.tolist(), strict=True)
        if count and (value := number(token)) is not None
    ]
    rare = sum(count < min_count for _, count in found)
    return any(not value.is_integer() for value, _ in found) or 2 * rare > len(found)


def vocabulary_for(data: TreeDataset, options: FitOptions) -> Vocabulary:
    """The vocabulary of a model, in which an unknown function is ``<unk>`` wherever functions share their weights."""
    name = str(options.encoder)
    if name not in CELLS and name not in SEQUENCE_ENCODERS:
        raise ValueError(f"the encoder is {name!r}; it must be one of {', '.join([*CELLS, *SEQUENCE_ENCODERS])}")
    own = has_own_weights(name, options.options)
    sums = CELLS[name].any_arity if name in CELLS else not SEQUENCE_ENCODERS[name].place_options
    return data.vocabulary(sums, options.min_count, options.unk or not own, always=not own)


def encoder_of(data: TreeDataset, vocabulary: Vocabulary, options: FitOptions) -> Encoder:
    """The encoder of a training, with all that follows from the data; what its options say has the last word.

    Raises ``ValueError`` for options that do not fit it.
    """
    name, given = str(options.encoder), dict(options.options or {})
    if name not in CELLS and (options.input_size or options.nodes):
        raise ValueError(f"input_size and nodes need a cell; {name} reads sequences")
    further = _cell_options(data, name, options) if name in CELLS else _sequence_options(vocabulary, name, options)
    try:
        encoder = make_encoder(name, vocabulary, options.hidden_size, **{**further, **given})
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None
    if isinstance(encoder, TreeEncoder) and options.input_size:
        _start_embeddings(encoder.cell)
    return encoder


def _cell_options(data: TreeDataset, name: str, options: FitOptions) -> dict[str, Any]:
    further: dict[str, Any] = {}
    if options.input_size:
        further = {"input_size": options.input_size, "leaf": "gates"}
        if not has_own_weights(name, options.options):
            further["functions"] = True
    if isinstance(_small(name), SumCell):
        further["positions"] = True
    if data.has_numbers:
        further |= {"numbers": True, "number_scale": number_scale(data)}
    return further


def _sequence_options(vocabulary: Vocabulary, name: str, options: FitOptions) -> dict[str, Any]:
    further: dict[str, Any] = {"pre_norm": True} if attends(name) else {}
    if SEQUENCE_ENCODERS[name].place_options:  # positions have room for so many edges of the path to the root
        further["path_length"] = max(1, min(PATH_LENGTH, options.hidden_size // max([1, *vocabulary.arities])))
    return further


def number_scale(data: TreeDataset) -> tuple[float, float]:
    """The median of the numbers at leaves, and the deviation of a normal distribution with their quartiles.

    Where half of them are equal, the deviation is that of all, and 1 where all are equal.
    """
    values = torch.cat([block.trees.value for block in data.blocks() if block.trees.value is not None])
    values = values[~values.isnan()]
    if not len(values):
        return 0.0, 1.0
    low, middle, high = torch.quantile(
        values[:: len(values) // (1 << 20) + 1], torch.tensor(QUARTILES).double()
    ).tolist()
    spread = (high - low) / 1.349 or float(values.std(correction=0))
    return middle, spread or 1.0


def _small(name: str) -> Cell:
    """The smallest cell of a name: its class alone does not say what its options are by default."""
    kind = CELLS[name]
    return kind(Vocabulary([("f", ANY_ARITY if kind.any_arity else 1)], ["x"]), 1)


def _start_embeddings(cell: Cell) -> None:
    """Small vectors; that of an unknown function is 0 until there are rare ones to learn it from."""
    torch.nn.init.normal_(cell.input_embedding.weight, std=EMBEDDING_STD)
    if cell.functions:
        torch.nn.init.normal_(cell.function_embedding.weight, std=EMBEDDING_STD)
        unknown = [f for f, (function, _) in enumerate(cell.vocabulary.functions) if function == UNKNOWN]
        with torch.no_grad():
            cell.function_embedding.weight[cell.function_embedding.place[unknown]] = 0


def has_tokens(data: TreeDataset) -> bool:
    return any(bool((block.trees.token != NO_TOKEN).any()) for block in data.blocks())
