"""Parts of trees that an encoder reads, and differences that it cannot see."""

from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.cells import Cell, SumCell
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder, SequenceEncoder, TreeEncoder
from dgltree.training.choices import encoder_for, encoder_of, numbers_are_read, vocabulary_for
from dgltree.training.options import FitOptions

EQUAL = 1e-5
"""Vectors whose entries differ by less than this share of the largest one count as equal."""


class Sight(NamedTuple):
    """The parts of some trees that an encoder reads."""

    reads: list[str]
    unseen: list[str]
    """The parts of these trees that make no difference to it."""

    def __str__(self) -> str:
        return " and ".join(part for part in (", ".join(self.reads[:-1]), self.reads[-1]) if part)


class Facts(NamedTuple):
    """In what some trees may differ."""

    inner_functions: int
    leaf_functions: int
    tokens: int
    """Nodes that have one."""
    unknown: int
    """Those of them whose token a model does not know."""
    several_children: bool
    numbers: bool
    """Whether leaves carry numbers."""

    @property
    def token_text(self) -> str:
        share = f" ({self.unknown / self.tokens:.1%} of them as {UNKNOWN})" if self.unknown else ""
        return f"tokens{share}"


def sight_of(encoder: Encoder, data: TreeDataset) -> Sight:
    """The parts that an encoder reads of a data set's trees in its own vocabulary, not yet in the encoder's."""
    facts = facts_of(data, encoder.vocabulary)
    if isinstance(encoder, TreeEncoder):
        return _of_cell(encoder.cell, facts)
    assert isinstance(encoder, SequenceEncoder)
    return _of_sequences(encoder, facts)


def told_by_default(data: TreeDataset, min_count: int) -> str:
    """The parts that a training would read of a data set with these options alone, as text."""
    name = encoder_for(data)
    numbers = data.reading.numbers is None and numbers_are_read(data, name, min_count)
    data = data.with_numbers() if numbers else data
    options = FitOptions(encoder=name, hidden_size=1, input_size=1, min_count=min_count)
    found = sight_of(encoder_of(data, vocabulary_for(data, options), options), data)
    unseen = "".join(f"\n  it does not see {what}" for what in found.unseen)
    by_itself = "\n  leaves that are written as numbers are read as numbers" if numbers else ""
    return f"fit trains {name} unless an encoder is named, which reads {found}{by_itself}{unseen}"


def facts_of(data: TreeDataset, known: Vocabulary) -> Facts:
    """In what the trees of a data set may differ, for a model that knows this vocabulary."""
    inner: set[str] = set()
    leaves: set[str] = set()
    several = numbers = False
    names = [name for name, _ in data.own_vocabulary.functions]
    for block in data.blocks():
        trees = block.trees
        above = trees.arity > 0
        inner |= {names[f] for f in trees.function[above].unique().tolist()}
        leaves |= {names[f] for f in trees.function[~above].unique().tolist()}
        several |= bool((trees.arity > 1).any())
        numbers |= trees.value is not None and not bool(trees.value.isnan().all())
    _, counts = stands_at((block.trees for block in data.blocks()), data.own_vocabulary)
    unknown = [not known.knows_token(token) for token in data.own_vocabulary.tokens]
    return Facts(
        len(inner),
        len(leaves),
        int(counts.sum()),
        int(counts[torch.tensor(unknown, dtype=torch.bool)].sum()),
        several,
        numbers,
    )


def _of_cell(cell: Cell, facts: Facts) -> Sight:
    reads, unseen = [], []
    if cell.typed or cell.functions:
        reads.append("functions")
    elif facts.inner_functions > 1:
        unseen.append(f"which of {facts.inner_functions:,} functions an inner node has")
    if facts.leaf_functions > 1 and cell.leaf != "gates":
        unseen.append(f"which of {facts.leaf_functions:,} functions a leaf has")
    if facts.tokens:
        reads.append(facts.token_text)
    if facts.numbers and cell.numbers:
        reads.append("numbers")
    if not (isinstance(cell, SumCell) and not cell.positions):
        reads.append("the order of children")
    elif facts.several_children:
        unseen.append("the order of children")
    return Sight(reads, unseen)


def _of_sequences(encoder: SequenceEncoder, facts: Facts) -> Sight:
    reads, unseen = [], []
    if encoder.order in ("bracketed", "preorder"):
        reads.append("functions")
    elif facts.inner_functions > 1:
        unseen.append(f"which of {facts.inner_functions:,} functions an inner node has")
    if facts.leaf_functions > 1:
        unseen.append(f"which of {facts.leaf_functions:,} functions a leaf has")
    if encoder.order == "leaves":
        unseen.append("the inner nodes")
    return Sight([*reads, facts.token_text, "the order of children"], unseen)


def all_equal(vectors: Tensor) -> bool:
    """Whether the rows of (B, n) are the same but for rounding."""
    return len(vectors) > 1 and bool((vectors - vectors[0]).abs().max() <= EQUAL * vectors.abs().max())
