"""CoNLL-U, dependency treebanks: a word a line, a sentence up to a blank line. See :mod:`dgltree.read.conllu`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from dgltree.datasets.formats.chunks import Chunk, cut
from dgltree.datasets.formats.format import Bad, Example, Format, text_of
from dgltree.datasets.formats.source import Source, decoded
from dgltree.datasets.reading import Reading
from dgltree.read.conllu import COLUMNS, iter_conllu

LONG_SENTENCE = b"\0long"  # stands for a sentence over the limit, of which no more is held


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
        """Sentences, each with the number of its first line."""
        return cut(_sentences(self.source.lines(), self.reading.max_line), lambda sentence: sum(map(len, sentence[1])))

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        for first, raw in chunk.raw:
            yield from self._sentence(first, raw)

    def _sentence(self, first: int, raw: list[bytes]) -> Iterator[Example | Bad]:
        reading = self.reading
        lines, broken = self._lines(first, raw)
        for line, comments, tree in iter_conllu(lines, reading.node, reading.word, first):
            if isinstance(tree, ValueError):
                at = re.match(r"line (\d+):", str(tree))
                yield Bad(line, broken.get(int(at[1]), str(tree)) if at else str(tree))
                continue
            try:
                label, split, name = (text_of(comments, column) for column in (reading.label, reading.split, "sent_id"))
            except ValueError as error:
                yield Bad(line, str(error))
                continue
            yield Example(line, (tree,), label, split, name)

    def _lines(self, first: int, raw: list[bytes]) -> tuple[list[str], dict[int, str]]:
        """The lines as texts, and what is wrong with those that are none, by their numbers."""
        lines: list[str] = []
        broken: dict[int, str] = {}
        limit = self.reading.max_line
        for number, line in enumerate(raw, first):
            try:
                if line == LONG_SENTENCE:
                    raise ValueError(f"a sentence of more than {limit:,} bytes, the limit (--max-line)")
                lines.append(line.decode("utf-8", "replace") if line.startswith(b"#") else decoded(line, limit))
            except ValueError as error:
                lines.append("?")  # no line of a sentence, which is then bad
                broken[number] = f"line {number}: {error}"
        return lines, broken


def _sentences(lines: Iterable[bytes], limit: int) -> Iterator[tuple[int, list[bytes]]]:
    """The lines between blank ones, with the number of the first; ``LONG_SENTENCE`` for more bytes than the limit."""
    sentence: list[bytes] = []
    first, length = 1, -1
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if sentence:
                yield first, sentence
            first, sentence, length = number + 1, [], -1
            continue
        length += len(line) + 1
        if length <= limit:
            sentence.append(line)
        else:
            sentence = [LONG_SENTENCE]
    if sentence:
        yield first, sentence
