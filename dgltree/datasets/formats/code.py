"""Source files of C, C++, Java and JavaScript, one or a folder of them. Needs tree-sitter (the extra ``code``)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dgltree.datasets.formats.source import Source
from dgltree.datasets.formats.source_files import SourceFiles, marked_encoding
from dgltree.datasets.settings import Reading
from dgltree.read.code import check_language, iter_functions, read_code
from dgltree.trees.tree import Tree


@dataclass
class CodeSources(SourceFiles):
    """Broken code included."""

    language: ClassVar[str]
    """In ``dgltree.read.code.LANGUAGES``, and the notation."""

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises as :meth:`SourceFiles.open`, and ``ModuleNotFoundError`` here, before processes read the files."""
        check_language(cls.language)
        return super().open(source, replace(reading, notation=cls.language))

    def whole(self, text: str) -> Tree:
        return read_code(text, self.language)

    def functions(self, text: str) -> Iterator[tuple[str, int, Tree]]:
        return iter_functions(text, self.language)

    def decoded(self, data: bytes) -> str:
        """Decode UTF-8, or UTF-16 with its mark; other bytes, as in comments of older files, are read as U+FFFD."""
        return data.decode(marked_encoding(data) or "utf-8", errors="replace")


class CSources(CodeSources):
    """C."""

    suffixes = (".c",)
    language = "c"


class CppSources(CodeSources):
    """C++."""

    suffixes = (".cpp", ".cc", ".hpp", ".h")
    shared = (".h",)
    language = "cpp"


class JavaSources(CodeSources):
    """Java."""

    suffixes = (".java",)
    language = "java"


class JavaScriptSources(CodeSources):
    """JavaScript."""

    suffixes = (".js",)
    language = "javascript"
