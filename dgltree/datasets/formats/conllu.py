"""CoNLL-U, dependency treebanks: a word a line, a sentence up to a blank line. See :mod:`dgltree.read.conllu`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from dgltree.datasets.formats.chunks import Chunk, cut
from dgltree.datasets.formats.format import Bad, Example, Format, text_of
from dgltree.datasets.formats.source import Source, decoded
from dgltree.datasets.reading import Reading
from dgltree.read.conllu import COLUMNS, iter_conllu


@dataclass
class CoNLLU(Format):
    """``1<tab>cats<tab>...`` in ten columns; comments ``# label = ...`` are what other formats have columns for."""

    suffixes = (".conllu",)

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        columns = line.split("\t")
        if columns[0] == "1" and len(columns) == len(COLUMNS):
            return True
        return line.startswith("# ") and len(columns) == 1 and not reading.columns

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for an empty source."""
        source.title()
        return cls(source, reading)

    def chunks(self) -> Iterator[Chunk]:
        """Whole sentences."""
        return cut(self.source.lines(), len, ends=lambda line: not line.strip())

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        reading = self.reading
        lines, broken = self._lines(chunk)
        for line, comments, tree in iter_conllu(lines, reading.node, reading.word, chunk.first):
            if isinstance(tree, ValueError):
                at = re.match(r"line (\d+):", str(tree))
                yield Bad(line, broken.get(int(at[1]), str(tree)) if at else str(tree))
                continue
            label, split, name = (text_of(comments, column) for column in (reading.label, reading.split, "sent_id"))
            yield Example(line, (tree,), label, split, name)

    def _lines(self, chunk: Chunk) -> tuple[list[str], dict[int, str]]:
        """The lines as texts, and what is wrong with those that are none, by their numbers."""
        lines: list[str] = []
        broken: dict[int, str] = {}
        limit = self.reading.max_line
        for number, raw in enumerate(chunk.raw, chunk.first):
            try:
                lines.append(raw.decode("utf-8", "replace") if raw.startswith(b"#") else decoded(raw, limit))
            except ValueError as error:
                lines.append("?")  # no line of a sentence, which is then bad
                broken[number] = f"line {number}: {error}"
        return lines, broken
