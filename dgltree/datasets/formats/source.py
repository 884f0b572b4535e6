"""Sources of records are a file, a folder, or a stream. Lines are streamed, and none over the limit is ever held.

Records come in chunks, so that memory does not grow with the file and several processes have work to share.
"""

import bz2
import codecs
import gzip
import io
import itertools
import lzma
import sys
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dgltree.support.files import check_exists

STDIN = "-"
LARGE = 1 << 20
"""Bytes from which on a file is worth starting processes for."""
CHUNK = 1 << 18
"""Bytes of records in a chunk, about: some milliseconds' work for a process."""
TOO_LONG = b"\0too long"  # in place of a line over the limit: no text file holds it
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Suffixes of files that are read as what is in them."""
PASSED_OVER = {"site-packages", "__pycache__", "node_modules"}
"""Folders of a folder of source files that are not part of it, in addition to hidden ones."""
MAX_NAMED_FILES = 5
ENDLESS = 100_000_000
"""Bytes beyond the limit of a line after which its end is waited for no longer: ``/dev/zero`` has none."""


@dataclass
class Source:
    """A path, or a stream, of which a line that was looked at is still given.

    A stream is the standard input and all else that is not a regular file, such as a pipe: it can be read once only.
    """

    path: str
    max_line: int
    """Bytes of a line; longer ones are ``TOO_LONG``."""
    stream: IO[bytes] | None = None
    """The rest of a stream; None for a file or a folder."""
    peeked: list[bytes] = field(default_factory=list)
    """Lines that were taken from the stream to find out what it is."""

    @classmethod
    def at(cls, path: str | Path, max_line: int) -> "Source":
        """The source of a path; ``-`` is the standard input. Raises ``FileNotFoundError``."""
        if str(path) == STDIN:
            return cls(STDIN, max_line, as_utf8(sys.stdin.buffer))
        check_exists(path)
        if Path(path).is_file() or Path(path).is_dir():
            return cls(str(path), max_line)
        stream = Path(path).open("rb")  # noqa: SIM115 (it is closed with the source)
        source = cls(str(path), max_line, as_utf8(stream))
        weakref.finalize(source, stream.close)  # read to its end or not
        return source

    @property
    def compressed(self) -> bool:
        return self.stream is None and Path(self.path).suffix.lower() in COMPRESSED

    @property
    def large(self) -> bool:
        """Whether it is worth starting processes for."""
        path = Path(self.path)
        return self.stream is not None or path.is_dir() or path.stat().st_size > LARGE

    def lines(self) -> Iterator[bytes]:
        """The lines, each without its end. Raises ``ValueError`` for a damaged compressed file."""
        if self.stream is not None:
            yield from self.peeked
            yield from lines_of(self.stream, self.max_line)
            return
        opener = COMPRESSED.get(Path(self.path).suffix.lower(), open)
        try:
            with opener(self.path, "rb") as file:
                yield from lines_of(as_utf8(file), self.max_line)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise ValueError(f"{self.path}: not a {Path(self.path).suffix} file, or a damaged one ({error})") from None
        except OSError as error:
            if self.compressed and error.errno is None:  # how bz2 says that a file is not its own
                raise ValueError(
                    f"{self.path}: not a {Path(self.path).suffix} file, or a damaged one ({error})"
                ) from None
            raise

    def first(self, count: int) -> list[bytes]:
        """The first lines, fewer if they are long; they are still given by :meth:`lines`."""
        if self.stream is None:
            return _some(self.lines(), count)
        self.peeked += _some(lines_of(self.stream, self.max_line), max(0, count - len(self.peeked)))
        return self.peeked[:count]

    def title(self) -> str:
        """The first line as text, by which the format is detected. Raises ``ValueError`` if there is none."""
        first = self.first(1)
        if not first:
            raise ValueError("the standard input is empty" if self.path == STDIN else f"{self.path}: the file is empty")
        if b"\r" in first[0]:
            raise ValueError(f"{self.path}: lines end with a carriage return alone; save the file with line feeds")
        return first[0].decode("utf-8", "replace").removeprefix("\ufeff")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"stream": None, "peeked": []}  # which stay with the process that reads


def _some(lines: Iterator[bytes], count: int) -> list[bytes]:
    chunk = next(cut_into_chunks(islice(lines, count), len), None)
    return [] if chunk is None else chunk.raw


class _Recoded(io.RawIOBase):
    """UTF-16 text, with its mark, as UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._ready:
            read = self._file.read(CHUNK)
            try:
                self._ready = self._decoder.decode(read, final=not read).encode("utf-8")
            except UnicodeError as error:
                raise ValueError(f"damaged UTF-16 text ({error})") from None
            if not read:
                break
        count = min(len(into), len(self._ready))
        into[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def as_utf8(file: Any) -> IO[bytes]:
    """A file that was opened; one of UTF-16, as spreadsheets write "Unicode text", as UTF-8."""
    peek = getattr(file, "peek", None)
    if peek is None or peek(2)[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return file
    return io.BufferedReader(_Recoded(file))


def lines_of(file: IO[bytes], max_line: int) -> Iterator[bytes]:
    """The lines, each without its end; ``TOO_LONG`` for one over the limit, of which no more is held.

    Raises ``ValueError`` for one of which more than ``ENDLESS`` bytes were passed over: it may have no end.
    """
    for number in itertools.count(1):
        line = file.readline(max_line + 1)
        if not line:
            return
        if len(line) > max_line and not line.endswith(b"\n"):
            for _ in range(1 + ENDLESS // max_line):
                rest = file.readline(max_line)
                if not rest or rest.endswith(b"\n"):
                    break
            else:
                raise ValueError(
                    f"line {number} has more than {ENDLESS:,} bytes and no line break; expected one tree per line"
                )
            yield TOO_LONG
        else:
            yield line.rstrip(b"\r\n")


def check_length(raw: Any, max_line: int) -> None:
    """``ValueError`` for the mark of a line or a record over the limit."""
    if raw == TOO_LONG:
        raise ValueError(f"longer than {max_line:,} bytes, the limit (--max-line)")


def decode(raw: bytes, max_line: int) -> str:
    """UTF-8 bytes as text. Raises ``ValueError`` for others, and for a line over the limit."""
    check_length(raw, max_line)
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{raw[error.start]:02x} in column {error.start + 1} is not UTF-8") from None


@dataclass
class Chunk:
    """Some consecutive records of a source, as they are in it."""

    first: int
    """The number of the first line, sentence, row or file, from 1."""
    raw: list[Any]
    """Lines as bytes; sentences of them; rows of a table; paths of source files."""


def cut_into_chunks(items: Iterable[Any], size: Callable[[Any], int], first: int = 1) -> Iterator[Chunk]:
    """Items in chunks of about ``CHUNK`` bytes."""
    chunk = Chunk(first, [])
    bytes_held = 0
    for item in items:
        chunk.raw.append(item)
        bytes_held += size(item) + 1
        if bytes_held >= CHUNK:
            yield chunk
            chunk = Chunk(chunk.first + len(chunk.raw), [])
            bytes_held = 0
    if chunk.raw:
        yield chunk


def kind_of(path: str | Path) -> str:
    """The suffix in lower case, of a compressed file that of what is in it: ``.tsv`` for ``trees.tsv.gz``."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()


def files_of(path: Path, suffixes: Sequence[str]) -> Iterator[Path]:
    """The file itself; of a folder all files with one of the suffixes, by name, and what is below it."""
    if path.is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name not in PASSED_OVER and not entry.is_symlink():
                yield from files_of(entry, suffixes)
        elif kind_of(entry) in suffixes and entry.is_file():  # no pipe, which would never end
            yield entry


def kinds_in(path: Path) -> str:
    """The other files of a folder, for a message: ``3 .txt, 1 .md``."""
    counts = Counter(entry.suffix or entry.name for entry in path.rglob("*") if entry.is_file())
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common(MAX_NAMED_FILES)) or "nothing"
