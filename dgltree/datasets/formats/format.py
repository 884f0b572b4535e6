"""Interface of a file format."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from dgltree.datasets.formats.source import Chunk, Source
from dgltree.datasets.settings import ColumnPattern, Reading, names_of, packed, text_of
from dgltree.read.text import one_line
from dgltree.support.lazy import cached_property
from dgltree.trees.tree import Tree


class _Bad(NamedTuple):
    line: int
    """Line of the file, from 1; row of a Parquet file; 0 for the file as a whole."""
    message: str
    """One line."""
    file: str = ""
    """Path of the file in a folder."""
    id: str | None = None
    """The record's own name, if it has one that can be read."""
    split: str | None = None
    """The record's own split, as it is written, if it names one that can be read."""


class Bad(_Bad):
    """A record that could not be read."""

    __slots__ = ()

    def __new__(cls, line: int, message: str, file: str = "", id: str | None = None, split: str | None = None) -> Self:
        return super().__new__(cls, line, one_line(message), file, id, split)

    @property
    def where(self) -> str:
        """``line 5``, or in a folder ``poems/a.conllu, line 5``."""
        parts = [one_line(self.file)] * bool(self.file) + [f"line {self.line}"] * bool(self.line)
        return ", ".join(parts) or "the file"

    @property
    def name(self) -> str:
        """The name of a record: its id, else its line, in a folder its file and line."""
        if self.id is not None:
            return self.id
        return ":".join([one_line(self.file)] * bool(self.file) + [str(self.line)] * bool(self.line or not self.file))

    def at(self, path: str | Path) -> str:
        """The message with the place in full, below the path that was given."""
        if self.file:
            return f"{Path(path) / self.where}: {self.message}"
        return ", ".join([str(path), *([self.where] if self.line else [])]) + f": {self.message}"


def in_order(bad: Iterable[Bad]) -> list[Bad]:
    """Sort by file and line."""
    return sorted(bad, key=lambda each: (each.file, each.line))


class Said(NamedTuple):
    """The values of a record in addition to its trees."""

    label: str | None
    split: str | None
    id: str | None
    group: str | None = None
    """The group that splits must keep together, such as the file of a function."""
    features: str | None = None
    """The columns next to the tree, as :func:`dgltree.datasets.settings.packed` makes one text of them."""


class Example(NamedTuple):
    """The content of one record."""

    line: int
    trees: tuple[Tree, ...]
    """One, or the two of a pair."""
    label: str | None
    split: str | None
    id: str | None
    group: str | None = None
    file: str = ""
    """Path of the file in a folder."""
    features: str | None = None
    """The features, as in :class:`Said`."""


@dataclass
class Format(ABC):
    """A source in one of the formats. The reading process cuts it into chunks; others make examples of them."""

    source: Source
    reading: Reading

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the files that are in this format whatever is in them."""
    shared: ClassVar[tuple[str, ...]] = ()
    """Suffixes that files next to those of other formats have, too: there they are left aside."""
    folders: ClassVar[bool] = False
    """Whether a folder with such files is, too."""
    aside: ClassVar[bool] = False
    """Whether such files do not count in a folder with files of another format: a page about them, statistics."""

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        """Whether a source that no suffix tells, and that begins with this line, is in this format."""
        return False

    @classmethod
    def fits(cls, source: Source, reading: Reading) -> bool:
        """Whether the source has this format, if the first line alone does not say it."""
        return cls.begins(source.title(), reading)

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """The source in this format. Raises ``ValueError`` for one that is not in it."""
        return cls(source, reading)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Names of a table's columns; None if columns have no names or each record has its own."""
        return None

    def with_notation(self) -> Self:
        """The format with the notation of its trees, if they have one. ``ValueError`` if none reads them."""
        return self

    def contents(self) -> Iterator[tuple[str, Path]]:
        """The files that all of it is in, each with what its own name tells."""
        yield "", Path(self.source.path)

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """The records, in order."""

    @abstractmethod
    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        """The contents of a chunk's records, or their faults."""

    def texts(self) -> Iterator[tuple[str, int, list[str]]]:
        """How the trees of each example are written, as far as a list shows it, with the example's file and line.

        There may be texts of what is not an example as well.
        """
        return iter(())

    def id_of(self, fields: Mapping[str, Any], id_column: str | None = None) -> str | None:
        """The id of a record that may be bad otherwise; None also for what can be no id."""
        try:
            return text_of(fields, id_column or self.reading.id)
        except ValueError:
            return None

    def split_of(self, fields: Mapping[str, Any], file: str = "") -> str | None:
        """The split of a record that may be bad otherwise; None also for what can be no split."""
        try:
            return self._picks[1](self._with_place(fields, file))
        except ValueError:
            return None

    def said(self, fields: Mapping[str, Any], file: str = "", id_column: str | None = None) -> Said:
        """The values of a record's columns, including ``file`` and ``folder``.

        Args:
            fields: the columns of the record.
            file: the path of its file below the folder that was given.
            id_column: the column with the id, if it is another one than the settings say.

        Raises ``ValueError`` for a value that is not text or number.
        """
        fields = self._with_place(fields, file)
        label, split, group = (pick(fields) if pick else None for pick in self._picks)
        features = packed([pick(fields) for pick in self._feature_picks]) if self._feature_picks else None
        return Said(label, split, text_of(fields, id_column or self.reading.id), group, features)

    def _with_place(self, fields: Mapping[str, Any], file: str) -> Mapping[str, Any]:
        """Return the columns of a record with ``file`` and ``folder``, if the settings name one of them."""
        if not self._by_place:
            return fields
        place = self._place(file) if file else self._own_place
        return {**place, **fields}

    @staticmethod
    def _place(file: str) -> dict[str, str]:
        parts = Path(file).parts
        return {"file": file, **({"folder": parts[0]} if len(parts) > 1 else {})}

    @cached_property
    def _own_place(self) -> dict[str, str]:
        path = Path(self.source.path)
        return {} if self.source.stream is not None else {"file": path.name, "folder": path.resolve().parent.name}

    @cached_property
    def _picks(self) -> tuple[ColumnPattern, ColumnPattern, ColumnPattern | None]:
        """Patterns of the label, the split and the group."""
        reading = self.reading
        label = (
            ColumnPattern.of("label_from", reading.label_from, booleans=True)
            if reading.label_from
            else ColumnPattern(reading.label, booleans=True)
        )
        split = (
            ColumnPattern.of("split_from", reading.split_from) if reading.split_from else ColumnPattern(reading.split)
        )
        group = ColumnPattern.of("group_by", reading.group_by) if reading.group_by else None
        return label, split, group

    @cached_property
    def _feature_picks(self) -> list[ColumnPattern]:
        return [ColumnPattern(name, booleans=True) for name in names_of(self.reading.features)]

    @cached_property
    def _by_place(self) -> bool:
        """Whether a file's place says something."""
        return any(pick is not None and pick.column in ("file", "folder") for pick in self._picks)
