"""Python source files, one or a folder of them: each is a tree, or each of its functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Self

from dgltree.datasets.formats.chunks import Chunk, cut
from dgltree.datasets.formats.format import Bad, Example, Format, printable
from dgltree.datasets.formats.source import Source
from dgltree.datasets.reading import Reading
from dgltree.read.python import iter_functions, read_python

PASSED_OVER = {"site-packages", "__pycache__", "node_modules"}
"""Folders of a folder of source files that are no part of it, besides hidden ones."""


@dataclass
class PythonSources(Format):
    """The label of a file is the folder, below the given one, that it stands in; nothing is run."""

    suffixes = (".py",)
    folders = True

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for a pipe, and for a folder without Python files."""
        if source.stream is not None:
            raise ValueError(f"{source.path}: a pipe; Python sources are read from files and folders")
        if next(_source_files(Path(source.path)), None) is None:
            raise ValueError(f"{source.path}: no Python files (.py) in this folder")
        return cls(source, reading)

    def contents(self) -> Iterator[tuple[str, Path]]:
        """By their paths, which the labels follow from."""
        for path in _source_files(Path(self.source.path)):
            yield str(path), path

    def chunks(self) -> Iterator[Chunk]:
        """Some files at a time."""
        return cut(_source_files(Path(self.source.path)), lambda path: path.stat().st_size)

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        root = Path(self.source.path)
        for number, path in enumerate(chunk.raw, chunk.first):
            name = path.relative_to(root) if path != root else Path(path.name)
            label = name.parts[0] if len(name.parts) > 1 else None
            try:
                printable(str(name), "the name of the file")
                text = self._text(path)
                if self.reading.unit == "file":
                    yield Example(number, (read_python(text),), label, None, str(name))
                else:
                    for function, line, tree in iter_functions(text):
                        yield Example(number, (tree,), label, None, f"{name}:{line}:{function}")
            except (ValueError, OSError) as error:
                yield Bad(number, f"{name}: {error}")

    def _text(self, path: Path) -> str:
        """The text in the encoding that a file declares, UTF-8 unless it does."""
        limit = self.reading.max_line
        if path.stat().st_size > limit:
            raise ValueError(f"longer than {limit:,} bytes, the limit (--max-line)")
        try:
            return decode_source(path.read_bytes())
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise ValueError(f"not in the encoding that it declares, or else UTF-8: {error}") from None


def _source_files(path: Path) -> Iterator[Path]:
    """Python files, by name; of a folder all below it."""
    if path.is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name not in PASSED_OVER and not entry.is_symlink():
                yield from _source_files(entry)
        elif entry.suffix == ".py" and entry.is_file():  # no pipe, which would never end
            yield entry
