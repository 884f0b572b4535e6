"""Common parts of the formats whose records hold trees as texts: columns, and a notation of the trees."""

import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

from dgltree.datasets.formats.format import Bad, Example, Format
from dgltree.datasets.formats.source import Chunk, cut_into_chunks, decode
from dgltree.datasets.settings import (
    DOCUMENTS,
    SYNONYMS,
    WHOLE_RECORD,
    ColumnPattern,
    Reading,
    amounts_in,
    names_of,
    printable,
)
from dgltree.read.json_fields import read_fields
from dgltree.read.json_schema import Schema, infer_schema
from dgltree.read.json_tree import ALL, Keys, load_json, read_json_tree
from dgltree.read.notations import NOTATIONS, detect, notation_of
from dgltree.read.text import one_line
from dgltree.trees.tree import Tree

ROOT = "ROOT"
"""The function of a treebank's tree whose root was its label."""
SAMPLE = 100
"""Trees at a file's beginning by which its notation is detected."""
_WORD = re.compile(r"\s*[^\W\d_]{3,}\s*")
"""A text that is rather a word than a tree of one node, such as ``x`` or 2."""
HELP = (
    "name the format by a suffix (.tsv, .csv, .jsonl, .conllu, .py, ...), or the notation of the trees with --notation"
)


class PlacedRecord(NamedTuple):
    """A record, and its place."""

    line: int
    raw: Any
    file: str = ""


