"""Files of phylogenies in Newick: trees over any number of lines, each up to its ``;``."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from dgltree.datasets.formats.blocks import OVERLONG_RECORD, LineBlock, TreeBlocks
from dgltree.datasets.formats.source import Source
from dgltree.datasets.settings import Reading

_MARK = re.compile(rb"['\[\];]")
_COUNTS = re.compile(rb"\s*\d+(\s+\d+)?\s*")
"""The line that PHYLIP and PAML begin a file with: how many species and trees there are."""


@dataclass
class NewickBlocks(TreeBlocks):
    """A tree ends with a ``;`` that is in no quotes and no comment; without one, where the next line
    opens a bracket after all brackets were closed.
    """

    suffixes = (".nwk", ".newick", ".nw", ".tre", ".nhx", ".dnd")

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        """Where the notation is named, whatever the file is called."""
        return reading.notation == "newick"

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """The format with the notation, if no other one was named."""
        return cls(source, replace(reading, notation=reading.notation or "newick"))

    @staticmethod
    def blocks(lines: Iterable[bytes], limit: int) -> Iterator[LineBlock]:
        tree: list[bytes] = []
        first = 1
        length = 0
        depth = 0
        quoted = False
        comments = 0
        ended = False
        for number, line in enumerate(lines, 1):
            if not tree and (not line.strip() or (not ended and _COUNTS.fullmatch(line))):
                continue
            if tree and not (depth or quoted or comments) and line.lstrip().startswith(b"("):  # no ; ends the last one
                yield LineBlock(first, tree)
                tree = []
                length = 0
            parts, quoted, comments = _cut(line, quoted, comments)
            for place, part in enumerate(parts):
                if part.strip() or tree:
                    first = first if tree else number
                    length += len(part) + 1
                    depth = (depth if tree else 0) + part.count(b"(") - part.count(b")")
                    if length <= limit:
                        tree.append(part)
                    else:
                        tree = [OVERLONG_RECORD]
                if place < len(parts) - 1:
                    ended = True
                    yield LineBlock(first, tree)
                    tree = []
                    length = 0
        if tree:
            yield LineBlock(first, tree)


def _cut(line: bytes, quoted: bool, comments: int) -> tuple[list[bytes], bool, int]:
    """The line cut after each ``;`` that ends a tree, what is left last, and whether quotes and comments are open."""
    parts = []
    start = 0
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
