"""Files of phylogenies in Newick: trees over any number of lines, each up to its ``;``."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from dgltree.datasets.formats.blocks import OVERLONG_RECORD, Blocks, LineBlock
from dgltree.datasets.formats.chunks import Chunk
from dgltree.datasets.formats.records import SAMPLE, PlacedRecord, Records
from dgltree.datasets.formats.source import Source, decode
from dgltree.datasets.settings.read_settings import Reading

_MARK = re.compile(rb"['\[\];]")
_COUNTS = re.compile(rb"\s*\d+(\s+\d+)?\s*")
"""The line that PHYLIP and PAML begin a file with: how many species and trees there are."""


@dataclass
class NewickBlocks(Records, Blocks):
    """A tree ends with a ``;`` that is in no quotes and no comment; in a file without one, each line is a tree, or all
    lines are one if the first line is no whole tree.
    """

    suffixes = (".nwk", ".newick", ".nw", ".tre", ".nhx", ".dnd")

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        """Where the notation is named, whatever the file is called."""
        return reading.notation == "newick"

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """With the notation, if no other one was named."""
        return cls(source, replace(reading, notation=reading.notation or "newick"))

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.reading.tree,)

    @staticmethod
    def blocks(lines: Iterable[bytes], limit: int) -> Iterator[LineBlock]:
        tree: list[bytes] = []
        first, length, quoted, comments, ended = 1, 0, False, 0, False
        for number, line in enumerate(lines, 1):
            if not tree and (not line.strip() or (not ended and _COUNTS.fullmatch(line))):
                continue
            (*whole, rest), quoted, comments = _cut(line, quoted, comments)
            for part in whole:
                ended = True
                first = first if tree else number
                yield LineBlock(first, [OVERLONG_RECORD] if length + len(part) > limit else [*tree, part])
                tree, length = [], 0
            if rest.strip() or tree:
                first, length = (first if tree else number), length + len(rest) + 1
                tree = [OVERLONG_RECORD] if length > limit else [*tree, rest]
        if ended or not tree or tree[0].count(b"(") != tree[0].count(b")"):
            yield from [LineBlock(first, tree)] if tree else []
        else:
            yield from (LineBlock(first + k, [line]) for k, line in enumerate(tree) if line.strip())

    def sample(self) -> list[LineBlock]:
        return next((chunk.raw[:SAMPLE] for chunk in self.chunks()), [])

    def items(self, chunk: Chunk) -> Iterator[PlacedRecord]:
        for block in chunk.raw:
            yield PlacedRecord(block.first, block, block.file)

    def fields(self, raw: LineBlock) -> Mapping[str, Any]:
        limit = self.reading.max_line
        if OVERLONG_RECORD in raw.lines:
            raise ValueError(f"a tree of more than {limit:,} bytes, the limit (--max-line)")
        return {self.reading.tree: "\n".join(decode(line, limit) for line in raw.lines)}


def _cut(line: bytes, quoted: bool, comments: int) -> tuple[list[bytes], bool, int]:
    """The line cut after each ``;`` that ends a tree, what is left last, and whether quotes and comments are open."""
    parts, start = [], 0
    for match in _MARK.finditer(line):
        mark = match[0]
        if mark == b"'" and not comments:
            quoted = not quoted  # two of them, a quote in quotes, close and open
        elif mark == b"[" and not quoted:
            comments += 1
        elif mark == b"]" and comments:
            comments -= 1
        elif mark == b";" and not quoted and not comments:
            parts.append(line[start : match.end()])
            start = match.end()
    return [*parts, line[start:]], quoted, comments
