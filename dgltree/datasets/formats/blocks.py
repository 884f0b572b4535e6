"""Records of several lines, in one file or in all files of a folder."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dgltree.datasets.formats.format import Format
from dgltree.datasets.formats.records import SAMPLE, PlacedRecord, Records
from dgltree.datasets.formats.source import Chunk, Source, cut_into_chunks, decode, files_of

OVERLONG_RECORD = b"\0long"  # in place of a record over the limit, of which no more is held


class LineBlock(NamedTuple):
    """The lines of a record."""

    first: int
    """The number of the first one, from 1."""
    lines: list[bytes]
    """Each without its end, or only ``LONG``."""
    file: str = ""
    """Path of the file in a folder."""


@dataclass
class Blocks(Format):
    """A format whose records have several lines; its folders hold nothing else that counts."""

    folders = True

    @staticmethod
    @abstractmethod
    def blocks(lines: Iterable[bytes], limit: int) -> Iterator[LineBlock]:
        """The records among the lines of a file, with ``LONG`` for one of more bytes than the limit."""

    def contents(self) -> Iterator[tuple[str, Path]]:
        """Yield the files of a folder with their paths, from which labels may follow."""
        root = Path(self.source.path)
        for path in files_of(root, self.suffixes):
            yield ("" if path == root else str(path.relative_to(root))), path

    def chunks(self) -> Iterator[Chunk]:
        return cut_into_chunks(self._blocks(), lambda block: sum(map(len, block.lines)))

    def _blocks(self) -> Iterator[LineBlock]:
        limit = self.reading.max_line
        if self.source.stream is not None:
            yield from self.blocks(self.source.lines(), limit)
            return
        for name, path in self.contents():
            for block in self.blocks(Source(str(path), limit).lines(), limit):
                yield block._replace(file=name)


@dataclass
class TreeBlocks(Records, Blocks):
    """Each record is a tree and nothing else."""

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.reading.tree,)

    def sample(self) -> list[LineBlock]:
        return next((chunk.raw[:SAMPLE] for chunk in self.chunks()), [])

    def items(self, chunk: Chunk) -> Iterator[PlacedRecord]:
        for block in chunk.raw:
            yield PlacedRecord(block.first, block, block.file)

    def fields(self, raw: LineBlock) -> Mapping[str, Any]:
        limit = self.reading.max_line
        if raw.lines == [OVERLONG_RECORD]:
            raise ValueError(f"a tree of more than {limit:,} bytes, the limit (--max-line)")
        return {self.reading.tree: "\n".join(decode(line, limit) for line in raw.lines)}
