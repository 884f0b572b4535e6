"""Python source files, one or a folder of them: each is a tree, or each of its functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import decode_source

from dgltree.datasets.formats.source_files import SourceFiles
from dgltree.read.python import iter_functions, read_python
from dgltree.trees.tree import Tree


@dataclass
class PythonSources(SourceFiles):
    """Python, in the grammar of the Python that runs."""

    suffixes = (".py",)

    def whole(self, text: str) -> Tree:
        return read_python(text)

    def functions(self, text: str) -> Iterator[tuple[str, int, Tree]]:
        return iter_functions(text)

    def decoded(self, data: bytes) -> str:
        """In the encoding that a file declares, UTF-8 unless it does."""
        try:
            return decode_source(data)
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise ValueError(f"not in the declared encoding (UTF-8 if none is declared): {error}") from None
