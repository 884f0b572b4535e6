"""Source code of C, C++, Java and JavaScript as trees, broken code included, by tree-sitter (the extra ``code``).

A node is named after its rule of the grammar: ``function_definition``, ``call_expression``. A node without children has
its text as token. ``return x + 1;`` is ::

    return_statement(binary_expression(identifier x, +, number_literal 1))

Operators and keywords are leaves whose function and token are their text; brackets, quotes, separators, ``=`` between a
name and its value, and the keyword that a node is named after are left out, and so are comments. What does not parse is
kept below a node ``ERROR``, and what a parser had to add is a leaf ``MISSING``. The source is parsed, never run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from dgltree.read.text import Row, trees_of
from dgltree.trees.tree import Tree

LANGUAGES = ("c", "cpp", "java", "javascript")
UNPARSED = ("ERROR", "MISSING")
"""The functions of nodes that a parser could not read, or had to add."""
TOKEN_LIMIT = 200
"""Characters of a token: a text of a megabyte is no better one."""
LEFT_OUT = frozenset(["(", ")", "[", "]", "{", "}", ";", ",", ".", ":", "'", '"', "`", "${", "=", "=>", "@", "?"])
"""Tokens of the grammars that say nothing, unless they are a field of their own, as operators are."""


FUNCTIONS = {
    "c": frozenset(["function_definition"]),
    "cpp": frozenset(["function_definition"]),
    "java": frozenset(["method_declaration", "constructor_declaration", "compact_constructor_declaration"]),
    "javascript": frozenset(
        [
            "function_declaration",
            "generator_function_declaration",
            "method_definition",
            "function_expression",
            "generator_function",
            "arrow_function",
        ]
    ),
}
"""The rules of functions and methods by language."""
SCOPES = frozenset(
    [
        *("class", "class_declaration", "interface_declaration", "enum_declaration", "record_declaration"),
        *("class_specifier", "struct_specifier", "union_specifier", "namespace_definition"),
    ]
)
"""The rules of what methods, and functions of C++, belong to."""
NAMING = {"variable_declarator": "name", "assignment_expression": "left", "pair": "key", "field_definition": "property"}
"""The rules that give a name to the function in them, and the field with the name."""


def read_code(source: str, language: str) -> Tree:
    """The tree of a source file or a part of one.

    Args:
        source: the text.
        language: one of ``LANGUAGES``.

    Raises ``ValueError`` for a text without code, and for surrogate characters, and ``ModuleNotFoundError`` if
    tree-sitter or its grammar is not installed.
    """
    return trees_of(list(map(_row, *_nodes(source, language))))[0]


def check_language(language: str) -> None:
    """``ModuleNotFoundError`` if tree-sitter or the grammar of a language is not installed."""
    _parser(language)


def iter_functions(source: str, language: str) -> Iterator[tuple[str, int, Tree]]:
    """Every function and method with a name in the order of the text, nested ones and those in broken code included.

    A function is (name, line, tree): the name is preceded by that of the class or function around it, as in
    ``Class.method``, which is also the name of ``Class::method`` in C++. JavaScript's functions are named by the
    variable, property or key that they are the value of; what has no name, such as a callback, is a part of the
    function around it. Arguments and errors as in :func:`read_code`, at once.
    """
    nodes, counts = _nodes(source, language)
    trees = trees_of(list(map(_row, nodes, counts)))
    found: list[tuple[str, int, Tree]] = []
    above: list[_Above] = []
    for row, (node, count) in enumerate(zip(nodes, counts, strict=True)):
        while above and not above[-1].left:
            above.pop()
        scope = above[-1].scope if above else ""
        name = _name(node, above[-1].node if above else None, language)
        if name and node.type in FUNCTIONS[language] and _declares_function(node):
            found.append((f"{scope}.{name}" if scope else name, node.start_point[0] + 1, trees[row]))
        if above:
            above[-1].left -= 1
        above.append(_Above(node, count, name or scope))
    return iter(found)


@dataclass
class _Above:
    """A node above the one that is looked at."""

    node: Any
    left: int
    """How many of its children are still to come."""
    scope: str
    """The name of the class or function that they are in."""


def _name(node: Any, parent: Any, language: str) -> str:
    """The name of a function or a class; empty for another node, and for one without a name."""
    if node.type not in FUNCTIONS[language] and node.type not in SCOPES:
        return ""
    named = node.child_by_field_name("name")
    if named is None and parent is not None and parent.type in NAMING:
        named = parent.child_by_field_name(NAMING[parent.type])
    if named is None:
        named = node.child_by_field_name("declarator")
    while named is not None and (inner := _declared(named)) is not None:
        named = inner
    if named is None:
        return ""
    name = " ".join(named.text.decode(errors="replace").split())[:TOKEN_LIMIT]
    return name.replace("::", ".") if language == "cpp" else name


def _declares_function(node: Any) -> bool:
    """Whether a definition is of a function: ``struct API Name { }``, with a macro, parses as the definition of one."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return True
    while declarator is not None and declarator.type not in ("function_declarator", "operator_cast"):
        declarator = _declared(declarator)
    return declarator is not None


def _declared(declarator: Any) -> Any:
    """The inner part of a declarator of C: that of ``*f(x)`` has ``f(x)``, and that in turn ``f``; None for a name."""
    if declarator.type in ("parenthesized_declarator", "reference_declarator"):
        return declarator.named_children[-1] if declarator.named_children else None
    if declarator.type == "operator_cast":  # whose declarator is that of its type
        return None
    return declarator.child_by_field_name("declarator")


def _nodes(source: str, language: str) -> tuple[list[Any], list[int]]:
    """The nodes that are kept, in preorder, and how many children of each are; errors as in :func:`read_code`."""
    try:
        data = source.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"found {source[error.start]!r}; expected text that UTF-8 can encode") from None
    parsed = _parser(language).parse(data)
    if not any("comment" not in node.type for node in parsed.root_node.children):
        raise ValueError(f"found no code; expected {language} source")
    return _walked(parsed.walk())


@cache
def _parser(language: str) -> Any:
    from tree_sitter import Language, Parser

    return Parser(Language(import_module(f"tree_sitter_{language}").language()))


def _walked(cursor: Any) -> tuple[list[Any], list[int]]:
    """Every node that is kept, and the number of its children that are; the cursor walks without recursion."""
    nodes: list[Any] = []
    counts: list[int] = []  # of their kept children
    path: list[int] = []  # places of the nodes above
    while True:
        kept = _kept(cursor, cursor.node)
        if kept:
            if path:
                counts[path[-1]] += 1
            nodes.append(cursor.node)
            counts.append(0)
        if kept and cursor.node.is_named and cursor.goto_first_child():
            path.append(len(counts) - 1)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return nodes, counts
            path.pop()


def _kept(cursor: Any, node: Any) -> bool:
    if "comment" in node.type:
        return False
    if node.is_named or node.is_missing or cursor.field_name is not None:
        return True
    return node.type not in LEFT_OUT and not node.parent.type.startswith(node.type)


def _row(node: Any, children: int) -> Row:
    if node.is_missing:
        return "MISSING", node.type, 0
    if children:
        return node.type, None, children
    return node.type, node.text.decode(errors="replace")[:TOKEN_LIMIT], 0
