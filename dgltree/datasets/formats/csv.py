"""Comma-separated values as spreadsheets write them: a header, quotes around what has commas or line breaks."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.records import SAMPLE, PlacedRecord, Records, check_columns
from dgltree.datasets.formats.source import Chunk, Source, cut_into_chunks, decode
from dgltree.datasets.settings import Reading

DELIMITERS = (",", ";", "\t")
"""The delimiters in the order in which they are tried on the header: spreadsheets take a semicolon where 1,5 is a
number."""


@dataclass(kw_only=True)
class CSV(Records):
    """``tree,label`` and below it ``"f(x, y)",1``. A line is that on which a row begins."""

    columns: tuple[str, ...]
    delimiter: str
    header: int

    suffixes = (".csv",)

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        if reading.columns or "\t" in line or "(" in line:
            return False
        return any({reading.tree, reading.left} & set(_split(line, mark)) for mark in DELIMITERS[:2] if mark in line)

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for a table without a column of trees."""
        title = source.title()
        marks = sorted(DELIMITERS, key=lambda mark: -title.count(mark))  # sorted keeps the order of equals
        delimiter = marks[0]
        names = tuple(reading.columns.split(",") if reading.columns else _split(title, delimiter))
        check_columns(source.path, names, reading)
        header = 0 if reading.columns else 1
        return cls(source, reading, pairs=reading.tree not in names, columns=names, delimiter=delimiter, header=header)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.columns

    def fields(self, raw: list[str] | str) -> Mapping[str, Any]:
        if isinstance(raw, str):
            raise ValueError(raw)
        if len(raw) != len(self.columns):
            help_ = "; put a field that contains commas in quotes" if len(raw) > len(self.columns) else ""
            raise ValueError(f"{len(raw)} columns; expected {len(self.columns)}{help_}")
        return dict(zip(self.columns, raw, strict=True))

    def sample(self) -> list[Any]:
        return [item.raw for item in self._rows(self.source.first(self.header + SAMPLE))]

    def chunks(self) -> Iterator[Chunk]:
        return cut_into_chunks(self._rows(self.source.lines()), lambda item: sum(map(len, item.raw)))

    def items(self, chunk: Chunk) -> Iterator[PlacedRecord]:
        return iter(chunk.raw)

    def _rows(self, lines: Any) -> Iterator[PlacedRecord]:
        """The rows below the header; what is wrong with one is its text."""
        texts = _Texts(iter(lines), self.reading.max_line)
        csv.field_size_limit(self.reading.max_line)
        reader = csv.reader(texts, delimiter=self.delimiter, strict=True)
        begun = 1
        while True:
            begun = texts.number + 1
            try:
                row: list[str] | str = next(reader)
            except StopIteration:
                return
            except (csv.Error, ValueError) as error:
                row = f"{error} (lines {begun} to {texts.number})" if texts.number > begun else str(error)
                reader = csv.reader(texts, delimiter=self.delimiter, strict=True)
            if begun > self.header and row:
                yield PlacedRecord(begun, row)


class _Texts:
    """Lines as texts, which know how many they were."""

    def __init__(self, lines: Iterator[bytes], limit: int) -> None:
        self.lines = lines
        self.limit = limit
        self.number = 0

    def __iter__(self) -> "_Texts":
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.number += 1
        return decode(line, self.limit) + "\n"


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
