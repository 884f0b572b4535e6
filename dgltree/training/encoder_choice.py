"""The encoder of a training follows from the data and settings: which one, with what options and vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from dgltree.batching.number_scales import NumberScales
from dgltree.batching.vocabulary import ANY_ARITY, NO_TOKEN, UNKNOWN, Vocabulary
from dgltree.cells import CELLS, Cell, SumCell
from dgltree.datasets.glove import read_glove
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.unseen import schema_of
from dgltree.encoders import SEQUENCE_ENCODERS, Encoder, SequenceEncoder, TreeEncoder, make_encoder
from dgltree.encoders.make import TREE_OPTIONS, check_encoder, encoder_options
from dgltree.models.checkpoint import WithoutInitialization, load_model
from dgltree.models.tree_model import TreeModel
from dgltree.read.leaf_values import moment, number
from dgltree.training.model_files import WEIGHTS, check_model, read_reading
from dgltree.training.options import FitOptions
from dgltree.training.processes import say

WEIGHTS_PER_NODE = 50
"""For each node of the training set: as many a training has at most, unless widths were asked for."""
WEIGHTS_PER_DOCUMENT = 4000
"""For each JSON document of it: parts of a document repeat its paths, and its label is one. With 80 documents of 400
nodes a width of 32 tells as many of the left-out folds as one of 80 (0.849), in half of the time."""
WIDTHS = (100, 80, 64, 48, 32, 24, 16, 8)
"""Widths of states, from the usual one down."""
OWN = 32
"""Width from which on functions have weights of their own, if there are nodes enough for these."""
Made = TypeVar("Made")
MAX_TYPED_ARITY = 3
"""Children up to which trees are read by weights of their own for each place, unless an encoder is named."""
BY_EVIDENCE: tuple[dict[str, Any], ...] = ({}, {"rank": 8}, {"typed": False})
"""Options of the default encoder, from those with the most weights to those with the fewest."""
EMBEDDING_STD = 0.1
"""Vectors of tokens and functions that gates read begin as N(0, EMBEDDING_STD^2)."""
ANY_WIDTH = 48
"""A width that a cell may have whose numbers are divided among heads or channels."""
PATH_LENGTH = 16
"""Edges of a node's path to the root that a Tree Transformer reads, if its width has room for them."""
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
    weights: dict[str, Tensor] | None = None
    """The weights of an encoder that was trained before, from which training begins."""

    def made(self) -> Encoder:
        """A new encoder. Raises ``ValueError`` for options that it has not."""
        encoder = self.bare()
        if self.weights is not None:
            encoder.load_state_dict(self.weights)
            return encoder
        if isinstance(encoder, TreeEncoder) and self.input_size:
            for cell in encoder.cells:
                _start_embeddings(cell)
        if self.vectors is not None:
            self._begin_with(self.vectors, token_vectors(encoder), isinstance(encoder, TreeEncoder))
        return encoder

    def read(self, data: TreeDataset) -> TreeDataset:
        """A data set as the encoder reads it; dates are numbers if numbers have a scale for each place."""
        return data.with_numbers(self.vocabulary.scales is not None) if self.numbers else data

    def bare(self) -> Encoder:
        """A new encoder with the weights that its class begins with. Errors as of :meth:`made`."""
        try:
            return make_encoder(self.name, self.vocabulary, self.hidden_size, **self.options)
        except TypeError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def _begin_with(self, file: str, embeddings: list[nn.Parameter], small: bool) -> None:
        """Let the tokens that a file has begin with its vectors, and the others with small ones."""
        found = read_glove(file, self.vocabulary.tokens, embeddings[0].shape[1])
        with torch.no_grad():
            for embedding in embeddings:
                words = embedding[-len(self.vocabulary.tokens) :]  # before them a sequence encoder has other ids
                if not small:
                    nn.init.normal_(words, std=EMBEDDING_STD)
                words[found.index] = found.vectors
        say(f"{Path(file).name}: {found.coverage()}")


