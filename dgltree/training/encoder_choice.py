"""The encoder of a training: which one, with what options and vocabulary, as it follows from the data and settings."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from dgltree.batching.vocabulary import ANY_ARITY, NO_TOKEN, UNKNOWN, Vocabulary
from dgltree.cells import CELLS, Cell, SumCell
from dgltree.datasets.settings.field_texts import number
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import SEQUENCE_ENCODERS, Encoder, SequenceEncoder, TreeEncoder, make_encoder
from dgltree.encoders.make import encoder_options
from dgltree.read.glove import read_glove
from dgltree.training.options import FitOptions
from dgltree.training.processes import say

WIDEST = 3
"""Children up to which trees are read by weights of their own for each place, unless an encoder is named."""
EMBEDDING_STD = 0.1
"""Vectors of tokens and functions that gates read begin as N(0, EMBEDDING_STD^2)."""
PATH_LENGTH = 16
"""Edges of a node's path to the root that a Tree Transformer reads, where its width has room for them."""
QUARTILES = (0.25, 0.5, 0.75)


class EncoderChoice(NamedTuple):
    """The encoder of a training: its name and options, those that follow from the data with them."""

    name: str
    hidden_size: int
    options: dict[str, Any]
    vocabulary: Vocabulary
    numbers: bool
    """Whether leaves that are written as numbers are read as such although nothing was said of them."""
    attends: bool
    """Whether it is a Transformer, which needs a lower rate and a warm-up."""
    input_size: int | None
    """The width of embeddings that gates read."""
    vectors: str | None
    """The file of word vectors that tokens begin with."""
    small_cells: int
    """How many cells of one unit draw weights before it; see :meth:`made`."""

    def made(self) -> Encoder:
        """A new encoder. Raises ``ValueError`` for options that it has not.

        Cells of one unit draw weights before it, as they did when they were asked for a cell's defaults here: a seed
        keeps giving the weights that it gave.
        """
        for _ in range(self.small_cells):
            _small_cell(self.name)
        try:
            encoder = make_encoder(self.name, self.vocabulary, self.hidden_size, **self.options)
        except TypeError as error:
            raise ValueError(f"{self.name}: {error}") from None
        if isinstance(encoder, TreeEncoder) and self.input_size:
            _start_embeddings(encoder.cell)
        if self.vectors is not None:
            self._begin_with(self.vectors, token_vectors(encoder), isinstance(encoder, TreeEncoder))
        return encoder

    def _begin_with(self, file: str, embedding: nn.Parameter, small: bool) -> None:
        """Let the tokens that a file has begin with its vectors, and the others with small ones."""
        words = embedding[-len(self.vocabulary.tokens) :]  # before them a sequence encoder has other ids
        found = read_glove(file, self.vocabulary.tokens, words.shape[1])
        with torch.no_grad():
            if not small:
                nn.init.normal_(words, std=EMBEDDING_STD)
            words[found.index] = found.vectors
        say(f"{Path(file).name}: {found.coverage()}")


def encoder_for(data: TreeDataset) -> str:
    """The name of the encoder, by the most children that a node has."""
    most = max(int(block.trees.arity.max()) for block in data.blocks())
    return "tree_lstm" if most <= WIDEST else "child_sum"


def reads_numbers(data: TreeDataset, min_count: int) -> bool:
    """Whether leaves that are written as numbers are better read as such than as words, by an encoder that can.

    They are where nothing was said of them, and some are not whole or most of the different ones are rare, that is
    occur at fewer nodes than ``min_count``.
    """
    if data.reading.numbers is not None:
        return False
    _, counts = stands_at((block.trees for block in data.blocks()), data.own_vocabulary)
    found = [
        (value, count)
        for token, count in zip(data.own_vocabulary.tokens, counts.tolist(), strict=True)
        if count and (value := number(token)) is not None
    ]
    rare = sum(count < min_count for _, count in found)
    return any(not value.is_integer() for value, _ in found) or 2 * rare > len(found)


