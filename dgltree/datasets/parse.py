"""A chunk of records to flat trees: what a reader's process does."""

import gc
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dgltree.batching.batch import TreeBatch, batch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.flat import with_leaf_tokens, with_numbers
from dgltree.datasets.reading import Reading
from dgltree.datasets.sources import Chunk, Source, decoded, fields_of, tree_columns, tree_text
from dgltree.read.json_tree import Keys, read_json_tree
from dgltree.read.notations import NOTATIONS
from dgltree.trees.tree import Tree

BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029\ud800-\udfff]")


class Bad(NamedTuple):
    """A record that could not be read."""

    line: int
    """Of the file, from 1; of a table its row, of a folder its file."""
    message: str


class Example(NamedTuple):
    """What one record says."""

    line: int
    trees: tuple[Tree, ...]
    """One, or the two of a pair."""
    label: str | None
    split: str | None
    id: str | None


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


def parse(source: Source, chunk: Chunk) -> Part:
    """Read the records of a chunk. What is bad about one is kept beside those that could be read."""
    collects = gc.isenabled()
    gc.disable()  # trees have no cycles, and looking for some takes longer than making the trees
    try:
        return _parse(source, chunk)
    finally:
        if collects:
            gc.enable()


def _parse(source: Source, chunk: Chunk) -> Part:
    part = Part(None)
    flat: list[Tree] = []
    for example in _examples(source, chunk):
        if isinstance(example, Bad):
            part.bad.append(example)
            continue
        try:
            trees = [_binarized(tree, source.reading) for tree in example.trees]
        except ValueError as error:
            part.bad.append(Bad(example.line, str(error)))
            continue
        flat += trees
        part.lines.append(example.line)
        part.labels.append(example.label)
        part.splits.append(example.split)
        part.ids.append(example.id)
    if flat:
        part.trees = flatten(flat, source.reading)
    return part


def flatten(trees: list[Tree], reading: Reading) -> TreeBatch:
    """Trees in a vocabulary of their own, with what the settings ask for."""
    found = with_leaf_tokens(batch(trees, Vocabulary.from_trees(trees)))
    return with_numbers(found) if reading.numbers else found


def _binarized(tree: Tree, reading: Reading) -> Tree:
    return tree if reading.binarize is None else tree.binarize(reading.binarize)


def reader_of(reading: Reading) -> Callable[[str], Tree]:
    """The reader of the notation, with the settings that concern it."""
    assert reading.notation is not None
    if reading.notation == "json":
        keys = Keys(*(name.strip() for name in reading.keys.split(",")))
        return lambda text: read_json_tree(text, keys)
    return NOTATIONS[reading.notation].read


def _examples(source: Source, chunk: Chunk) -> Iterator[Example | Bad]:
    if source.format == "python":
        return _of_files(source, chunk)
    if source.format == "conllu":
        return _of_sentences(source, chunk)
    return _of_records(source, chunk)


def _of_records(source: Source, chunk: Chunk) -> Iterator[Example | Bad]:
    reading, read = source.reading, reader_of(source.reading)
    for line, raw in enumerate(chunk.raw, chunk.first):
        if raw == b"" or (isinstance(raw, bytes) and not raw.strip()):
            yield Bad(line, "the line is empty")
            continue
        try:
            fields = fields_of(source, raw)
            trees = tuple(_tree(fields, name, reading, read) for name in tree_columns(source))
            label, part, name = (_text(fields, column) for column in (reading.label, reading.split, reading.id))
        except ValueError as error:
            yield Bad(line, str(error))
            continue
        if source.format == "lines":
            trees, label = _label_of_root(trees[0], reading.notation)
        if reading.notation == "node_link":  # its labels may be texts
            trees = tuple(tree.fold(_without_label) for tree in trees)
        yield Example(line, trees, label, part, name)


def _tree(fields: Any, name: str, reading: Reading, read: Callable[[str], Tree]) -> Tree:
    value = fields.get(name)
    if value is None or value == "":
        raise ValueError(f"no {name!r}; expected a tree")
    try:
        return read(tree_text(value))
    except ValueError as error:
        raise ValueError(f"{name}: no {reading.notation} tree: {error}") from None


def _label_of_root(tree: Tree, notation: str | None) -> tuple[tuple[Tree], str | None]:
    """The label of a bare tree: that of its root. A treebank's stands in the tree, from which it is taken."""
    if tree.label is not None:
        return (tree,), str(tree.label)
    if notation == "treebank":
        return (tree.replace(function="ROOT"),), tree.function
    return (tree,), None


def _without_label(node: Tree, children: list[Tree]) -> Tree:
    return Tree(node.function, children, node.token, node.value)


def _text(fields: Any, column: str) -> str | None:
    """What a column says; ``ValueError`` for what would break the lines of a table."""
    value = fields.get(column)
    if value is None or value == "":
        return None
    text = str(value)
    if BREAKS.search(text):
        raise ValueError(f"{column}: {text!r} has a tab, a line break or half of a character")
    return text


def _of_sentences(source: Source, chunk: Chunk) -> Iterator[Example | Bad]:
    from dgltree.read.conllu import iter_conllu

    reading = source.reading
    broken: dict[int, str] = {}
    lines = []
    for number, raw in enumerate(chunk.raw, chunk.first):
        try:
            lines.append(raw.decode("utf-8", "replace") if raw.startswith(b"#") else decoded(raw, reading.max_line))
        except ValueError as error:
            lines.append("?")  # no line of a sentence, which is then bad
            broken[number] = f"line {number}: {error}"
    for line, said, tree in iter_conllu(lines, reading.node, reading.word, chunk.first):
        if isinstance(tree, ValueError):
            at = re.match(r"line (\d+):", str(tree))
            yield Bad(line, broken.get(int(at[1]), str(tree)) if at else str(tree))
            continue
        label, part, name = (_text(said, column) for column in (reading.label, reading.split, "sent_id"))
        yield Example(line, (tree,), label, part, name)


def _source_text(source: bytes) -> str:
    """The text in the encoding that a source file declares, UTF-8 unless it does."""
    from importlib.util import decode_source

    try:
        return decode_source(source)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise ValueError(f"not in the encoding that it declares, or else UTF-8: {error}") from None


def _of_files(source: Source, chunk: Chunk) -> Iterator[Example | Bad]:
    """Source files: the label of one is the folder, below the given one, that it stands in."""
    from pathlib import Path

    from dgltree.read.python import iter_functions, read_python

    root = Path(source.path)
    for number, path in enumerate(chunk.raw, chunk.first):
        name = path.relative_to(root) if path != root else Path(path.name)
        label = name.parts[0] if len(name.parts) > 1 else None
        try:
            if path.stat().st_size > source.reading.max_line:
                raise ValueError(f"longer than {source.reading.max_line:,} bytes, the limit (--max-line)")
            text = _source_text(path.read_bytes())
            if source.reading.unit == "file":
                yield Example(number, (read_python(text),), label, None, str(name))
            else:
                for function, line, tree in iter_functions(text):
                    yield Example(number, (tree,), label, None, f"{name}:{line}:{function}")
        except (ValueError, OSError) as error:
            yield Bad(number, f"{name}: {error}")