@dataclass
class Records(Format):
    """Records with columns."""

    pairs: bool = False
    """Whether a record has two trees."""
    no_tree_hint: ClassVar[str] = "name the column of the trees with --tree"
    """Advice if records have no column of trees."""

    @abstractmethod
    def fields(self, raw: Any) -> Mapping[str, Any]:
        """The columns of one record. Raises ``ValueError`` for what is none."""

    @abstractmethod
    def sample(self) -> list[Any]:
        """The first records, ``SAMPLE`` at most."""

    def labelled(self, trees: tuple[Tree, ...], label: str | None) -> tuple[tuple[Tree, ...], str | None]:
        """The trees of a record and its label, which may also be in a tree."""
        return trees, label

    @property
    def tree_columns(self) -> tuple[str, ...]:
        """The columns with the trees of a record."""
        return (self.reading.left, self.reading.right) if self.pairs else (self.reading.tree,)

    def with_notation(self) -> Self:
        """The format with the notation detected by the first trees, and of JSON documents with their schema.

        Raises ``ValueError`` if none reads them, if most are single words, which are mostly no trees, and if the
        notation that is given reads none of them and another one does.
        """
        if self.reading.notation is not None:
            self._check_notation(self.reading.notation)
            return self._with_schema()
        if self.reading.keys != Reading.keys:
            return replace(self, reading=replace(self.reading, notation="json"))
        texts, why = self.sample_texts()
        if not texts:
            raise ValueError(f"{self.source.path}: no trees at the beginning of the file{why}")
        try:
            notation = detect(texts)
        except ValueError as error:
            raise ValueError(f"{self.source.path}: {error}") from None
        words = sum(_WORD.fullmatch(text) is not None for text in texts)
        if notation in ("infix", "brackets", "sexpr") and 10 * words > 9 * len(texts):
            raise ValueError(f"{self.source.path}: its first trees are single words or numbers, not trees; {HELP}")
        return replace(self, reading=replace(self.reading, notation=notation))._with_schema()

    def _with_schema(self) -> Self:
        """The format with the schema of its training documents. Raises ``ValueError`` for a stream, and without any."""
        if self.reading.notation != DOCUMENTS or self.reading.schema is not None:
            return self
        path = self.source.path
        if self.source.stream is not None:
            raise ValueError(
                f"{path}: a stream can be read only once, but inferring a schema takes a first pass over all "
                "documents; give --schema"
            )
        try:
            schema = infer_schema(self._documents, **amounts_in(self.reading))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return replace(self, reading=replace(self.reading, schema=schema.to_json()))

    def _documents(self) -> Iterator[dict[str, Any]]:
        """Yield the documents that may be learnt from; what is wrong with others is in ``bad`` of the data set."""
        for chunk in self.chunks():
            for item in self.items(chunk):
                with suppress(ValueError):
                    yield from self._training_documents(item)

    def _training_documents(self, item: PlacedRecord) -> list[dict[str, Any]]:
        """The documents of a record, none of one that is for validation or a test. ``ValueError`` for a bad record."""
        fields = self.fields(item.raw)
        split = self.split_of(fields, item.file) or "train"
        if SYNONYMS.get(split.lower()) != "train":
            return []
        texts = [_tree_text(fields.get(name)) for name in self.tree_columns]
        values = [load_json(text, numbers_as_text=True) for text in texts]
        return [value for value in values if isinstance(value, dict)]

    def _check_notation(self, notation: str) -> None:
        """``ValueError`` if the first trees are in another notation: in one line, instead of one for each of them."""
        if self.source.stream is not None:  # its first records may be all that there are until they are answered
            return
        read = NOTATIONS[notation].read if notation == DOCUMENTS else reader_of(self.reading)
        texts, _ = self.sample_texts()
        for text in texts:
            with suppress(ValueError):
                read(text)
                return
        other = notation_of(texts)
        if other is not None and other != notation:
            path = self.source.path
            raise ValueError(f"{path}: the model or --notation expects {notation}; these trees look like {other}")

    def sample_texts(self) -> tuple[list[str], str]:
        """Texts of trees, and why there is none; a bad record among them is reported when the file is read."""
        texts: list[str] = []
        why: list[str] = []
        for raw in self.sample():
            try:
                fields = self.fields(raw)
                found = [_tree_text(fields[name]) for name in self.tree_columns if fields.get(name)]
                texts += found
                if not found and set(self.tree_columns) <= fields.keys():
                    why.append(f": no value of {' and '.join(map(repr, self.tree_columns))} in the first records")
                elif not found:
                    names = one_line(", ".join(map(repr, fields)))
                    why.append(f": no column {self.reading.tree!r}, only {names}; {self.no_tree_hint}")
            except ValueError as error:
                why.append(f": {one_line(str(error))}")
        return texts, why[0] if why else ": it has no records"

    def texts(self) -> Iterator[tuple[str, int, list[str]]]:
        for chunk in self.chunks():
            for item in self.items(chunk):
                try:
                    fields = self.fields(item.raw)
                    yield item.file, item.line, [_tree_text(fields.get(name)) for name in self.tree_columns]
                except ValueError:  # which is in ``bad`` of the data set
                    continue

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        read = reader_of(self.reading)
        for item in self.items(chunk):
            if isinstance(item.raw, bytes) and not item.raw.strip():
                yield Bad(item.line, "the line is empty", item.file, split=self.split_of({}, item.file))
                continue
            fields: Mapping[str, Any] = {}
            try:
                fields = self.fields(item.raw)
                yield self._example(item, fields, read)
            except ValueError as error:
                split = self.split_of(fields, item.file)
                yield Bad(item.line, str(error), item.file, self.id_of(fields), split)

    def items(self, chunk: Chunk) -> Iterator[PlacedRecord]:
        """The records of a chunk, one per line by default."""
        return (PlacedRecord(line, raw) for line, raw in enumerate(chunk.raw, chunk.first))

    def _example(self, item: PlacedRecord, fields: Mapping[str, Any], read: Callable[[str], Tree]) -> Example:
        """The content of a record. Raises ``ValueError`` for a tree that cannot be read."""
        reading = self.reading
        trees = tuple(self._tree(fields, name, read) for name in self.tree_columns)
        label, split, name, group, features = self.said(fields, item.file)
        trees, label = self.labelled(trees, label)
        if label is not None:
            printable(label, "label")  # one that was in a tree
        if reading.notation == "node_link":  # its labels may be texts
            trees = tuple(tree.fold(_without_label) for tree in trees)
        if reading.schema is not None and not reading.group_by:
            group = self._document_digest(fields)
        if name is None and item.file:
            name = f"{item.file}:{item.line}"
        return Example(item.line, trees, label, split, name, group, item.file, features)

    def _document_digest(self, fields: Mapping[str, Any]) -> str:
        """The digest of a record's documents, whatever the order of their keys.

        Trees depend on a schema, which may change when rows are added; splits are by this digest, which does not.
        """
        digest = blake2b(digest_size=8)
        for name in self.tree_columns:
            document = load_json(_tree_text(fields[name]), numbers_as_text=True)
            digest.update(json.dumps(document, sort_keys=True).encode())
        return digest.hexdigest()

    def _tree(self, fields: Mapping[str, Any], name: str, read: Callable[[str], Tree]) -> Tree:
        value = fields.get(name)
        if value is None or value == "":
            raise ValueError(f"nothing in the column {name!r}; expected a tree")
        try:
            return read(_tree_text(value))
        except ValueError as error:
            raise ValueError(f"{name}: not a valid {self.reading.notation} tree: {error}") from None


@dataclass(kw_only=True)
class LineRecords(Records):
    """A record a line."""

    header: int = 0
    """Lines before the first record."""

    @abstractmethod
    def fields_of(self, text: str) -> Mapping[str, Any]:
        """The columns of one line. Raises ``ValueError`` for a line that is not a record."""

    def fields(self, raw: bytes) -> Mapping[str, Any]:
        return self.fields_of(decode(raw, self.reading.max_line))

    def sample(self) -> list[bytes]:
        return self.source.first(self.header + SAMPLE)[self.header :]

    def chunks(self) -> Iterator[Chunk]:
        return cut_into_chunks(islice(self.source.lines(), self.header, None), len, self.header + 1)


