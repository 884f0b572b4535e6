"""What a kind of files has to say of itself."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.source import Source
from dgltree.datasets.reading import Reading
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
    """What a column says; ``ValueError`` for what would break the lines of a table."""
    value = fields.get(column)
    if value is None or value == "":
        return None
    text = str(value)
    if BREAKS.search(text):
        raise ValueError(f"{column}: {text!r} has a tab, a line break or half of a character")
    return text
