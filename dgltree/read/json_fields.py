"""Trees in JSON whose children are under many keys, such as syntax trees: ESTree, and JSON of Python's ``ast``.

A node is an object, named after its ``type``; its children are all that it holds, in the order of the text: objects,
those in lists, and texts and numbers, each a leaf named after its key. A node that holds a single text or number has
it as its token. ``x + 1`` is in ESTree ::

    BinaryExpression(operator +, Identifier x, Literal 1)

An object without a type is named after its key. ``null`` and empty lists are as good as a missing key, ``null`` in a
list is a leaf ``null``. In syntax trees, places in the source, comments, and flags that are false are left out, as is
a value that is there a second time as it is written (``raw``).
"""

import ast
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from dgltree.read.json_tree import WrittenNumber, load_json
from dgltree.read.text import Row, trees_of
from dgltree.trees.tree import Tree

ESTREE, AST = "type", "_type"
"""The key with the name of a node in ESTree, and in what ``ast2json`` writes."""
PLACES = "start end loc range lineno col_offset end_lineno end_col_offset"
ASIDE = "extra comments tokens errors leadingComments trailingComments innerComments ctx type_comment"
OLDER = "n s dims"  # of ast: names that value and elts have, too
LEFT_OUT = frozenset(f"{PLACES} {ASIDE} {OLDER}".split())
"""Keys of syntax trees that say where a node is in its source, or again what others say."""
WRITTEN = "raw"
"""A value as the source has it."""
AGAIN = frozenset(["value", "cooked", "regex", "bigint"])
"""The keys that say the same next to it."""
ENDS = ("Statement", "Declaration", "Expression", "Declarator", "Literal", "Pattern", "Specifier", "Definition")
NAMES = frozenset(
    ["Program", "File", "Identifier", "Property", "ObjectProperty", "SpreadElement", "Super", "ClassBody"]
)
"""The names of ESTree's nodes, and how those of most of them end."""

NOTHING = ("value", None)
"""The field of a constant of Python whose value is None."""

Part: TypeAlias = tuple[str, Any]
"""A key, and what it holds, or one thing of a list that it holds."""


def read_syntax(text: str, label: str = ESTREE) -> Tree:
    """The syntax tree in a JSON object.

    Args:
        text: the JSON.
        label: the key with the name of a node.

    Raises ``ValueError`` as :func:`read_fields` does.
    """
    return read_fields(text, label, token=None, syntax=True)


def read_fields(text: str, label: str, token: str | None, syntax: bool = False) -> Tree:
    """The tree of one JSON object whose children may be under any key.

    Args:
        text: the JSON.
        label: the key with the name of a node.
        token: the key with the token of a node, if there is one.
        syntax: whether places in a source and the like are left out.

    Raises ``ValueError`` for what is not JSON, for anything but an object with such a name, and for a name or a token
    that is not a text or number.
    """
    data = load_json(text, numbers_as_text=True)
    if not isinstance(data, dict) or data.get(label) is None:
        raise ValueError(f"$: found no object with {label!r}, which names a node")
    rows: list[Row] = []
    stack: list[Part] = [("", data)]
    while stack:
        key, value = stack.pop()
        function, own, parts = _node(key, value, label, token, syntax)
        rows.append((function, own, len(parts)))
        stack.extend(reversed(parts))
    return trees_of(rows)[0]


def is_estree(text: str) -> bool:
    """Whether a text is an object of a type that ESTree has."""
    data = _object(text)
    name = data.get(ESTREE)
    return isinstance(name, str) and (name in NAMES or name.endswith(ENDS)) and "children" not in data


def is_ast(text: str) -> bool:
    """Whether a text is an object of a type that Python's ``ast`` has."""
    name = _object(text).get(AST)
    return isinstance(name, str) and isinstance(found := getattr(ast, name, None), type) and issubclass(found, ast.AST)


def _object(text: str) -> Mapping[str, Any]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        data = load_json(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _node(key: str, value: Any, label: str, token: str | None, syntax: bool) -> tuple[str, str | None, list[Part]]:
    """Function, token and parts of a node."""
    if isinstance(value, list):
        return key, None, [(key, item) for item in value]
    if not isinstance(value, dict):
        return ("null", None, []) if value is None else (key, _text(value, quoted=False), [])
    function = value.get(label)
    named = function is not None
    parts = _parts(value, {label, token} if named else {token}, syntax)
    own = value.get(token) if token is not None else None
    if own is None and len(parts) == 1 and (_is_scalar(parts[0][1]) or parts[0] == NOTHING):
        only = parts.pop()
        own = _text(only[1], quoted=syntax and only[0] == "value")
    if not isinstance(function, str | None) or isinstance(own, dict | list):
        wrong, what = (label, function) if not isinstance(function, str | None) else (token, own)
        raise ValueError(f"the {wrong!r} is {type(what).__name__}; expected a string")
    if named and not function:
        raise ValueError(f"the {label!r} is empty; expected the name of a node")
    return str(function) if named else key or "object", None if own is None else _text(own, quoted=False), parts


def _parts(node: Mapping[str, Any], used: set[str | None], syntax: bool) -> list[Part]:
    parts: list[Part] = []
    for key, value in node.items():
        nothing = value is None and not (syntax and key == "value" and node.get(AST) == "Constant")  # which is None
        if key in used or nothing or value == [] or (syntax and _is_left_out(key, value, node)):
            continue
        parts += [(key, item) for item in value] if isinstance(value, list) else [(key, value)]
    return parts


def _is_left_out(key: str, value: Any, node: Mapping[str, Any]) -> bool:
    return key in LEFT_OUT or (key in AGAIN and WRITTEN in node) or (value is False and key != "value")


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _text(value: Any, quoted: bool) -> str:
    """A text or a number as it is written; a text may have quotes, which tell it from a number."""
    if isinstance(value, str) and (not quoted or isinstance(value, WrittenNumber)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
