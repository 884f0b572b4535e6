"""S-expressions: ``(+ x (sin y))``.

============= ==========================================================
``(f a b)``   ``Tree("f", (Tree("atom", token="a"), Tree("atom", token="b")))``
``(f)``       ``Tree("f")``
``"a (b"``    ``Tree("string", token="a (b")``
``((f a) b)`` ``Tree("list", (Tree("f", ...), Tree("atom", token="b")))``
``()``        ``Tree("list")``
============= ==========================================================

A list whose head is a list or a string has no name: its function is ``list``. In a string ``\\"`` and ``\\\\`` mean
``"`` and ``\\``; any other backslash stands for itself. ``;`` begins a comment up to the end of the line. Every
other character but ASCII white space, brackets and ``"`` belongs to an atom, ``[ ] { } '`` and the like included.

Reading and writing take time linear in the text, at any depth.
"""

import re

from dgltree.read.text import check_unfolded, error_at
from dgltree.trees.tree import Tree

_ATOM = re.compile(r'[^\s()";]+', re.ASCII)
_STRING = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
# groups: the head of a list that opens, an atom, a string, a quote that no other closes
_TOKEN = re.compile(rf'\(\s*((?:{_ATOM.pattern})?)|\)|({_ATOM.pattern})|{_STRING}|;[^\n]*|(")', re.ASCII | re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\])')
_CHAR = re.compile(r'["\\]')
_EXAMPLE = "(+ x (sin y))"
_NAMELESS = "list"


class _OpenList:
    """A list that is still open, and what it holds so far; ``head`` is empty until an atom comes first."""

    __slots__ = ("children", "head", "start")

    def __init__(self, start: int, head: str) -> None:
        self.start = start
        self.head = head
        self.children: list[Tree] = []


def read_sexpr(text: str) -> Tree:
    """The tree of the one S-expression in ``text``.

    Raises ``ValueError`` with line and column for brackets that do not match, a string without an end, and no
    expression or more than one.
    """

    def error(offset: int, found: str, expected: str) -> ValueError:
        return error_at(text, offset, f"found {found}; expected {expected}, as in {_EXAMPLE}")

    root: Tree | None = None
    stack: list[_OpenList] = []
    for match in _TOKEN.finditer(text):
        start = match.start()
        head, atom, string, quote = match.groups()
        if text[start] == ";":
            continue
        if quote:
            raise error(start, "no end of the string that begins here", "'\"'")
        if root is not None and not stack:
            found = "')' where no list is open" if text[start] == ")" else "a second expression"
            raise error(start, found, "the end of the text")
        if head is not None:
            stack.append(_OpenList(start, head))
            continue
        if atom is not None:
            if stack and not stack[-1].head and not stack[-1].children:  # a comment came before the head
                stack[-1].head = atom
                continue
            tree = Tree("atom", token=atom)
        elif string is not None:
            tree = Tree("string", token=_ESCAPE.sub(r"\1", string))
        else:
            if not stack:
                raise error(start, "')' where no list is open", "'('")
            closed = stack.pop()
            tree = Tree(closed.head or _NAMELESS, closed.children)
        if stack:
            stack[-1].children.append(tree)
        else:
            root = tree
    if stack:
        raise error(stack[-1].start, "no end of the list that opens here", "')'")
    if root is None:
        raise error(0, "no expression", "one")
    return root


def write_sexpr(tree: Tree) -> str:
    """``tree`` on one line; :func:`read_sexpr` reads it back to the same tree.

    Raises ``ValueError`` naming the first node that has no such text.
    """
    check_unfolded(tree)
    parts: list[str] = []
    stack: list[Tree | None] = [tree]  # None closes a list
    while stack:
        node = stack.pop()
        if node is None:
            parts.append(")")
        elif node.token is not None:
            parts.append(f" {_leaf_text(node)}")
        else:
            parts.append(f" ({_head(node)}")
            stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(parts)[1:]


def _leaf_text(node: Tree) -> str:
    assert node.token is not None
    if not node.children and node.fields == ("string", node.token, None, None):
        return f'"{_CHAR.sub(lambda match: chr(92) + match[0], node.token)}"'
    if not node.children and node.fields == ("atom", node.token, None, None) and _ATOM.fullmatch(node.token):
        return node.token
    raise _unsayable(node)


def _head(node: Tree) -> str:
    if node.fields == (node.function, None, None, None) and _ATOM.fullmatch(node.function):
        return node.function
    raise _unsayable(node)


def _unsayable(node: Tree) -> ValueError:
    at = f"{node.replace(children=())} with {len(node.children)} children"
    return ValueError(
        f"{at} cannot be written as an S-expression; this form allows functions and atoms of one word, without "
        "brackets, '\"' or ';'; tokens on 'atom' and 'string' leaves only; no values and no labels"
    )