def choose_encoder(
    train: TreeDataset,
    settings: FitOptions,
    known: Vocabulary | None = None,
    head: Callable[[int], nn.Module] | None = None,
) -> EncoderChoice:
    """The encoder, its vocabulary and its options; what the settings say of these has the last word.

    Where no encoder is named, JSON documents are read by a child-sum cell that sees bags, and other trees with nodes of
    more than three children by one that shares all weights. Functions, which in documents are paths, have weights of
    their own, or those that all share and a part of low rank of their own, or share all and have vectors that gates
    read: the first of these that the data have nodes enough for. No width given, it is the largest for which they have.

    Args:
        train: what is learnt from.
        settings: of the training.
        known: the vocabulary; None: that of ``train``.
        head: the readout of a width, whose weights count, too.

    Raises ``ValueError`` for a name that is not there, and for options that this encoder has not.
    """
    if settings.from_ is not None:
        return _of_folder(Path(settings.from_), train, settings)
    if settings.encoder is not None:
        return _sized(_EncoderBuilder(train, settings, settings.encoder, known, head))[0]
    name = "tree_lstm"
    usual: dict[str, Any] = {}
    schema = schema_of(train)
    if schema is not None:
        name = "child_sum"
        usual = {"aggregation": "bag", "typed": True, "positions": schema.is_ordered}
    elif max(int(block.trees.arity.max()) for block in train.blocks()) > MAX_TYPED_ARITY:
        return _sized(_EncoderBuilder(train, settings, "child_sum", known, head))[0]
    asked = settings.options or {}
    for options in BY_EVIDENCE[:1] if {"typed", "rank"} & asked.keys() else BY_EVIDENCE:
        tried = replace(settings, options={**usual, **options, **asked})
        choice, fits = _sized(_EncoderBuilder(train, tried, name, known, head))
        if fits and (choice.hidden_size >= OWN or settings.hidden_size is not None):
            break
    return choice


def _of_folder(folder: Path, train: TreeDataset, settings: FitOptions) -> EncoderChoice:
    """The encoder that an earlier training left.

    Raises ``ValueError`` for settings that say what the folder says, and errors as of ``dgltree.load``.
    """
    for name in ("encoder", "hidden_size", "input_size", "options", "vectors", "token_range"):
        if getattr(settings, name) is not None:
            raise ValueError(
                f"{name} is {getattr(settings, name)!r}; leave out {name}, which --from (from_) takes from the folder"
            )
    check_model(folder, "embed")
    read_reading(folder)
    encoder = load_model(folder / WEIGHTS).encoder
    options = dict(encoder.config)
    cell = getattr(encoder, "cell", None)
    name = next((name for name, kind in CELLS.items() if kind is type(cell)), getattr(encoder, "name", ""))
    width = options.pop("hidden_size")
    input_size = options.get("input_size")
    numbers = bool(options.get("numbers")) and train.reading.numbers is None
    weights = encoder.state_dict()
    return EncoderChoice(name, width, options, encoder.vocabulary, numbers, False, input_size, None, weights)


