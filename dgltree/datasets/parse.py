"""A chunk of records to flat trees: what a reader's process does."""

import gc
from dataclasses import dataclass, field

from dgltree.batching.batch import TreeBatch, batch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.flat import with_leaf_tokens, with_numbers
from dgltree.datasets.formats import Bad, Format
from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.reading import Reading
from dgltree.trees.tree import Tree


@dataclass
class Part:
    """The examples of a chunk, flattened: tensors and lists travel between processes faster than trees."""

    trees: TreeBatch | None
    """In a vocabulary of its own; None without examples."""
    lines: list[int] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    splits: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)


def parse(file: Format, chunk: Chunk) -> Part:
    """Read the records of a chunk. What is bad about one is kept beside those that could be read."""
    collects = gc.isenabled()
    gc.disable()  # trees have no cycles, and looking for some takes longer than making the trees
    try:
        return _parse(file, chunk)
    finally:
        if collects:
            gc.enable()


def _parse(file: Format, chunk: Chunk) -> Part:
    part = Part(None)
    flat: list[Tree] = []
    for example in file.examples(chunk):
        if isinstance(example, Bad):
            part.bad.append(example)
            continue
        try:
            trees = [_binarized(tree, file.reading) for tree in example.trees]
        except ValueError as error:
            part.bad.append(Bad(example.line, str(error)))
            continue
        flat += trees
        part.lines.append(example.line)
        part.labels.append(example.label)
        part.splits.append(example.split)
        part.ids.append(example.id)
    if flat:
        part.trees = flatten(flat, file.reading)
    return part


def flatten(trees: list[Tree], reading: Reading) -> TreeBatch:
    """Trees in a vocabulary of their own, with what the settings ask for."""
    found = with_leaf_tokens(batch(trees, Vocabulary.from_trees(trees)))
    return with_numbers(found) if reading.numbers else found


def _binarized(tree: Tree, reading: Reading) -> Tree:
    return tree if reading.binarize is None else tree.binarize(reading.binarize)
