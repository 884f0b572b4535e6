"""Parquet files wherever fsspec reads, cut into what one task reads and what one file of the output holds."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from dgltree.datasets.formats.parquet import name_errors, pieces
from dgltree.datasets.formats.records import SAMPLE
from dgltree.datasets.formats.source import PASSED_OVER
from dgltree.read.text import one_line

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from pyarrow.parquet import FileMetaData

SUFFIX = ".parquet"
MAX_BLOCK_BYTES = 1 << 28
"""Bytes of a block that a process holds: far more than a file without tricks says beforehand."""
FOOTERS = 16  # read at a time: of an object store each takes a round trip


class Rows(NamedTuple):
    """Consecutive rows of a file: what one file of the output is made of."""

    name: str
    """Name of the output's file."""
    file: str
    """Below the folder that was given; empty if a file was given."""
    first: int
    """The number of the first row in its file, from 1."""
    records: list[Any]
    """A mapping from columns to values each; ``TOO_LONG`` for a row over the limit."""


class RowGroups(NamedTuple):
    """Consecutive row groups of a file: what one task reads."""

    url: str
    file: str
    number: int
    """Index of the file, from 0."""
    groups: tuple[int, ...]
    first: int
    rows: int
    """In these groups."""
    block: int
    """Rows in a block, the last one apart."""

    def blocks(self) -> dict[str, int]:
        """The names of the blocks, whose order is that of the rows of the input, and how many rows each holds."""
        end = self.first + self.rows
        starts = range(self.first, end, self.block)
        return {f"{self.number:06d}-{first:012d}{SUFFIX}": min(self.block, end - first) for first in starts}

    def read(self, columns: list[str], wanted: set[str], max_line: int) -> Iterator[Rows]:
        """The blocks of these names; no more than two are held. A row over the limit of bytes is not.

        Raises ``ValueError`` for a damaged file, and for a block of more than ``MAX_BLOCK_BYTES`` bytes.
        """
        blocks = list(self.blocks().items())
        first = self.first
        held: list[Any] = []
        size = 0
        file_system, path = locate(self.url)
        with file_system.open(path, "rb") as raw:
            for piece in pieces(raw, self.url, columns, max_line, self.groups):
                held += piece.records
                size += piece.size
                if size > MAX_BLOCK_BYTES + max_line:
                    raise ValueError(
                        f"{self.url}: the rows from {first:,} to {first + len(held) - 1:,} have more than "
                        f"{MAX_BLOCK_BYTES:,} bytes; leave out long rows (--max-line), or write the file in smaller "
                        "row groups"
                    )
                while blocks and len(held) >= blocks[0][1]:
                    name, count = blocks.pop(0)
                    records = held[:count]
                    held = held[count:]
                    size = piece.size
                    if name in wanted:
                        yield Rows(name, self.file, first, records)
                    first += count


@dataclass(frozen=True)
class Tables:
    """A Parquet file, or all of a folder in the order of their names."""

    path: str
    """The path as it was given."""
    files: tuple["File", ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.files[0].columns

    @property
    def rows(self) -> int:
        return sum(file.metadata.num_rows for file in self.files)

    @property
    def digest(self) -> str:
        """sha256 of the names, the sizes and the footers of all files: what is in them says how long each column is."""
        digest = hashlib.sha256()
        for file in self.files:
            footer = BytesIO()
            file.metadata.write_metadata_file(footer)
            digest.update(f"{file.name} {file.size}".encode() + footer.getvalue())
        return digest.hexdigest()

    def sample(self, columns: list[str], max_line: int) -> list[Any]:
        """The first rows, ``SAMPLE`` at most, by which the notation is detected."""
        found: list[Any] = []
        for span in self.spans(SAMPLE, 1 << 20):
            wanted = set(list(span.blocks())[:1])
            found += [record for rows in span.read(columns, wanted, max_line) for record in rows.records]
            if len(found) >= SAMPLE:
                break
        return found[:SAMPLE]

    def spans(self, rows: int, size: int) -> list[RowGroups]:
        """All of it, in blocks of at most so many rows, and of about so many bytes."""
        return [span for number, file in enumerate(self.files) for span in file.spans(number, rows, size)]


class File(NamedTuple):
    """One of the files."""

    url: str
    name: str
    size: int
    metadata: "FileMetaData"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.metadata.schema.to_arrow_schema().names)

    def spans(self, number: int, rows: int, size: int) -> Iterator[RowGroups]:
        """Row groups together until they hold a block."""
        groups = [self.metadata.row_group(i) for i in range(self.metadata.num_row_groups)]
        bytes_of_row = max(1, sum(group.total_byte_size for group in groups) // max(1, self.metadata.num_rows))
        block = max(1, min(rows, size // bytes_of_row))
        first = 1
        taken: list[int] = []
        count = 0
        for i, group in enumerate(groups):
            taken.append(i)
            count += group.num_rows
            if count and (count >= block or i == len(groups) - 1):
                yield RowGroups(self.url, self.name, number, tuple(taken), first, count, block)
                first += count
                taken = []
                count = 0


def locate(url: str) -> tuple["AbstractFileSystem", str]:
    """The file system of a path or URL, and the path in it.

    Raises ``ValueError`` for a protocol that fsspec does not know, or whose package is not installed.
    """
    from fsspec.core import url_to_fs

    try:
        file_system, path = url_to_fs(url)
    except ImportError as error:
        raise ValueError(f"{url}: {error}") from None
    return file_system, path


def open_tables(path: str) -> Tables:
    """The tables at a path or URL.

    Raises ``FileNotFoundError``, and ``ValueError`` for what is not Parquet, for a folder without such files, and for
    one whose files have different columns.
    """
    file_system, place = locate(path)
    if not file_system.exists(place):
        raise FileNotFoundError(f"{path}: no such file or folder")
    found = {"": place} if file_system.isfile(place) else _in_folder(file_system, place)
    if not found:
        raise ValueError(f"{path}: no {SUFFIX} files in this folder")

    def opened(name: str) -> File:
        return _opened(file_system, found[name], name, path)

    with ThreadPoolExecutor(FOOTERS) as pool:
        files = tuple(pool.map(opened, found))
    for file in files:
        if set(file.columns) != set(files[0].columns):
            names = [one_line(", ".join(map(repr, each.columns))) for each in (files[0], file)]
            raise ValueError(
                f"{path}: {files[0].name} has the columns {names[0]}, but {file.name} has {names[1]}; all files of a "
                "folder must have the same columns"
            )
    return Tables(path, files)


def _in_folder(file_system: "AbstractFileSystem", folder: str) -> dict[str, str]:
    """Return the folder's files by their paths below it, hidden ones and those of hidden folders left out."""
    root = folder.rstrip("/") + "/"
    names = sorted(path.removeprefix(root) for path in file_system.find(folder) if path.endswith(SUFFIX))
    parts = {name: name.split("/") for name in names}
    return {
        name: root + name
        for name in names
        if not any(part.startswith((".", "_")) or part in PASSED_OVER for part in parts[name])
    }


def _opened(file_system: "AbstractFileSystem", place: str, name: str, path: str) -> File:
    from pyarrow.parquet import ParquetFile

    with (
        name_errors(f"{path}: {name}" if name else path),
        file_system.open(place, "rb") as raw,
        ParquetFile(raw) as file,
    ):
        return File(file_system.unstrip_protocol(place), name, file_system.size(place), file.metadata)