class _EncoderBuilder:
    """The choices of one encoder, whose vocabulary is looked up once for all widths."""

    def __init__(
        self,
        train: TreeDataset,
        settings: FitOptions,
        name: str,
        known: Vocabulary | None,
        head: Callable[[int], nn.Module] | None,
    ) -> None:
        self.settings = settings
        self.name = name
        self.given = settings.options or {}
        self.head = head
        self.cell = _example_of(name, settings.hidden_size or ANY_WIDTH, self.given)
        if self.cell is not None and settings.vectors and not settings.input_size:
            raise ValueError("vectors needs an input_size: the width of the vectors in the file")
        if settings.nodes and self.given.get("pooling"):
            raise ValueError("nodes predicts the label of each node from its own state, so it takes no pooling")
        if self.given.get("context") and self.given.get("rounds", 1) == 1 and not settings.nodes:
            raise ValueError(
                "context describes what surrounds a node, but nothing surrounds a root: use context with nodes, or "
                "with rounds=2"
            )
        words = self.given.get("in_context") and self.given.get("order") == "leaves"
        if self.cell is None and (settings.input_size or (settings.nodes and not words)):
            raise ValueError(f"input_size and nodes need a cell; {name} reads sequences")
        if self.cell is None and any(
            bool((of.trees.token[of.trees.arity > 0] != NO_TOKEN).any()) for of in train.blocks()
        ):
            raise ValueError(
                f"{name} reads sequences, which cannot represent tokens of inner nodes, as in dependency "
                "trees and molecules: name a cell, such as child_sum"
            )
        if self.cell is None and train.reading.schema is not None and train.has_numbers:
            raise ValueError(
                f"{name} reads sequences, which cannot represent the numbers and dates of documents: read these as "
                'strings (--no-numbers --no-dates, or the kind "category" in a schema), or name a cell'
            )
        self.numbers = self.cell is not None and reads_numbers(train, settings.min_count)
        by_place = "number_scale" not in self.given and known is None
        self.train = train.with_numbers(by_place) if self.numbers else train
        self.own = self.cell is not None and bool(self.given.get("typed", self.cell.typed))
        self.tells_apart = self.cell is not None and bool(not self.own or self.given.get("rank"))
        """Whether gates read vectors of functions, which share weights."""
        sums = CELLS[name].any_arity if self.cell is not None else not SEQUENCE_ENCODERS[name].place_options
        self.vocabulary = known or self.train.vocabulary(
            sums, settings.min_count, settings.unk, always=not self.own, parts=settings.token_parts
        )
        self.of_numbers: dict[str, Any] = {}
        if self.cell is not None and self.train.has_numbers:
            self.of_numbers = {"numbers": True}
            if by_place:
                scales = NumberScales.of(block.trees for block in self.train.blocks())
                self.vocabulary = self.vocabulary.with_scales(scales)
            if self.vocabulary.scales is None:
                self.of_numbers["number_scale"] = number_scale(self.train)
        self.has_tokens = any(bool((of.trees.token != NO_TOKEN).any()) for of in self.train.blocks())

    def of(self, width: int) -> EncoderChoice:
        """The choice of a width."""
        return self._tree(width) if self.cell is not None else self._sequence(width)

    def weights(self, choice: EncoderChoice) -> int:
        """Count the weights of encoder and readout; raise ``ValueError`` for options that the encoder has not."""
        head = 0 if self.head is None else weights_of(lambda: self.head(choice.hidden_size))  # type: ignore[misc]
        return head + weights_of(choice.bare)

    def _tree(self, width: int) -> EncoderChoice:
        further: dict[str, Any] = {}
        input_size = self.settings.input_size
        has_rounds = self.given.get("rounds", 1) != 1  # their context is added to inputs
        if input_size is None and (not self.own or self.has_tokens or self.of_numbers or has_rounds):
            input_size = width
        if input_size:
            further = {"input_size": input_size, "leaf": "gates", **({"functions": True} if self.tells_apart else {})}
        if isinstance(self.cell, SumCell):
            further["positions"] = True
        further |= self.of_numbers
        options = {**further, **self.given}
        vectors = self.settings.vectors
        return EncoderChoice(self.name, width, options, self.vocabulary, self.numbers, False, input_size, vectors)

    def _sequence(self, width: int) -> EncoderChoice:
        attends = "pre_norm" in encoder_options(self.name)
        further: dict[str, Any] = {"pre_norm": True} if attends else {}
        if SEQUENCE_ENCODERS[self.name].place_options:  # positions have room for so many edges of the path to the root
            further["path_length"] = max(1, min(PATH_LENGTH, width // max([1, *self.vocabulary.arities])))
        options = {**further, **self.given}
        size = self.settings.input_size
        return EncoderChoice(self.name, width, options, self.vocabulary, False, attends, size, self.settings.vectors)


def _sized(choosing: _EncoderBuilder) -> tuple[EncoderChoice, bool]:
    """The choice with the width that was asked for, else with the widest that has room; and whether it has."""
    room = WEIGHTS_PER_NODE * choosing.train.num_nodes
    if choosing.train.reading.schema is not None:
        room = min(room, WEIGHTS_PER_DOCUMENT * len(choosing.train))

    def made(width: int) -> tuple[EncoderChoice, int]:
        choice = choosing.of(width)
        return choice, choosing.weights(choice)

    if choosing.settings.hidden_size is None:
        choice, _, fits = widest(made, room)
        return choice, fits
    choice = choosing.of(choosing.settings.hidden_size)
    return choice, choosing.settings.encoder is not None or choosing.weights(choice) <= room


def _example_of(name: str, width: int, given: Mapping[str, Any]) -> Cell | None:
    """A cell of a name, as its class alone does not say its default options; None for a sequence encoder.

    Raises ``ValueError`` for another name, and what the cell raises.
    """
    if name not in CELLS:
        check_encoder(name)
        return None
    kind = CELLS[name]
    vocabulary = Vocabulary([("f", ANY_ARITY if kind.any_arity else 1)], ["x"])
    try:
        return kind(vocabulary, width)
    except (ValueError, AssertionError):  # its defaults do not fit this width; what was asked for may
        return kind(vocabulary, width, **{option: given[option] for option in given if option not in TREE_OPTIONS})


def widest(made: Callable[[int], tuple[Made, int]], room: int) -> tuple[Made, int, bool]:
    """The first of the widths at which what is made has no more than ``room`` weights, or the last one.

    Args:
        made: of a width, what is made and its weights. It raises ``ValueError`` for a width that it cannot have.
        room: weights at most.

    Returns what was made, its width, and whether its weights have room. Raises what ``made`` raises for every width.
    """
    found = None
    problem = None
    for width in WIDTHS:
        try:
            one, weights = made(width)
        except ValueError as error:
            problem = problem or error
            continue
        found = (one, width, weights <= room)
        if weights <= room:
            break
    if found is None:
        assert problem is not None
        raise problem
    return found


def weights_of(make: Callable[[], nn.Module]) -> int:
    """How many weights a module would have, which is made without memory for them if it can be."""
    try:
        with torch.device("meta"), WithoutInitialization():
            return sum(weights.numel() for weights in make().parameters())
    except (NotImplementedError, RuntimeError):  # a user's cell may look at its numbers
        return sum(weights.numel() for weights in make().parameters())


def reads_numbers(data: TreeDataset, min_count: int) -> bool:
    """Whether leaves that are written as numbers are better read as such than as words, by an encoder that can.

    They are where nothing was said of them, and some are not whole or most of the different ones are rare, that is
    occur at fewer nodes than ``min_count``. Dates count as whole numbers; with ``--numbers`` and nothing about dates,
    there need to be some. Of JSON documents the schema has said it when they were read.
    """
    ways: list[Callable[[str], float | None]] = []
    if data.reading.numbers is None:
        ways.append(number)
    if data.reading.dates is None:
        ways.append(moment)
    if data.reading.numbers is False or data.reading.schema is not None or not ways:
        return False
    _, nodes_of = stands_at((block.trees for block in data.blocks()), data.own_vocabulary)
    values: list[float] = []
    rare = 0
    for token, count in zip(data.own_vocabulary.tokens, nodes_of.tolist(), strict=True):
        if not count:
            continue
        for way in ways:
            value = way(token)
            if value is not None:
                values.append(value)
                rare += count < min_count
                break
    if data.reading.numbers:
        return bool(values)
    return any(not value.is_integer() for value in values) or 2 * rare > len(values)


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


def token_vectors(encoder: Encoder) -> list[nn.Parameter]:
    """(ids, d) for each round of an encoder, the vectors of what it reads, those of tokens last.

    Raises ``ValueError`` for a cell without inputs, whose leaves alone have vectors.
    """
    if isinstance(encoder, TreeEncoder):
        if encoder.cell.input_size is None:
            raise ValueError("token_range and frozen concern input vectors; give an input_size")
        return [cell.input_embedding.weight for cell in encoder.cells]
    assert isinstance(encoder, SequenceEncoder)
    return [encoder.core.get_parameter(encoder.core.embedding_name)]


def _start_embeddings(cell: Cell) -> None:
    """Small vectors; that of an unknown function is 0 until there are rare ones to learn it from."""
    torch.nn.init.normal_(cell.input_embedding.weight, std=EMBEDDING_STD)
    if cell.functions:
        torch.nn.init.normal_(cell.function_embedding.weight, std=EMBEDDING_STD)
        unknown = [f for f, (function, _) in enumerate(cell.vocabulary.functions) if function == UNKNOWN]
        with torch.no_grad():
            cell.function_embedding.weight[cell.function_embedding.place[unknown]] = 0


def count_weights(model: TreeModel) -> str:
    """The weights of a model, and what takes them, largest first."""
    counts = Counter[str]()
    for what, count in sorted(_parts(model)):
        counts[what] += count
    listed = ", ".join(f"{what} {count:,}" for what, count in counts.most_common() if count)
    return f"{counts.total():,} weights ({listed})"


def _parts(model: TreeModel) -> Iterator[tuple[str, int]]:
    vocabulary = model.encoder.vocabulary
    has_cell = hasattr(model.encoder, "cell")
    tokens = f"vectors of {len(vocabulary.tokens):,} tokens"
    functions = len({name for name, _ in vocabulary.functions})
    for name, weights in model.named_parameters():
        if "function_embedding." in name:
            yield f"vectors of {functions:,} functions", weights.numel()
        elif "embedding." in name and ".number." not in name:
            yield tokens, weights.numel()
        elif ".maps." in name and weights.shape[0] > 1:
            yield f"gates of {functions:,} functions", weights.numel()
        elif name.startswith("readout."):
            yield "readout", weights.numel()
        else:
            yield "gates shared by all functions" if has_cell else "layers", weights.numel()
