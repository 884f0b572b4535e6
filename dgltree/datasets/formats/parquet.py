"""A Parquet file has a record in each row. Reading it needs pyarrow (the extra ``train``).

In a file a text that occurs often is stored once: a kilobyte may hold gigabytes of rows. Texts are therefore read as
dictionaries, so that the length of a row is known before it is written out; one over the limit of a line never is.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dgltree.datasets.formats.records import SAMPLE, Records, check_columns
from dgltree.datasets.formats.source import CHUNK, TOO_LONG, Chunk, Source, check_length
from dgltree.datasets.settings import Reading, names_of

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch
    from pyarrow.parquet import FileMetaData

ROWS = 2000
"""Rows that are read at a time, and no more in a chunk."""
STORED = 1 << 24
"""Bytes that are read at a time, about, by what the end of the file says of its sizes."""
NUMBER = 8  # bytes of what is not text


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
                f"{source.path}: a Parquet file is read from its end, which a pipe does not allow; give a file"
            )
        if source.compressed:
            raise ValueError(
                f"{source.path}: a compressed file; unpack it, because Parquet already compresses its columns"
            )
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
        """The columns that the settings name."""
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


class Piece(NamedTuple):
    """Some consecutive rows."""

    records: list[Any]
    """A mapping from columns to values each; ``TOO_LONG`` for a row over the limit."""
    size: int
    """Bytes, written out."""


@contextmanager
def name_errors(path: str) -> Iterator[None]:
    """A block in which what pyarrow says of a damaged file is a ``ValueError`` with the file's name."""
    from pyarrow import ArrowException

    try:
        yield
    except MemoryError:
        raise
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        raise ValueError(f"{path}: not a Parquet file, or a damaged one ({' '.join(str(error).split())})") from None


def pieces(
    source: Any, path: str, columns: Sequence[str], max_line: int, groups: Sequence[int] | None = None
) -> Iterator[Piece]:
    """The rows in pieces of about ``CHUNK`` bytes.

    Args:
        source: a path, or an open file.
        path: how errors call it.
        columns: those that are read.
        max_line: bytes of a row; of a longer one nothing is written out.
        groups: the row groups that are read; default: all.

    Raises ``ValueError`` for a damaged file, one whose rows lack a column, and where not one row of a group can be
    within the limit.
    """
    from pyarrow.parquet import ParquetFile

    with name_errors(path):
        metadata = ParquetFile(source).metadata
        leaves = _leaves(metadata, columns)
        texts = [metadata.schema.column(i).path for i in leaves if _is_text(metadata, i)]
        with ParquetFile(source, metadata=metadata, read_dictionary=texts) as file:
            for group in range(metadata.num_row_groups) if groups is None else groups:  # lists have one dictionary each
                rows = _rows_at_once(path, metadata, group, leaves, max_line)
                for batch in file.iter_batches(rows, row_groups=[group], columns=list(columns)):
                    if lacking := [name for name in columns if name not in batch.schema.names]:
                        raise ValueError(f"{path}: the Parquet file is damaged: its rows have no column {lacking[0]!r}")
                    yield from _cut(batch, max_line)


def _leaves(metadata: "FileMetaData", columns: Sequence[str]) -> list[int]:
    """The columns of the file that these are stored in: of lists and records several."""
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    return [i for i, path in enumerate(paths) if any(f"{path}.".startswith(f"{name}.") for name in columns)]


def _is_text(metadata: "FileMetaData", leaf: int) -> bool:
    column = metadata.schema.column(leaf)
    return column.physical_type == "BYTE_ARRAY" and column.logical_type.type != "DECIMAL"


def _rows_at_once(path: str, metadata: "FileMetaData", number: int, leaves: list[int], max_line: int) -> int:
    group = metadata.row_group(number)
    stored = 0
    for leaf in leaves:
        column = group.column(leaf)
        if column.num_values > group.num_rows * max_line:
            raise ValueError(
                f"{path}: {column.num_values:,} values of {column.path_in_schema!r} in {group.num_rows:,} rows, so "
                f"rows are longer than {max_line:,} bytes, the limit (--max-line)"
            )
        stored += column.total_uncompressed_size + NUMBER * column.num_values
    return max(1, min(ROWS, STORED * group.num_rows // max(1, stored)))


def _cut(batch: "RecordBatch", max_line: int) -> Iterator[Piece]:
    sizes = sum((_sizes(column) for column in batch.columns), np.zeros(len(batch), np.int64))
    fits = sizes <= max_line
    ends = np.cumsum(np.where(fits, sizes, 0) + 1)
    start = 0
    while start < len(batch):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK, "right")))
        yield Piece(_written_out(batch.slice(start, stop - start), fits[start:stop]), int(ends[stop - 1] - before))
        start = stop


def _written_out(batch: "RecordBatch", fits: np.ndarray) -> list[Any]:
    import pyarrow

    kept = batch if fits.all() else batch.filter(pyarrow.array(fits))
    records = iter(kept.to_pylist())
    return [next(records) if fit else TOO_LONG for fit in fits]


def _sizes(array: "Array") -> np.ndarray:
    """Bytes of each element written out, (elements,), int64: of the texts in it, and ``NUMBER`` for another value."""
    import pyarrow
    from pyarrow import compute, types

    if isinstance(array, pyarrow.ExtensionArray):
        return _sizes(array.storage)
    if isinstance(array, pyarrow.DictionaryArray):
        lengths = np.append(_sizes(array.dictionary), 0)  # of the last one there is no text: null
        return lengths[array.indices.fill_null(len(lengths) - 1).to_numpy(zero_copy_only=False).astype(np.int64)]
    if isinstance(array, pyarrow.StructArray):
        fields = (array.field(i) for i in range(array.type.num_fields))
        return sum((_sizes(field) for field in fields), np.zeros(len(array), np.int64))
    if isinstance(array, pyarrow.FixedSizeListArray):
        width = array.type.list_size
        values = array.values.slice(array.offset * width, len(array) * width)
        return (_sizes(values) + 1).reshape(len(array), width).sum(1)
    if isinstance(array, pyarrow.ListArray | pyarrow.LargeListArray):  # a map too
        ends = np.append(0, np.cumsum(_sizes(array.values) + 1))
        offsets = array.offsets.to_numpy(zero_copy_only=False)
        return ends[offsets[1:]] - ends[offsets[:-1]]
    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(is_kind(array.type) for is_kind in kinds):
        return compute.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.full(len(array), NUMBER, np.int64)
