"""Files to chunks of records: streamed, so that memory does not grow with the file."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dgltree.datasets.reading import FORMATS, Reading

CHUNK = 1 << 18
"""Bytes of lines in a chunk, about: some milliseconds' work for a worker."""
ROWS = 2000
"""Rows of a Parquet file in a chunk."""
STDIN = "-"
SUFFIXES = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".conllu": "conllu",
    ".py": "python",
}
PASSED_OVER = {"site-packages", "__pycache__", "node_modules"}
"""Folders of a folder of source files that are no part of it, besides hidden ones."""
TOO_LONG = b"\0too long"  # stands for a line over the limit: no text file holds it


@dataclass
class Chunk:
    """Some consecutive records of a source, as they stand in it."""

    first: int
    """The number of the first line, row or file, from 1."""
    raw: list[Any]
    """Lines as bytes; rows of a table; paths of source files."""


@dataclass
class Source:
    """A file, a folder or the standard input, with its format and columns known."""

    path: str
    format: str
    reading: Reading
    columns: tuple[str, ...] = ()
    """Of a TSV or Parquet file."""
    header: int = 0
    """Lines before the first record."""
    pairs: bool = False
    """Whether a record has two trees."""
    stream: IO[bytes] | None = None
    """What is left of the standard input."""
    peeked: tuple[bytes, ...] = ()
    """Lines that were taken from the stream to find out what it is."""

    def chunks(self) -> Iterator[Chunk]:
        """The records, in order."""
        if self.format == "python":
            yield from _cut(_source_files(Path(self.path)), lambda path: path.stat().st_size)
        elif self.format == "parquet":
            yield from self._rows()
        else:
            lines = islice(self._lines(), self.header, None)
            yield from _cut(lines, len, self.header + 1, whole=_ends_sentence if self.format == "conllu" else None)

    def _lines(self) -> Iterator[bytes]:
        if self.stream is not None:
            yield from self.peeked
            yield from lines_of(self.stream, self.reading.max_line)
            return
        with Path(self.path).open("rb") as file:
            yield from lines_of(file, self.reading.max_line)

    def _rows(self) -> Iterator[Chunk]:
        from pyarrow.parquet import ParquetFile

        wanted = [name for name in self.columns if name in _known(self.reading)]
        first = 1
        with ParquetFile(self.path) as file:
            for rows in file.iter_batches(ROWS, columns=wanted):
                yield Chunk(first, rows.to_pylist())
                first += len(rows)


def open_source(path: str | Path, reading: Reading) -> Source:
    """A file as a source: its format by its suffix, else by its first line.

    Raises ``FileNotFoundError``, and ``ValueError`` for an empty file and for a table without the column of the trees.
    """
    if str(path) == STDIN:
        return _open_stream(sys.stdin.buffer, reading)
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    kind = "python" if file.is_dir() else SUFFIXES.get(file.suffix.lower())
    if kind == "python":
        return Source(str(path), kind, reading)
    if kind == "parquet":
        names = _parquet_columns(file, reading)
        return Source(str(path), kind, reading, names, pairs=reading.tree not in names)
    with file.open("rb") as lines:
        first = next(lines_of(lines, reading.max_line), None)
    if first is None:
        raise ValueError(f"{path}: the file is empty")
    return _by_first_line(str(path), kind, first, reading)


def _open_stream(stream: IO[bytes], reading: Reading) -> Source:
    first = next(lines_of(stream, reading.max_line), None)
    if first is None:
        raise ValueError("the standard input is empty")
    source = _by_first_line(STDIN, None, first, reading)
    source.stream, source.peeked = stream, (first,)
    return source


def _by_first_line(path: str, kind: str | None, first: bytes, reading: Reading) -> Source:
    text = first.decode("utf-8", "replace").strip("\r\n").removeprefix("\ufeff")
    if kind is None:
        kind = _guess(text, reading)
    assert kind in FORMATS
    if kind != "tsv":
        return Source(path, kind, reading, pairs=kind == "jsonl" and _is_pair(text, reading))
    if first == TOO_LONG:
        raise ValueError(f"{path}: the first line is longer than {reading.max_line:,} bytes, the limit (--max-line)")
    names = tuple((reading.columns or text).split("," if reading.columns else "\t"))
    _check_columns(path, names, reading)
    return Source(path, kind, reading, names, header=0 if reading.columns else 1, pairs=reading.tree not in names)


def _guess(text: str, reading: Reading) -> str:
    names = text.split("\t")
    if reading.columns or len(names) > 1 or names[0] == reading.tree:
        return "conllu" if names[0] == "1" and len(names) == 10 else "tsv"
    if text.startswith("# "):
        return "conllu"
    if text.startswith("{"):
        return "jsonl" if {reading.tree, reading.left} & _keys(text) else "lines"
    return "lines"


