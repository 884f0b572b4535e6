"""Common parts of all readers: decoding a file, and errors that say where, on one line that a person can read."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from dgltree.support.refusal import Refusal
from dgltree.trees.tree import Tree, name_of

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that break a line, change what a terminal does, or cannot be printed."""
MAX_MESSAGE_LENGTH = 500
"""Characters of a message: what it quotes may be as long as its file."""

NAMED = 5
"""Names that a line lists."""

MOST_WRITTEN = 10_000_000
"""Nodes of a text: some seconds and a gigabyte."""


def one_line(text: str, longest: int = MAX_MESSAGE_LENGTH) -> str:
    """A text for a person, on one line: control characters are escaped, and the middle of a long text is left out."""
    if len(text) > longest:
        text = f"{text[: longest // 2]} ... {text[-(longest // 2) :]}"
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def first_of(names: Sequence[str]) -> str:
    """The first few of some names for a person, and how many more there are."""
    rest = len(names) - NAMED
    return ", ".join(map(one_line, names[:NAMED])) + (f" and {rest:,} more" if rest > 0 else "")


def error_at(text: str, offset: int, message: str) -> Refusal:
    """A ValueError whose message begins with the line and column (both from 1) of ``offset`` in ``text``."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return Refusal(f"line {line}, column {column}: {one_line(message)}")


def check_unfolded(tree: Tree) -> None:
    """``ValueError`` for a tree whose text would have no end: shared objects are written once for each parent."""
    if tree.size > MOST_WRITTEN:
        raise Refusal(
            f"the tree has {tree.size:,} nodes, counting a shared node once per parent; at most {MOST_WRITTEN:,} "
            "nodes can be written as a string. Use pickle or to_networkx, which keep shared nodes"
        )


def decode(data: bytes, source: str) -> str:
    """UTF-8 bytes as text. Raises ``ValueError`` naming ``source``, line and column of the first other byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        byte = data[error.start]
        where = error_at(before, len(before), f"byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8")
        raise Refusal(f"{source}: {where}") from None


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file; errors as in :func:`decode`."""
    return decode(Path(path).read_bytes(), str(path))


# ---------------------------------------------------------------------------------------------------------------------
# A tree as one line for people, as far as there is room.


WIDTH = 100
"""Characters of a tree that is shown."""


def brief(tree: Tree) -> str:
    """A tree as one line of brackets, as far as it is printed."""
    parts: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack and sum(map(len, parts)) <= WIDTH:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        parts.append(" (" if node.children else " ")
        parts.append(name_of(node))
        if node.children:
            stack.append(")")
            stack.extend(reversed(node.children))
    return "".join(parts).strip() + (" ..." if stack else "")


# ---------------------------------------------------------------------------------------------------------------------
# Nodes in preorder to trees, for readers whose texts say how many children a node has.


Row: TypeAlias = tuple[str, str | None, int]
"""A node: function, token, number of children. Plain tuples cost the garbage collector nothing."""


def trees_of(rows: Sequence[Row]) -> list[Tree]:
    """The tree of every node, in the order of the rows: the first is that of the root."""
    trees: list[Tree] = []
    stack: list[Tree] = []
    for function, token, count in reversed(rows):  # children come before their parents, the first child last
        children = [stack.pop() for _ in range(count)]
        tree = Tree(function, children, token)
        trees.append(tree)
        stack.append(tree)
    return trees[::-1]
