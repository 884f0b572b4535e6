"""Files of source code, one or a folder of them: each is a tree, or several."""

import codecs
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dgltree.datasets.formats.format import Bad, Example, Format
from dgltree.datasets.formats.source import Chunk, Source, cut_into_chunks, files_of
from dgltree.datasets.settings import Reading, printable
from dgltree.trees.tree import Tree

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""First bytes that say the encoding, and its name."""
SHOWN = 12
"""Lines of a text in a list."""


@dataclass
class SourceFiles(Format):
    """A file is a tree, or with ``unit`` each of its functions. Its label is its folder below the given one."""

    folders = True

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for a pipe and for a compressed file."""
        if source.stream is not None:
            raise ValueError(f"{source.path}: a pipe; source code is read from files and folders")
        if source.compressed:
            raise ValueError(f"{source.path}: a compressed file; source code is read unpacked")
        return cls(source, reading)

    def contents(self) -> Iterator[tuple[str, Path]]:
        """Yield the files with their paths, from which the labels follow."""
        for path in files_of(Path(self.source.path), self.suffixes):
            yield str(path), path

    def chunks(self) -> Iterator[Chunk]:
        """Some files at a time."""
        return cut_into_chunks(files_of(Path(self.source.path), self.suffixes), lambda path: path.stat().st_size)

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        for path in chunk.raw:
            file = self._below(path)
            try:
                printable(file or path.name, "the name of the file")
                yield from self.of_file(file, path.name, self._text(path))
            except ValueError as error:
                yield Bad(0, str(error), file, split=self.split_of({}, file))
            except OSError as error:  # whose own text repeats the path
                yield Bad(0, error.strerror or str(error), file, split=self.split_of({}, file))

    def texts(self) -> Iterator[tuple[str, int, list[str]]]:
        """The definitions that begin at each line of a file, each a possible example."""
        for chunk in self.chunks():
            for path in chunk.raw:
                lines = self._text(path).splitlines()
                for first in range(len(lines)):
                    yield self._below(path), first + 1, ["\n".join(lines[first : first + SHOWN])]

    def _below(self, path: Path) -> str:
        root = Path(self.source.path)
        return str(path.relative_to(root)) if path != root else ""

    @property
    def column_names(self) -> tuple[str, ...]:
        return "id", "function", "label"

    def of_file(self, file: str, name: str, text: str) -> Iterator[Example]:
        """The examples of a file. Raises ``ValueError`` for one that cannot be read.

        Args:
            file: its path below the folder that was given; empty if the file itself was.
            name: of the file alone.
            text: what is in it.
        """
        whole = self.reading.unit == "file"
        folder = self._place(file).get("folder")
        for function, line, tree in [("", 1, self.whole(text))] if whole else self.functions(text):
            own = (file or name) if whole else f"{file or name}:{line}:{function}"
            fields = {"id": own, "function": function, self.reading.label: folder}
            label, split, _, group, features = self.said(fields, file)
            yield Example(line, (tree,), label, split, own, group, file, features)

    @abstractmethod
    def whole(self, text: str) -> Tree:
        """The tree of a file. Raises ``ValueError`` for one that cannot be read."""

    @abstractmethod
    def functions(self, text: str) -> Iterator[tuple[str, int, Tree]]:
        """The name, the line and the tree of each function of a file; errors as in :meth:`whole`."""

    @abstractmethod
    def decoded(self, data: bytes) -> str:
        """The text of a file. Raises ``ValueError`` for bytes that are none."""

    def _text(self, path: Path) -> str:
        limit = self.reading.max_line
        if path.stat().st_size > limit:
            raise ValueError(f"longer than {limit:,} bytes, the limit (--max-line)")
        return self.decoded(path.read_bytes())


def marked_encoding(data: bytes) -> str | None:
    """The name of the encoding that a file's first bytes say; None where they say none."""
    for mark, name in MARKS:
        if data.startswith(mark):
            return name
    return None
