"""Parquet: a row a record. Needs pyarrow (the extra ``train``)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.parquet_rows import name_errors, pieces
from dgltree.datasets.formats.records import SAMPLE, Records, check_columns
from dgltree.datasets.formats.source import TOO_LONG, Source, check_length
from dgltree.datasets.settings.read_settings import Reading, names_of


@dataclass(kw_only=True)
class Parquet(Records):
    """Columns by their names; others than those of the settings are not read."""

    columns: tuple[str, ...]

    suffixes = (".parquet",)

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        return line.startswith("PAR1")

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for what is not a Parquet file, or has no column of trees."""
        if source.stream is not None:
            raise ValueError(
                f"{source.path}: Parquet is read from its end, which is not possible for a pipe; give a file"
            )
        if source.compressed:
            raise ValueError(f"{source.path}: a compressed file; unpack it, because Parquet is compressed itself")
        from pyarrow.parquet import read_schema

        with name_errors(source.path):
            names = tuple(read_schema(source.path).names)
        check_columns(source.path, names, reading)
        return cls(source, reading, pairs=reading.tree not in names, columns=names)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def columns_read(self) -> list[str]:
        """Those that the settings name."""
        reading = self.reading
        picked = [pick.column for pick in self._picks if pick is not None]
        known = {reading.tree, reading.left, reading.right, reading.id, *picked, *names_of(reading.features)}
        return [name for name in self.columns if name in known]

    def fields(self, raw: Any) -> Mapping[str, Any]:
        check_length(raw, self.reading.max_line)
        record: Mapping[str, Any] = raw
        return record

    def sample(self) -> list[Any]:
        first: list[Any] = []
        for chunk in self.chunks():
            first += chunk.raw
            if len(first) >= SAMPLE or any(record != TOO_LONG for record in first):
                break
        return first[:SAMPLE]

    def chunks(self) -> Iterator[Chunk]:
        first = 1
        path = self.source.path
        for piece in pieces(path, path, self.columns_read, self.reading.max_line):
            yield Chunk(first, piece.records)
            first += len(piece.records)
