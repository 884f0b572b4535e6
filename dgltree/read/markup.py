"""XML and HTML as trees of elements; XML by the standard library's expat, HTML by lxml (the extra ``markup``).

An element is named by its tag. Its children are its attributes, each a leaf ``@name`` with the value as token, and
after them the elements and texts in it, a text a leaf ``#text`` with single blanks in place of white space. An element
that holds a text and nothing else has it as its token: ``<p class="a">one <b>two</b></p>`` is ::

    p(@class a, #text one, b two)

White space alone, comments and processing instructions are left out. Names have the prefix that they are written with.
Nothing is fetched, and entities of the text's own are refused: they can be a billion times as long as the text.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from dgltree.read.python import TOKEN_LIMIT
from dgltree.read.text import Row, trees_of
from dgltree.trees.tree import Tree

ATTRIBUTE, TEXT = "@", "#text"
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_ELEMENT = re.compile(r"\s*<[^\W\d][\w.:-]*[\s/>]|\s*<(?:\?xml|!DOCTYPE|!--)", re.IGNORECASE)


class _Builder:
    """Takes what a parser finds in the order of the text."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        """Function, token and number of children of each node, in preorder."""
        self._open: list[int] = []
        self._text: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._flush()
        self._add(tag, None)
        self._open.append(len(self.rows) - 1)
        for name, value in attributes.items():
            self._add(ATTRIBUTE + name, " ".join((value or "").split())[:TOKEN_LIMIT] or None)

    def end(self, tag: str) -> None:
        self._flush()
        row = self.rows[self._open.pop()]
        if row[2] == 1 and self.rows[-1][0] == TEXT and self.rows[-2] is row:
            row[1:] = [self.rows.pop()[1], 0]

    def data(self, text: str) -> None:
        self._text.append(text)

    def close(self) -> list[Row]:
        return [(function, token, count) for function, token, count in self.rows]

    def _flush(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text.clear()
        if text and self._open:
            self._add(TEXT, text[:TOKEN_LIMIT])

    def _add(self, function: str, token: str | None) -> None:
        if self._open:
            self.rows[self._open[-1]][2] += 1
        self.rows.append([function, token, 0])


def read_xml(text: str) -> Tree:
    """The tree of an XML document or element.

    Raises ``ValueError`` with line and column for what is not well-formed, and for entities that the text declares.
    """
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data

    def refuse(name: str, *_: Any) -> None:
        raise ValueError(
            f"line {parser.CurrentLineNumber}: the text declares the entity {name!r:.60}, which is not allowed; "
            "remove this declaration"
        )

    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(_DECLARATION.sub("", text, count=1).encode(), True)
    except expat.ExpatError as error:
        raise ValueError(
            f"line {error.lineno}, column {error.offset + 1}: {expat.ErrorString(error.code)}; expected XML"
        ) from None
    except UnicodeEncodeError as error:
        raise ValueError(f"found {text[error.start]!r}; expected text that UTF-8 can encode") from None
    return trees_of(builder.close())[0]


def is_xml(text: str) -> bool:
    """Whether a text begins as XML does."""
    return _ELEMENT.match(text) is not None


def read_html(text: str) -> Tree:
    """The tree of an HTML page or a part of one, as browsers complete it: below ``html``, with what is not closed.

    Raises ``ValueError`` for a text without an element, and ``ModuleNotFoundError`` if lxml is not installed.
    """
    from lxml import etree

    if not _ELEMENT.search(text):
        raise ValueError("found no element; expected HTML, as in <p>one <b>two</b></p>")
    builder = _Builder()
    parser = etree.HTMLParser(target=_Target(builder), no_network=True, huge_tree=True)
    try:
        etree.fromstring(_DECLARATION.sub("", text, count=1), parser)
    except (etree.XMLSyntaxError, UnicodeEncodeError, AssertionError) as error:
        raise ValueError(f"{error or 'found no element'}; expected HTML") from None
    if not builder.rows:
        raise ValueError("found no element; expected HTML, as in <p>one <b>two</b></p>")
    return trees_of(builder.close())[0]


class _Target:
    """The object that lxml calls; it passes on all but comments and processing instructions."""

    def __init__(self, builder: _Builder) -> None:
        self.start = builder.start
        self.end = builder.end
        self.data = builder.data

    def close(self) -> None:
        """Nothing is left."""
