"""What a kind of files has to say of itself."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.source import Source
from dgltree.datasets.reading import Reading
from dgltree.read.text import CONTROL, shown
from dgltree.trees.tree import Tree


class _Bad(NamedTuple):
    line: int
    """Of the file, from 1; of a table its row, of a folder its file."""
    message: str
    """One line."""


class Bad(_Bad):
    """A record that could not be read."""

    __slots__ = ()

    def __new__(cls, line: int, message: str) -> Self:
        return super().__new__(cls, line, shown(message))


class Example(NamedTuple):
    """What one record says."""

    line: int
    trees: tuple[Tree, ...]
    """One, or the two of a pair."""
    label: str | None
    split: str | None
    id: str | None


@dataclass
class Format(ABC):
    """A source in one of the formats. The reading process cuts it into chunks; others make examples of them."""

    source: Source
    reading: Reading

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Of the files that are in this format whatever is in them."""
    folders: ClassVar[bool] = False
    """Whether folders are."""

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        """Whether a source that no suffix tells, and that begins with this line, is in this format."""
        return False

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """The source in this format. Raises ``ValueError`` for one that is not in it."""
        return cls(source, reading)

    def with_notation(self) -> Self:
        """The same with the notation of its trees, where they have one. ``ValueError`` where none reads them."""
        return self

    def contents(self) -> Iterator[tuple[str, Path]]:
        """The files that all of it stands in, each with what its own name tells."""
        yield "", Path(self.source.path)

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """The records, in order."""

    @abstractmethod
    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        """What the records of a chunk say, or what is wrong with them."""


def text_of(fields: Mapping[str, Any], column: str) -> str | None:
    """What a column says; ``ValueError`` for what is no text or finite number, or would break the lines of a table."""
    value = fields.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool | list | dict | bytes) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError(f"{column}: found {_in_json(value)}; expected a text or a finite number")
    return printable(str(value), column)


def _in_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError:  # bytes
        return repr(value)


def printable(text: str, what: str) -> str:
    """The text itself; ``ValueError`` where it would break the lines of a table, or do things to a terminal."""
    if CONTROL.search(text):
        raise ValueError(f"{what}: {text!r} has a tab, a line break, another control character or half of a character")
    return text