def _keys(text: str) -> set[str]:
    """Those of a JSON object; none for what is no such object."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return set(record) if isinstance(record, dict) else set()


def _is_pair(text: str, reading: Reading) -> bool:
    """Whether records have two trees, as the first one says."""
    keys = _keys(text)
    return reading.tree not in keys and {reading.left, reading.right} <= keys


def lines_of(file: IO[bytes], max_line: int) -> Iterator[bytes]:
    """The lines, each without its end; ``TOO_LONG`` for one over the limit, of which no more is held."""
    while line := file.readline(max_line + 1):
        if len(line) > max_line and not line.endswith(b"\n"):
            while (rest := file.readline(max_line)) and not rest.endswith(b"\n"):
                pass
            yield TOO_LONG
        else:
            yield line.rstrip(b"\r\n")


def _cut(items: Iterable[Any], size: Any, first: int = 1, whole: Any = None) -> Iterator[Chunk]:
    """Items in chunks of about ``CHUNK`` bytes; with ``whole`` only after an item that it is true of."""
    chunk, bytes_held = Chunk(first, []), 0
    for item in items:
        chunk.raw.append(item)
        bytes_held += size(item) + 1
        if bytes_held >= CHUNK and (whole is None or whole(item)):
            yield chunk
            chunk, bytes_held = Chunk(chunk.first + len(chunk.raw), []), 0
    if chunk.raw:
        yield chunk


def _ends_sentence(line: bytes) -> bool:
    return not line.strip()


def _source_files(path: Path) -> Iterator[Path]:
    """Python files, by name; of a folder all below it."""
    if path.is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name not in PASSED_OVER and not entry.is_symlink():
                yield from _source_files(entry)
        elif entry.suffix == ".py" and entry.is_file():  # no pipe, which would never end
            yield entry


def _parquet_columns(path: Path, reading: Reading) -> tuple[str, ...]:
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import read_schema

    try:
        names = tuple(read_schema(path).names)
    except ArrowInvalid as error:
        raise ValueError(f"{path}: no Parquet file ({error})") from None
    _check_columns(str(path), names, reading)
    return names


def _known(reading: Reading) -> set[str]:
    return {reading.tree, reading.left, reading.right, reading.label, reading.split, reading.id}


def _check_columns(path: str, names: tuple[str, ...], reading: Reading) -> None:
    """``ValueError`` where the trees' columns are missing, or a name stands twice."""
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ValueError(f"{path}: two columns are called {twice[0]!r}")
    if reading.tree not in names and not {reading.left, reading.right} <= set(names):
        wanted = f"{reading.tree!r}, or {reading.left!r} and {reading.right!r}"
        raise ValueError(
            f"{path}: no column {wanted}; there are {', '.join(map(repr, names))}. Name yours with --tree (or --left "
            "and --right), and the columns of a TSV file without a header with --columns"
        )


def fields_of(source: Source, raw: Any) -> Mapping[str, Any]:
    """The columns of one record. Raises ``ValueError`` for a line that is no text or no record."""
    if source.format == "parquet":
        return dict(raw)
    text = decoded(raw, source.reading.max_line)
    if source.format == "lines":
        return {source.reading.tree: text}
    if source.format == "jsonl":
        return _json_record(text)
    values = text.split("\t")
    if len(values) != len(source.columns):
        raise ValueError(f"{len(values)} columns, separated by tabs; expected {len(source.columns)}")
    return dict(zip(source.columns, values, strict=True))


def decoded(raw: bytes, max_line: int) -> str:
    """UTF-8 bytes as text. Raises ``ValueError`` for others, and for a line over the limit."""
    if raw == TOO_LONG:
        raise ValueError(f"longer than {max_line:,} bytes, the limit (--max-line)")
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{raw[error.start]:02x} in column {error.start + 1} is not UTF-8") from None


def _json_record(text: str) -> Mapping[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f'a JSON {type(record).__name__}; expected an object such as {{"tree": ..., "label": ...}}')
    return record


def tree_columns(source: Source) -> tuple[str, ...]:
    """The columns with the trees of a record."""
    return (source.reading.left, source.reading.right) if source.pairs else (source.reading.tree,)


def tree_text(value: Any) -> str:
    """The text of a tree, which may stand in a record as JSON. Raises ``ValueError`` for what is neither."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict | list):
        raise ValueError(f"found a {type(value).__name__}; expected text")
    return json.dumps(value)
