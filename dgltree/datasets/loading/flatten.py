"""Chunks of a file become flat trees, in order, by several processes; memory holds a few chunks at a time."""

import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from dgltree.batching.batch import TreeBatch, batch
from dgltree.batching.vocabulary import NO_TOKEN, Vocabulary
from dgltree.datasets.formats import Bad, Format
from dgltree.datasets.formats.source import Chunk
from dgltree.datasets.settings import Reading
from dgltree.read.leaf_values import moment, number
from dgltree.support.workers import cores, end_with_parent
from dgltree.trees.binarize import binarize
from dgltree.trees.tree import Tree, with_children


@dataclass
class ParsedChunk:
    """The examples of a chunk, flattened: tensors and lists travel between processes faster than trees."""

    trees: TreeBatch | None
    """In a vocabulary of its own; None without examples."""
    lines: list[int] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    splits: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    groups: list[str | None] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    features: list[str | None] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    could: list[bool] = field(default_factory=list)
    """Whether each record could be read, in the order of the file."""


def parts(file: Format, workers: int | None = None) -> Iterator[ParsedChunk]:
    """The chunks of a file, parsed; with ``workers`` of 0 by this process. Default: as many as it is worth."""
    if workers is None:
        workers = default_workers() if file.source.large else 0
    sampler: Any = file.chunks()
    options: Any = {"num_workers": workers, "collate_fn": _as_it_is, "worker_init_fn": end_with_parent}
    yield from DataLoader(_Parser(file), batch_size=None, sampler=sampler, **options)


class _Parser(Dataset[ParsedChunk]):
    """A data set whose indices are the chunks themselves, so that a loader's workers parse what it hands them."""

    def __init__(self, file: Format) -> None:
        self.file = file

    def __getitem__(self, chunk: Chunk) -> ParsedChunk:
        return parse(self.file, chunk)


def _as_it_is(part: ParsedChunk) -> ParsedChunk:
    return part


def default_workers() -> int:
    """One process a core: the one that gathers what they read has little to do."""
    return cores()


def parse(file: Format, chunk: Chunk) -> ParsedChunk:
    """Read the records of a chunk. What is bad about one is kept next to those that could be read."""
    collects = gc.isenabled()
    gc.disable()  # trees have no cycles, and looking for some takes longer than making the trees
    try:
        return _parse(file, chunk)
    finally:
        if collects:
            gc.enable()


def _parse(file: Format, chunk: Chunk) -> ParsedChunk:
    part = ParsedChunk(None)
    flat: list[Tree] = []
    drop = dropped_leaves(file.reading)
    for example in file.examples(chunk):
        if isinstance(example, Bad):
            part.bad.append(example)
            part.could.append(False)
            continue
        try:
            trees = [prepare_tree(tree, file.reading, drop) for tree in example.trees]
        except ValueError as error:
            part.bad.append(Bad(example.line, str(error), example.file, example.id, example.split))
            part.could.append(False)
            continue
        part.could.append(True)
        flat += trees
        part.lines.append(example.line)
        part.labels.append(example.label)
        part.splits.append(example.split)
        part.ids.append(example.id)
        part.groups.append(example.group)
        part.files.append(example.file)
        part.features.append(example.features)
    if flat:
        part.trees = flatten(flat, file.reading)
    return part


def dropped_leaves(reading: Reading) -> re.Pattern[str] | None:
    """The leaves that are removed from the trees."""
    return None if reading.drop is None else re.compile(reading.drop)


def prepare_tree(tree: Tree, reading: Reading, drop: re.Pattern[str] | None) -> Tree:
    """A tree with what the settings ask for. Raises ``ValueError`` if nothing is left of it."""
    if drop is not None:
        tree = _without_leaves(tree, drop)
    return tree if reading.binarize is None else binarize(tree, reading.binarize)


def _without_leaves(tree: Tree, drop: re.Pattern[str]) -> Tree:
    """A tree without the leaves that match, and without the inner nodes that have no leaves then."""

    def kept(node: Tree, children: list[Tree | None]) -> Tree | None:
        if not node.children:
            return None if node.token is not None and drop.fullmatch(node.token) else node
        left = [child for child in children if child is not None]
        if not left and node.token is None:
            return None
        return with_children(node, left)

    found = tree.fold(kept)
    if found is None:
        raise ValueError(f"the tree is empty without the leaves that match {drop.pattern!r} (--drop)")
    return found


def flatten(trees: list[Tree], reading: Reading) -> TreeBatch:
    """Trees in a vocabulary of their own, with what the settings ask for."""
    found = with_leaf_tokens(batch(trees, Vocabulary.from_trees(trees)))
    if not reading.numbers and not reading.dates:
        return found
    return with_numbers(found, bool(reading.numbers), bool(reading.dates))


def with_leaf_tokens(batch: TreeBatch) -> TreeBatch:
    """Leaves without a token or number get the name of their function as token, for cells to embed."""
    bare = (batch.arity == 0) & (batch.token == NO_TOKEN)
    if batch.value is not None:
        bare &= batch.value.isnan()
    if not bare.any():
        return batch
    own = _vocabulary(batch)
    names = [own.functions[f][0] for f in batch.function[bare].tolist()]
    tokens = list(dict.fromkeys([*own.tokens, *names]))
    number = {token: i for i, token in enumerate(tokens)}
    token = batch.token.clone()
    token[bare] = torch.tensor([number[name] for name in names])
    return replace(batch, token=token, vocabulary=Vocabulary(own.functions, tokens))


def with_numbers(batch: TreeBatch, numbers: bool = True, dates: bool = False) -> TreeBatch:
    """Leaves whose token is written as a finite number, or as a date, carry that number or Unix time instead."""
    ways = [way for way, wanted in ((number, numbers), (moment, dates)) if wanted]
    found = [next((v for way in ways if (v := way(token)) is not None), None) for token in _vocabulary(batch).tokens]
    of_tokens = torch.tensor([*(nan if value is None else value for value in found), nan], dtype=torch.float64)
    value = torch.where(batch.arity == 0, of_tokens[batch.token], torch.nan)
    token = torch.where(value.isnan(), batch.token, NO_TOKEN)
    if batch.value is not None:
        value = torch.where(value.isnan(), batch.value, value)
    return replace(batch, token=token, value=None if bool(value.isnan().all()) else value)


def _vocabulary(batch: TreeBatch) -> Vocabulary:
    assert batch.vocabulary is not None
    return batch.vocabulary
