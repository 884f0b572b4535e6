"""Newick, the notation of phylogenies: ``((A:0.1,B:0.2)inner:0.5,'Homo sapiens');``.

As the authors of PHYLIP wrote it down (https://phylipweb.github.io/phylip/newick_doc.html, 1990). A leaf is a
``taxon``, an inner node a ``clade``; their names are tokens. A length is the last child of its node, a leaf ``length``,
so that it is read as a number. ``_`` in a name without quotes is a blank, ``''`` within quotes a quote. Comments in
``[]``, which may contain others, are left out.
"""

import re
from collections.abc import Iterator

from dgltree.read.text import error_at
from dgltree.trees.tree import Tree

_PART = re.compile(r"\s+|(?P<quoted>'(?:[^']|'')*')|(?P<mark>[(),:;])|(?P<name>[^\s()\[\]',:;]+)|(?P<other>.)")
_BRACKET = re.compile(r"[\[\]]")
_LENGTH = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NEWICK = re.compile(
    r"(?=[^;]*,)(?!.*[^(,;\s\]]\s*\()\s*(?:\[[^\]]*\]\s*)*\((?:.*\)[^()]*;\s*$|[^\s+*^/=]*\)[\w.:\-]*\s*$)",
    re.DOTALL | re.ASCII,
)
"""Commas, no name before a bracket, as a function's would be, and no blanks if no ``;`` ends the tree."""


class _Node:
    """A node that is being read."""

    def __init__(self, children: list[Tree] | None = None) -> None:
        self.children = children
        self.name = ""
        self.length = ""

    def tree(self) -> Tree:
        below = [*(self.children or []), *([Tree("length", token=self.length)] if self.length else [])]
        return Tree("taxon" if self.children is None else "clade", below, token=self.name or None)


def is_newick(text: str) -> bool:
    """Whether a text has the marks of Newick."""
    return _NEWICK.match(text) is not None


def read_newick(text: str) -> Tree:
    """The tree of a text, with or without ``;`` at its end. ``ValueError`` with line and column for another text."""
    above: list[tuple[int, list[Tree]]] = []  # the place of each open bracket, and what is finished in it
    node = _Node()
    before = ""
    for place, found, name in _parts(text):
        if before == ";":
            raise error_at(text, place, f"found {found!r:.40} after the end; expected a single tree")
        if name is not None and before == ":":
            if not _LENGTH.fullmatch(found):
                raise error_at(text, place, f"the length {found!r:.40} is not a number")
            node.length = found
        elif before == ":":
            raise error_at(text, place, f"found {found!r}; expected a length")
        elif name is not None and not node.name and not node.length:
            node.name = name
        elif name is not None:
            raise error_at(text, place, f"found {found!r:.40}; expected ',' or ')'; put a name with spaces in quotes")
        elif found == "(" and (node.children is not None or node.name or node.length):
            raise error_at(text, place, "found '('; expected ',' or ')'; write the name of a clade after its brackets")
        elif found == "(":
            above.append((place, []))
        elif found == ":" and node.length:
            raise error_at(text, place, "a second length")
        elif found in ",)" and not above:
            raise error_at(text, place, f"found {found!r} outside all brackets")
        elif found in ",)":
            above[-1][1].append(node.tree())
            node = _Node(above.pop()[1]) if found == ")" else _Node()
        before = found if name is None else ""
    if above:
        raise error_at(text, above[-1][0], "this '(' is not closed")
    if before == ":" or (node.children is None and not node.name):
        raise error_at(
            text, len(text.rstrip()), "the text ends; expected " + ("a length" if before == ":" else "a tree")
        )
    return node.tree()


def _parts(text: str) -> Iterator[tuple[int, str, str | None]]:
    """The place and the text of each part, and the name that it is, None for a mark."""
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        assert match is not None
        if match["other"] == "[":
            place = _end_of_comment(text, place)
            continue
        if match["other"]:
            why = "this quote is not closed" if match[0] == "'" else f"found {match[0]!r} outside a comment"
            raise error_at(text, place, why)
        if match["quoted"]:
            yield place, match[0], match[0][1:-1].replace("''", "'")
        elif match["name"]:
            yield place, match[0], match[0].replace("_", " ")
        elif match["mark"]:
            yield place, match[0], None
        place = match.end()


def _end_of_comment(text: str, start: int) -> int:
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] == "[" else -1
        if not depth:
            return match.end()
    raise error_at(text, start, "this comment is not closed")