class JSONRecords(Records):
    """Records that are JSON objects, and may themselves be trees."""

    no_tree_hint = f"{Records.no_tree_hint}, or give --tree {WHOLE_RECORD} if each record is itself a tree"

    def has_pairs(self, keys: Set[str]) -> bool:
        """Return whether a record with these keys has two trees, and not one."""
        is_single = self.reading.tree == WHOLE_RECORD or self.reading.tree in keys
        return not is_single and {self.reading.left, self.reading.right} <= keys

    def with_tree(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a record with a column of its tree: the record itself, if the settings say so.

        The tree is without the columns that are read next to it: a label in a tree would answer for itself.
        """
        if self.reading.tree != WHOLE_RECORD:
            return record
        left_out = self.reading.columns_next_to_tree
        tree = {name: value for name, value in record.items() if name not in left_out}
        return {**record, WHOLE_RECORD: tree}


def bare_label(trees: tuple[Tree, ...], label: str | None, reading: Reading) -> tuple[tuple[Tree, ...], str | None]:
    """The label of the root of a tree without a column of labels. A treebank's is removed from the tree."""
    [tree] = trees
    if label is None and not reading.label_from:
        if tree.label is not None:
            return trees, str(tree.label)
        if reading.notation == "treebank":
            return (tree.replace(function=ROOT),), tree.function
    return trees, label


def check_columns(path: str, names: tuple[str, ...], reading: Reading) -> None:
    """``ValueError`` if the columns of the trees are missing from a table, or a name occurs twice."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{path}: two columns are called {one_line(repr(twice[0]))}; rename one of these columns")
    if reading.tree == WHOLE_RECORD:
        raise ValueError(
            f"{path}: --tree {WHOLE_RECORD} reads JSON records as trees, but this is a table; name a column"
        )
    if reading.tree not in names and not {reading.left, reading.right} <= set(names):
        wanted = f"{reading.tree!r}, or {reading.left!r} and {reading.right!r}"
        there_are = one_line(", ".join(map(repr, names)))
        raise ValueError(
            f"{path}: no column {wanted}; there are {there_are}. Name yours with --tree (or --left "
            "and --right), and the columns of a file without a header with --columns"
        )


def check_features(path: str, names: tuple[str, ...], reading: Reading) -> None:
    """``ValueError`` if a table lacks a column that is read next to the trees, or if that is one of trees itself."""
    trees = (reading.tree,) if reading.tree in names else (reading.left, reading.right)
    for name in names_of(reading.features):
        if name not in names:
            there_are = one_line(", ".join(map(repr, names)))
            raise ValueError(
                f"{path}: no column {name!r}, which is read next to the trees (--features); there are {there_are}"
            )
        if name in trees:
            raise ValueError(f"{path}: --features names {name!r}, which is the column of the trees")


def check_named(path: str, names: tuple[str, ...], reading: Reading) -> None:
    """``ValueError`` if a column that the settings name, other than those of the trees, is not there."""
    for option, column in _named_columns(reading):
        if column not in names:
            there_are = f"there are {one_line(', '.join(map(repr, names)))}"
            if names == (reading.tree,):
                there_are = "each line or record is one tree; only tables (.tsv, .csv, .jsonl) have columns"
            raise ValueError(f"{path}: no column {column!r} ({option}); {there_are}")


def _named_columns(reading: Reading) -> Iterator[tuple[str, str]]:
    """The options that name a column other than by default, and that column."""
    for option in ("label", "split", "id"):
        if getattr(reading, option) != getattr(Reading, option):
            yield f"--{option}", getattr(reading, option)
    for option in ("label_from", "split_from", "group_by"):
        if (text := getattr(reading, option)) is not None:
            column = ColumnPattern.of(option, text).column
            if column not in ("file", "folder"):
                yield f"--{option.replace('_', '-')}", column


def keys_of(reading: Reading) -> Keys:
    """The keys of JSON trees that the settings name."""
    return Keys(*(name.strip() for name in reading.keys.split(",")))


def reader_of(reading: Reading) -> Callable[[str], Tree]:
    """The reader of the notation, with the settings that concern it. Raises ``ValueError`` if there is none."""
    if reading.notation is None:
        raise ValueError(
            "trees of this kind of file cannot be given as strings; give Tree objects, or a file of trees (--queries)"
        )
    if reading.schema is not None:
        assert isinstance(reading.schema, dict)
        return Schema.from_json(reading.schema).read
    if reading.notation == DOCUMENTS:
        raise ValueError("JSON documents are read by a schema: give schema=infer_schema(documents).to_json()")
    if reading.notation == "json":
        keys = keys_of(reading)
        if keys.children == ALL:
            return lambda text: read_fields(text, keys.label, keys.token)
        return lambda text: read_json_tree(text, keys)
    return NOTATIONS[reading.notation].read


def _tree_text(value: Any) -> str:
    """The text of a tree, which may be in a record as JSON. Raises ``ValueError`` for what is neither."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict | list):
        raise ValueError(f"found {type(value).__name__}; expected text")
    return json.dumps(value)


def _without_label(node: Tree, children: list[Tree]) -> Tree:
    return Tree(node.function, children, node.token, node.value)
