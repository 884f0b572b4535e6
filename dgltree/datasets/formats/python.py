"""Python source files, one or a folder of them: each is a tree, or each of its functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Self

from dgltree.datasets.formats.chunks import Chunk, cut
from dgltree.datasets.formats.folders import files_of
from dgltree.datasets.formats.format import Bad, Example, Format
from dgltree.datasets.formats.source import Source
from dgltree.datasets.settings.field_texts import printable
from dgltree.datasets.settings.reading import Reading
from dgltree.read.python import iter_functions, read_python


@dataclass
class PythonSources(Format):
    """The label of a file is the folder, below the given one, that it stands in; nothing is run."""

    suffixes = (".py",)
    folders = True

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for a pipe and for a compressed file."""
        if source.stream is not None:
            raise ValueError(f"{source.path}: a pipe; Python sources are read from files and folders")
        if source.compressed:
            raise ValueError(f"{source.path}: a compressed file; Python sources are read unpacked")
        return cls(source, reading)

    @property
    def column_names(self) -> tuple[str, ...]:
        return "id", "function", "label"

    def contents(self) -> Iterator[tuple[str, Path]]:
        """By their paths, which the labels follow from."""
        for path in files_of(Path(self.source.path), self.suffixes):
            yield str(path), path

    def chunks(self) -> Iterator[Chunk]:
        """Some files at a time."""
        return cut(files_of(Path(self.source.path), self.suffixes), lambda path: path.stat().st_size)

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        root = Path(self.source.path)
        for path in chunk.raw:
            file = str(path.relative_to(root)) if path != root else ""
            try:
                printable(file or path.name, "the name of the file")
                yield from self._of_file(file, path.name, self._text(path))
            except (ValueError, OSError) as error:
                yield Bad(0, str(error), file)

    def _of_file(self, file: str, name: str, text: str) -> Iterator[Example]:
        whole, folder = self.reading.unit == "file", self._place(file).get("folder")
        for function, line, tree in [("", 1, read_python(text))] if whole else iter_functions(text):
            own = (file or name) if whole else f"{file or name}:{line}:{function}"
            fields = {"id": own, "function": function, self.reading.label: folder}
            label, split, _, group = self.said(fields, file)
            yield Example(line, (tree,), label, split, own, group, file)

    def _text(self, path: Path) -> str:
        """The text in the encoding that a file declares, UTF-8 unless it does."""
        limit = self.reading.max_line
        if path.stat().st_size > limit:
            raise ValueError(f"longer than {limit:,} bytes, the limit (--max-line)")
        try:
            return decode_source(path.read_bytes())
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise ValueError(f"not in the encoding that it declares, or else UTF-8: {error}") from None
