"""Trees in JSON: ``{"label": "add", "children": [{"label": "x"}, {"label": "2"}]}``.

A node with children computes its label. A leaf is ``Tree("leaf", token=label)``, or ``Tree(label, token=token)`` if
it has a token of its own; a text or a number among the children is such a leaf too. Numbers and booleans stay as they
are written. Other keys are ignored, unless they hold nodes, too; ``null`` is as good as a missing key.

A list of nodes whose children are numbers of others, ``[{"type": "Module", "children": [1]}, ...]``, is the tree of the
first one, as in the data sets 150k-Python and 150k-JavaScript.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from dgltree.read.text import Row, error_at, trees_of
from dgltree.trees.tree import Tree

_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)', re.DOTALL)
_EXAMPLE = '{"label": "add", "children": [{"label": "x"}]}'


class WrittenNumber(str):
    """A number of a JSON text, as it is written there."""

    __slots__ = ()


class Keys(NamedTuple):
    """The names of a node's parts in the objects of a file."""

    label: str = "label"
    children: str = "children"
    token: str = "token"


ALL = "*"
"""In place of the key of the children: all keys may hold some, see :mod:`dgltree.read.json_fields`."""
NODE_LIST = Keys("type", "children", "value")
"""The keys of 150k-Python."""


def read_json_tree(text: str, keys: Keys = Keys()) -> Tree:  # noqa: B008  # immutable
    """The tree of one JSON object, or of a list of nodes.

    Raises ``ValueError``, with line and column, for what is not JSON (NaN and Infinity are none), and with the path of
    the node, such as ``$.children[0]``, for anything but an object, a missing or empty label, a label or token that
    is not text or number, children that are not a list, and other keys that hold nodes. Python's ``json`` recurses:
    more than some hundred levels of nodes are refused.
    """
    data = load_json(text, numbers_as_text=True)
    if isinstance(data, list) and data:
        return _of_list(data, keys)
    if not isinstance(data, dict):
        raise ValueError(f"$: found {shown(data)}; expected an object, as in {_EXAMPLE}")
    rows: list[Row] = []
    stack = [data]
    while stack:
        try:
            function, token, children = _parts(stack.pop(), keys)
        except ValueError as error:
            raise ValueError(f"{_next_path(rows, keys)}: {error}, as in {_EXAMPLE}") from None
        stack.extend(reversed(children))
        rows.append((function, token, len(children)))
    return trees_of(rows)[0]


def load_json(text: str, numbers_as_text: bool = False) -> Any:
    """The value of a JSON text; its numbers may stay the texts that they are written with.

    Raises ``ValueError`` with line and column for what is not JSON, NaN and Infinity included, and for brackets that
    nest too deeply for Python, integers too long for it, and a key that occurs twice in an object.
    """

    def refuse(constant: str) -> NoReturn:
        offset = next(match.start() for match in _STRING_OR_CONSTANT.finditer(text) if match[1])
        raise error_at(text, offset, f"found {constant}, which is not JSON; expected a finite number")

    numbers = WrittenNumber if numbers_as_text else None
    try:
        return json.loads(
            text, parse_int=numbers, parse_float=numbers, parse_constant=refuse, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}; expected JSON") from None
    except RecursionError:
        raise ValueError(
            "the JSON is nested too deeply for Python's json; expected at most a few hundred levels"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ``ValueError`` if a key occurs twice: the last would win."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key {json.dumps(key):.60} occurs twice in an object; expected each key once")
    return found


def _parts(item: Any, keys: Keys) -> tuple[str, str | None, list[Any]]:
    """Function, token and children of a node."""
    if not isinstance(item, dict):
        return "leaf", _text(item, "found {}; expected an object, a string or a number"), []
    if item.get(keys.label) is None:
        raise ValueError(f"no {keys.label!r}; expected a string or a number")
    label = _text(item[keys.label], f"the {keys.label!r} is {{}}; expected a string or a number")
    token = item.get(keys.token)
    children = item.get(keys.children)
    if token is not None:
        token = _text(token, f"the {keys.token!r} is {{}}; expected a string or a number")
    if not (children is None or isinstance(children, list)):
        raise ValueError(f"the {keys.children!r} are {shown(children)}; expected a list")
    for key, value in item.items():
        if key not in keys and _holds_nodes(value, keys):
            raise ValueError(
                f"the key {key!r} also holds nodes; give --keys '{keys.label},*,{keys.token}' to read the nodes of "
                "all keys"
            )
    if not children and token is None:
        return "leaf", label, []
    if not label:
        raise ValueError(f"the {keys.label!r} is empty; expected the node's function")
    return label, token, children or []


