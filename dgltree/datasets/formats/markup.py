"""XML and HTML files, one or a folder of them: each is a tree."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dgltree.datasets.formats.source import Source
from dgltree.datasets.formats.source_files import SourceFiles, marked_encoding
from dgltree.datasets.settings import Reading
from dgltree.read.markup import is_xml, read_html, read_xml
from dgltree.trees.tree import Tree

DECLARED = re.compile(
    rb"""<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)|<meta\s[^>]*charset\s*=\s*["']?([\w.:-]+)""", re.I
)
PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.I)
DECLARATION = re.compile(r"\s*<\?xml\b")
SAMPLE = 10
"""Lines in which the second one that is not blank is looked for."""
BEGINNING = 1024
"""Bytes of a file in which its encoding is declared."""


@dataclass
class XMLSources(SourceFiles):
    """A document is a tree, whatever is in it."""

    suffixes = (".xml", ".xhtml")
    aside = True

    @classmethod
    def fits(cls, source: Source, reading: Reading) -> bool:
        """Whether it begins with a declaration, or an element that continues in the next lines."""
        title = source.title()
        rest = [line for line in source.first(SAMPLE)[1:] if line.strip()]
        if not is_xml(title) or PAGE.match(title) or not rest:
            return False
        begun = (b"<?xml", title.encode()) if DECLARATION.match(title) else (title.encode(),)
        return not rest[0].lstrip().startswith(begun) and not _is_whole(title)

    def whole(self, text: str) -> Tree:
        return read_xml(text)

    def functions(self, text: str) -> Iterator[tuple[str, int, Tree]]:
        raise ValueError("markup has no functions; expected --unit file")

    def decoded(self, data: bytes) -> str:
        """In the encoding that a file declares, UTF-8 unless it does."""
        name = marked_encoding(data)
        if name is None and (match := DECLARED.search(data[:BEGINNING])):
            name = (match[1] or match[2]).decode("ascii")
        try:
            return data.decode(name or "utf-8")
        except (UnicodeDecodeError, LookupError) as error:
            raise ValueError(f"not in the declared encoding (UTF-8 if none is declared): {error}") from None


@dataclass
class HTMLSources(XMLSources):
    """A page is a tree, as browsers complete it."""

    suffixes = (".html", ".htm")

    @classmethod
    def fits(cls, source: Source, reading: Reading) -> bool:
        """Whether it says that it is a page."""
        return PAGE.match(source.title()) is not None

    def whole(self, text: str) -> Tree:
        return read_html(text)


def _is_whole(text: str) -> bool:
    try:
        read_xml(text)
    except ValueError:
        return False
    return True
