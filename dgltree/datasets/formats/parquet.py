"""Parquet: a row a record. Needs pyarrow (the extra ``train``)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.records import SAMPLE, Records, check_columns
from dgltree.datasets.formats.source import Source
from dgltree.datasets.settings.reading import Reading

ROWS = 2000
"""Rows in a chunk."""


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
            raise ValueError(f"{source.path}: Parquet is read from its end, which a pipe does not have; give a file")
        if source.compressed:
            raise ValueError(f"{source.path}: a compressed file; Parquet, which is compressed itself, is read unpacked")
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import read_schema

        try:
            names = tuple(read_schema(source.path).names)
        except ArrowInvalid as error:
            raise ValueError(f"{source.path}: not a Parquet file ({error})") from None
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
        known = {reading.tree, reading.left, reading.right, reading.id, *picked}
        return [name for name in self.columns if name in known]

    def fields(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        return raw

    def sample(self) -> list[Any]:
        return next((chunk.raw[:SAMPLE] for chunk in self.chunks()), [])

    def chunks(self) -> Iterator[Chunk]:
        from pyarrow.parquet import ParquetFile

        first = 1
        with ParquetFile(self.source.path) as file:
            for rows in file.iter_batches(ROWS, columns=self.columns_read):
                yield Chunk(first, rows.to_pylist())
                first += len(rows)
