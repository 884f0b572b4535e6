"""What the formats have in common whose records hold trees as texts: columns, and a notation of the trees."""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

from dgltree.datasets.formats.chunks import Chunk, cut
from dgltree.datasets.formats.format import Bad, Example, Format, printable, text_of
from dgltree.datasets.formats.source import decoded
from dgltree.datasets.reading import Reading
from dgltree.read.json_tree import Keys, read_json_tree
from dgltree.read.notations import NOTATIONS, detect
from dgltree.read.text import shown
from dgltree.trees.tree import Tree

SAMPLE = 100
"""Trees at a file's beginning that its notation is told by."""


@dataclass
class Records(Format):
    """Records with columns."""

    pairs: bool = False
    """Whether a record has two trees."""

    @abstractmethod
    def fields(self, raw: Any) -> Mapping[str, Any]:
        """The columns of one record. Raises ``ValueError`` for what is none."""

    @abstractmethod
    def sample(self) -> list[Any]:
        """The first records, ``SAMPLE`` at most."""

    def labelled(self, trees: tuple[Tree, ...], label: str | None) -> tuple[tuple[Tree, ...], str | None]:
        """The trees of a record and its label, which may also stand in a tree."""
        return trees, label

    @property
    def tree_columns(self) -> tuple[str, ...]:
        """The columns with the trees of a record."""
        return (self.reading.left, self.reading.right) if self.pairs else (self.reading.tree,)

    def with_notation(self) -> Self:
        """With the notation that is told by the first trees."""
        if self.reading.notation is not None:
            return self
        if self.reading.keys != Reading.keys:
            return replace(self, reading=replace(self.reading, notation="json"))
        texts, why = self._sample_texts()
        if not texts:
            raise ValueError(f"{self.source.path}: no trees at the beginning of the file{why}")
        try:
            return replace(self, reading=replace(self.reading, notation=detect(texts)))
        except ValueError as error:
            raise ValueError(f"{self.source.path}: {error}") from None

    def _sample_texts(self) -> tuple[list[str], str]:
        """Texts of trees, and why there is none; a bad record among them is reported when the file is read."""
        texts, why = [], ""
        for raw in self.sample():
            try:
                fields = self.fields(raw)
                found = [_tree_text(fields[name]) for name in self.tree_columns if fields.get(name)]
                texts += found
                if not found:
                    names = shown(", ".join(map(repr, fields)))
                    why = why or f": no {self.reading.tree!r} among {names}; --tree names another column"
            except ValueError as error:
                why = why or f": {shown(str(error))}"
        return texts, why

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        read = _reader_of(self.reading)
        for line, raw in enumerate(chunk.raw, chunk.first):
            if isinstance(raw, bytes) and not raw.strip():
                yield Bad(line, "the line is empty")
                continue
            try:
                yield self._example(line, self.fields(raw), read)
            except ValueError as error:
                yield Bad(line, str(error))

    def _example(self, line: int, fields: Mapping[str, Any], read: Callable[[str], Tree]) -> Example:
        """What a record says. Raises ``ValueError`` for a tree that cannot be read."""
        reading = self.reading
        trees = tuple(self._tree(fields, name, read) for name in self.tree_columns)
        label, split, name = (text_of(fields, column) for column in (reading.label, reading.split, reading.id))
        trees, label = self.labelled(trees, label)
        if label is not None:
            printable(label, "label")  # one that stood in a tree
        if reading.notation == "node_link":  # its labels may be texts
            trees = tuple(tree.fold(_without_label) for tree in trees)
        return Example(line, trees, label, split, name)

    def _tree(self, fields: Mapping[str, Any], name: str, read: Callable[[str], Tree]) -> Tree:
        value = fields.get(name)
        if value is None or value == "":
            raise ValueError(f"no {name!r}; expected a tree")
        try:
            return read(_tree_text(value))
        except ValueError as error:
            raise ValueError(f"{name}: no {self.reading.notation} tree: {error}") from None


@dataclass(kw_only=True)
class LineRecords(Records):
    """A record a line."""

    header: int = 0
    """Lines before the first record."""

    @abstractmethod
    def fields_of(self, text: str) -> Mapping[str, Any]:
        """The columns of one line. Raises ``ValueError`` for a line that is no record."""

    def fields(self, raw: bytes) -> Mapping[str, Any]:
        return self.fields_of(decoded(raw, self.reading.max_line))

    def sample(self) -> list[bytes]:
        return self.source.first(self.header + SAMPLE)[self.header :]

    def chunks(self) -> Iterator[Chunk]:
        return cut(islice(self.source.lines(), self.header, None), len, self.header + 1)


def check_columns(path: str, names: tuple[str, ...], reading: Reading) -> None:
    """``ValueError`` where the columns of the trees are missing from a table, or a name stands twice."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{path}: two columns are called {shown(repr(twice[0]))}")
    if reading.tree not in names and not {reading.left, reading.right} <= set(names):
        wanted = f"{reading.tree!r}, or {reading.left!r} and {reading.right!r}"
        there_are = shown(", ".join(map(repr, names)))
        raise ValueError(
            f"{path}: no column {wanted}; there are {there_are}. Name yours with --tree (or --left "
            "and --right), and the columns of a TSV file without a header with --columns"
        )


def _reader_of(reading: Reading) -> Callable[[str], Tree]:
    """The reader of the notation, with the settings that concern it."""
    assert reading.notation is not None
    if reading.notation == "json":
        keys = Keys(*(name.strip() for name in reading.keys.split(",")))
        return lambda text: read_json_tree(text, keys)
    return NOTATIONS[reading.notation].read


def _tree_text(value: Any) -> str:
    """The text of a tree, which may stand in a record as JSON. Raises ``ValueError`` for what is neither."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict | list):
        raise ValueError(f"found a {type(value).__name__}; expected text")
    return json.dumps(value)


def _without_label(node: Tree, children: list[Tree]) -> Tree:
    return Tree(node.function, children, node.token, node.value)
