"""Trees in brackets that go over several lines: the files of the Penn Treebank (``.mrg``), indented S-expressions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dgltree.datasets.formats.blocks import OVERLONG_RECORD, LineBlock, TreeBlocks
from dgltree.datasets.formats.records import SAMPLE, bare_label
from dgltree.datasets.formats.source import Source
from dgltree.datasets.settings import Reading
from dgltree.trees.tree import Tree

BROKEN = b"\0broken"  # in place of trees that may be parts of one, with blank lines in it
HELD = 100
"""Trees after one without an end that are held back, until it is clear that they are none of its parts."""


@dataclass
class BracketBlocks(TreeBlocks):
    """A tree ends where its brackets are closed, or where after a blank line the next one opens in the first column.

    Where a bracket too many is closed soon after that, the blank line was inside of a tree: its parts are not trees.
    """

    suffixes = (".mrg", ".ptb", ".penn", ".prd", ".parse")

    @classmethod
    def fits(cls, source: Source, reading: Reading) -> bool:
        """Whether the first lines open brackets, and most of them do not close all that they open."""
        lines = [line for line in source.first(SAMPLE) if line.strip()]
        if not lines or not lines[0].lstrip().startswith(b"("):
            return False
        return 2 * sum(_opened(line) == 0 for line in lines) < len(lines)

    @staticmethod
    def blocks(lines: Iterable[bytes], limit: int) -> Iterator[LineBlock]:
        held: list[LineBlock] = []
        for block, depth in _cut(lines, limit):
            if held and depth < 0:
                yield LineBlock(held[0].first, [BROKEN])
                held = []
            elif held or depth > 0:
                held.append(block)
                if len(held) > HELD:
                    yield from held
                    held = []
            else:
                yield block
        yield from held

    def fields(self, raw: LineBlock) -> Mapping[str, Any]:
        if raw.lines == [BROKEN]:
            raise ValueError("an empty line inside of a tree, or a tree without its end; expected complete trees")
        return super().fields(raw)

    def labelled(self, trees: tuple[Tree, ...], label: str | None) -> tuple[tuple[Tree, ...], str | None]:
        return bare_label(trees, label, self.reading)


def _cut(lines: Iterable[bytes], limit: int) -> Iterator[tuple[LineBlock, int]]:
    """The lines of each tree, and how many brackets are open at its end."""
    tree: list[bytes] = []
    first = 1
    length = -1
    depth = 0
    blank = False
    for number, line in enumerate(lines, 1):
        if tree and blank and line.startswith(b"("):  # the tree before has no end
            yield LineBlock(first, tree), depth
            tree = []
            length = -1
            depth = 0
        blank = not line.strip()
        if blank:
            continue
        first = first if tree else number
        length += len(line) + 1
        depth += _opened(line)
        tree = [OVERLONG_RECORD] if length > limit else [*tree, line]
        if depth <= 0:
            yield LineBlock(first, tree), depth
            tree = []
            length = -1
            depth = 0
    if tree:
        yield LineBlock(first, tree), depth


def _opened(line: bytes) -> int:
    """How many more brackets a line opens than it closes."""
    return line.count(b"(") - line.count(b")")
