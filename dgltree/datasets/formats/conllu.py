"""CoNLL-U, dependency treebanks: a word per line, a sentence up to a blank line. See :mod:`dgltree.read.conllu`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dgltree.datasets.formats.blocks import OVERLONG_RECORD, Blocks, LineBlock
from dgltree.datasets.formats.format import Bad, Example
from dgltree.datasets.formats.source import Chunk, decode
from dgltree.datasets.settings import Reading
from dgltree.read.conllu import COLUMNS, iter_conllu


@dataclass
class CoNLLU(Blocks):
    """``1<tab>cats<tab>...`` in ten columns; comments ``# label = ...`` are what other formats have columns for."""

    suffixes = (".conllu", ".conll")

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        columns = line.split("\t")
        if columns[0] == "1" and len(columns) == len(COLUMNS):
            return True
        return line.startswith("# ") and len(columns) == 1 and not reading.columns

    @staticmethod
    def blocks(lines: Iterable[bytes], limit: int) -> Iterator[LineBlock]:
        """Sentences: the lines between blank ones."""
        sentence: list[bytes] = []
        first = 1
        length = -1
        for number, line in enumerate(lines, 1):
            if not line.strip():
                if sentence:
                    yield LineBlock(first, sentence)
                first = number + 1
                sentence = []
                length = -1
                continue
            length += len(line) + 1
            if length <= limit:
                sentence.append(line)
            else:
                sentence = [OVERLONG_RECORD]
        if sentence:
            yield LineBlock(first, sentence)

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        for block in chunk.raw:
            yield from self._sentence(block)

    def texts(self) -> Iterator[tuple[str, int, list[str]]]:
        """The sentences, by their comments ``text`` or else by their words."""
        for chunk in self.chunks():
            for block in chunk.raw:
                lines, _ = self._lines(block)
                said = [line.partition("=")[2].strip() for line in lines if re.match(r"#\s*text\s*=", line)]
                words = [line.split("\t")[1] for line in lines if re.match(r"[0-9]+\t", line)]
                yield block.file, block.first, [said[0] if said else " ".join(words)]

    def _sentence(self, block: LineBlock) -> Iterator[Example | Bad]:
        reading = self.reading
        lines, broken = self._lines(block)
        for line, comments, tree in iter_conllu(lines, reading.node, reading.word, block.first):
            own_id = reading.id != Reading.id and reading.id in comments
            id_column = None if own_id else "sent_id"
            if isinstance(tree, ValueError):
                why = _in_sentence(line, str(tree), broken)
                yield Bad(line, why, block.file, self.id_of(comments, id_column), self.split_of(comments, block.file))
                continue
            try:
                label, split, name, group, features = self.said(comments, block.file, id_column)
            except ValueError as error:
                split = self.split_of(comments, block.file)
                yield Bad(line, str(error), block.file, self.id_of(comments, id_column), split)
                continue
            yield Example(line, (tree,), label, split, name, group, block.file, features)

    def _lines(self, block: LineBlock) -> tuple[list[str], dict[int, str]]:
        """The lines as texts, and what is wrong with those that are none, by their numbers."""
        lines: list[str] = []
        broken: dict[int, str] = {}
        limit = self.reading.max_line
        for number, line in enumerate(block.lines, block.first):
            try:
                if line == OVERLONG_RECORD:
                    raise ValueError(f"a sentence of more than {limit:,} bytes, the limit (--max-line)")
                lines.append(line.decode("utf-8", "replace") if line.startswith(b"#") else decode(line, limit))
            except ValueError as error:
                lines.append("?")  # no line of a sentence, which is then bad
                broken[number] = str(error)
        return lines, broken


def _in_sentence(first: int, error: str, broken: Mapping[int, str]) -> str:
    """The fault of a sentence, with the line if it is not the first one."""
    at = re.match(r"line (\d+): ", error)
    if at is None:
        return error
    number = int(at[1])
    message = broken.get(number, error[at.end() :])
    return message if number == first else f"in line {number}: {message}"
