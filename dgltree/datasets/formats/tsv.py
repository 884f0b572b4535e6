"""Tables of columns separated by tabs, below a line with their names. Quotes mean nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.records import LineRecords, check_columns
from dgltree.datasets.formats.source import TOO_LONG, Source
from dgltree.datasets.settings import Reading


@dataclass(kw_only=True)
class TSV(LineRecords):
    """``id<tab>tree<tab>label``, and below it a record a line."""

    columns: tuple[str, ...]

    suffixes = (".tsv", ".tab")

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        return bool(reading.columns) or "\t" in line or line == reading.tree

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for a table without a column of trees."""
        title = source.title()
        if source.first(1) == [TOO_LONG]:
            limit = f"{reading.max_line:,} bytes, the limit (--max-line)"
            raise ValueError(f"{source.path}: the first line is longer than {limit}")
        if not reading.columns and "," in title and "\t" not in title and reading.tree in title.split(","):
            raise ValueError(f"{source.path}: its columns are separated by commas; name it .csv")
        names = tuple((reading.columns or title).split("," if reading.columns else "\t"))
        check_columns(source.path, names, reading)
        header = 0 if reading.columns else 1
        return cls(source, reading, pairs=reading.tree not in names, header=header, columns=names)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.columns

    def fields_of(self, text: str) -> Mapping[str, Any]:
        values = text.split("\t")
        if len(values) != len(self.columns):
            raise ValueError(f"{len(values)} columns, separated by tabs; expected {len(self.columns)}")
        return dict(zip(self.columns, values, strict=True))