def choose_encoder(train: TreeDataset, settings: FitOptions, known: Vocabulary | None = None) -> EncoderChoice:
    """The encoder, its vocabulary and its options; what the settings say of these has the last word.

    Args:
        train: what is learnt from.
        settings: of the training.
        known: the vocabulary; None: that of ``train``, where an unknown function is ``<unk>`` wherever functions share
            their weights.

    Raises ``ValueError`` for a name that is not there, and for options that this encoder has not.
    """
    name, given, width = settings.encoder or encoder_for(train), settings.options or {}, settings.hidden_size
    cell, input_size = _small_cell(name), settings.input_size
    if cell is not None and settings.vectors and not input_size:
        raise ValueError("vectors needs an input_size, the width of the vectors of the file")
    if cell is None and (input_size or settings.nodes):
        raise ValueError(f"input_size and nodes need a cell; {name} reads sequences")
    numbers = cell is not None and reads_numbers(train, settings.min_count)
    train = train.with_numbers() if numbers else train
    own = cell is not None and bool(given.get("typed", cell.typed))  # weights of its own for each function
    sums = CELLS[name].any_arity if cell is not None else not SEQUENCE_ENCODERS[name].place_options
    vocabulary = known or train.vocabulary(sums, settings.min_count, settings.unk or not own, always=not own)
    if cell is not None:
        further: dict[str, Any] = {}
        if input_size is None and (not own or any(bool((of.trees.token != NO_TOKEN).any()) for of in train.blocks())):
            input_size = width
        if input_size:
            further = {"input_size": input_size, "leaf": "gates", **({} if own else {"functions": True})}
        if isinstance(cell, SumCell):
            further["positions"] = True
        if train.has_numbers:
            further |= {"numbers": True, "number_scale": number_scale(train)}
        small_cells = 0 if known is not None else 3 if input_size else 2
        return EncoderChoice(
            name, width, {**further, **given}, vocabulary, numbers, False, input_size, settings.vectors, small_cells
        )
    attends = "pre_norm" in encoder_options(name)
    further = {"pre_norm": True} if attends else {}
    if SEQUENCE_ENCODERS[name].place_options:  # positions have room for so many edges of the path to the root
        further["path_length"] = max(1, min(PATH_LENGTH, width // max([1, *vocabulary.arities])))
    return EncoderChoice(name, width, {**further, **given}, vocabulary, False, attends, input_size, settings.vectors, 0)


def _small_cell(name: str) -> Cell | None:
    """The smallest cell of a name, as its class alone does not say its default options; None for a sequence encoder.

    Raises ``ValueError`` for another name.
    """
    if name in CELLS:
        kind = CELLS[name]
        return kind(Vocabulary([("f", ANY_ARITY if kind.any_arity else 1)], ["x"]), 1)
    if name not in SEQUENCE_ENCODERS:
        raise ValueError(f"the encoder is {name!r}; it must be one of {', '.join([*CELLS, *SEQUENCE_ENCODERS])}")
    return None


def number_scale(data: TreeDataset) -> tuple[float, float]:
    """The median of the numbers at leaves, and the deviation of a normal distribution with their quartiles.

    Where half of them are equal, the deviation is that of all, and 1 where all are equal.
    """
    values = torch.cat([block.trees.value for block in data.blocks() if block.trees.value is not None])
    values = values[~values.isnan()]
    if not len(values):
        return 0.0, 1.0
    some = values[:: len(values) // (1 << 20) + 1]
    low, middle, high = torch.quantile(some, torch.tensor(QUARTILES).double()).tolist()
    spread = (high - low) / 1.349 or float(values.std(correction=0))
    return middle, spread or 1.0


def token_vectors(encoder: Encoder) -> nn.Parameter:
    """(ids, d), the vectors of what an encoder reads, those of tokens last."""
    if isinstance(encoder, TreeEncoder):
        return encoder.cell.input_embedding.weight
    assert isinstance(encoder, SequenceEncoder)
    return encoder.core.get_parameter("embedding.weight")


def _start_embeddings(cell: Cell) -> None:
    """Small vectors; that of an unknown function is 0 until there are rare ones to learn it from."""
    torch.nn.init.normal_(cell.input_embedding.weight, std=EMBEDDING_STD)
    if cell.functions:
        torch.nn.init.normal_(cell.function_embedding.weight, std=EMBEDDING_STD)
        unknown = [f for f, (function, _) in enumerate(cell.vocabulary.functions) if function == UNKNOWN]
        with torch.no_grad():
            cell.function_embedding.weight[cell.function_embedding.place[unknown]] = 0