def _text(value: Any, message: str) -> str:
    if isinstance(value, bool):
        return json.dumps(value)
    if not isinstance(value, str):
        raise ValueError(message.format(shown(value)))
    return str(value)


def _holds_nodes(value: Any, keys: Keys) -> bool:
    found = value if isinstance(value, list) else [value]
    return any(isinstance(each, dict) and isinstance(each.get(keys.label), str) for each in found)


def _of_list(data: list[Any], keys: Keys) -> Tree:
    """The tree of nodes whose children are numbers of nodes, from 0; the root is the first.

    Raises ``ValueError`` with the number of the node that is wrong, and for nodes that are not below the first.
    """
    while data and data[-1] == "0":  # how files of 150k-JavaScript end
        data = data[:-1]
    rows: list[Row] = []
    stack = [0]
    seen = {0}
    while stack:
        number = stack.pop()
        try:
            function, token, children = _numbered(data, number, keys)
            for child in children:
                if child in seen:
                    raise ValueError(f"node {child} occurs twice as a child; expected a tree")
                seen.add(child)
        except ValueError as error:
            raise ValueError(f"$[{number}]: {error}") from None
        rows.append((function, token, len(children)))
        stack.extend(reversed(children))
    if len(rows) < len(data):
        left = next(number for number in range(len(data)) if number not in seen)
        raise ValueError(f"$[{left}]: not a child of any node; expected a single tree")
    return trees_of(rows)[0]


def _numbered(data: list[Any], number: int, keys: Keys) -> tuple[str, str | None, list[int]]:
    """Function, token and the numbers of the children of a node."""
    if not number < len(data) or not isinstance(data[number], dict):
        found = shown(data[number]) if number < len(data) else "nothing"
        raise ValueError(f"found {found}; expected an object with {keys.label!r}")
    node = data[number]
    label = _text(node.get(keys.label), f"the {keys.label!r} is {{}}; expected a string")
    token = node.get(keys.token)
    if token is not None:
        token = _text(token, f"the {keys.token!r} is {{}}; expected a string or a number")
    children = node.get(keys.children) or []
    if not label or not isinstance(children, list) or not all(isinstance(c, WrittenNumber) for c in children):
        raise ValueError(f"expected a name and, under {keys.children!r}, a list of node numbers")
    if wrong := [child for child in children if not child.isdecimal()]:
        raise ValueError(f"a child is {wrong[0]}; expected a node number, from 0")
    return label, token, [int(child) for child in children]


def is_node_list(data: Any, keys: Keys = NODE_LIST) -> bool:
    """Whether a value is a list of nodes whose children are numbers of nodes in it, the first of which has some."""
    if not isinstance(data, list) or not data or not isinstance(data[0], dict) or keys.label not in data[0]:
        return False
    lists = [node.get(keys.children) or [] for node in data if isinstance(node, dict)]
    if not lists[0] or not all(isinstance(children, list) for children in lists):
        return False
    return all(type(child) is int and 0 <= child < len(data) for children in lists for child in children)


def shown(value: Any) -> str:
    """A JSON value for a message: what is inside of an object or a list does not matter there."""
    kinds = {dict: "an object", list: "a list", type(None): "null"}
    written = str(value) if isinstance(value, WrittenNumber) else json.dumps(value)
    return kinds.get(type(value)) or f"{written:.60}"


def _next_path(rows: list[Row], keys: Keys) -> str:
    """The path of the node that comes after ``rows``."""
    open_nodes: list[list[int]] = []  # for each node from the root down: its children, and how many of them are there
    for _, _, count in rows:
        if open_nodes:
            open_nodes[-1][1] += 1
        open_nodes.append([count, 0])
        while open_nodes[-1][0] == open_nodes[-1][1]:
            open_nodes.pop()
    positions = [there - 1 for _, there in open_nodes[:-1]] + [there for _, there in open_nodes[-1:]]
    return "".join(["$", *(f".{keys.children}[{position}]" for position in positions)])
