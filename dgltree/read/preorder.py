"""The published equation JSON: preorders joined by commas, with ``#`` for a missing child.

``sin(x) = 2`` is the ``func`` ``Equality,sin,Symbol,#,#,#,Integer,#,#`` next to the ``vars`` ``,,x,#,#,#,2,#,#``. Every
node has room for two children: a leaf is followed by ``#,#`` and an only child by one more ``#``. A record holds these
two texts, ``nodeNum`` and ``depth`` (preorders like them), ``numNodes`` and ``variables``. A file of blanks is a list,
indexed by depth, of lists of examples ``{"equation": record, "blankNodeNum": number}``; a file of candidates has
``class`` in place of ``blankNodeNum``.

On reading, the leaf ``One`` becomes the Integer 1 and the Rational 0 the Integer 0, so that a number has one name.

Readers raise ``ValueError`` for what is not in this form, naming the item of the preorder (from 1) or the field, what
was found and what was expected; readers of files also name the file, the depth list and the example (from 0).
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dgltree.read.text import check_unfolded, read_text
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

T = TypeVar("T")

_MISSING = "#"
_ONE_NAME = {("One", "1"): ("Integer", "1"), ("Rational", "0"): ("Integer", "0")}
_VARIABLE = re.compile(r"var_([0-9]+)")
_HOLE = (_MISSING,) * 4
_JSON_KINDS: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}


class BlankExample(NamedTuple):
    """An equation in which one subtree was blanked."""

    equation: Equation
    """The equation with ``BLANK`` in place of the subtree."""
    filler: Tree
    """The subtree."""
    filler_text: tuple[str, str]
    """``func`` and ``vars`` of the filler as published, where ``One`` and the Integer 1 are still two things."""
    depth: int
    """The number of the list that the example is in, the depth of the whole equation."""


class Candidate(NamedTuple):
    """An expression that may fill a blank."""

    filler: Tree
    text: tuple[str, str]
    """``func`` and ``vars`` as published."""
    class_id: int
    """Candidates of one class are equal as expressions."""


def read_preorder(func: str, vars: str) -> Tree:
    """The tree of two preorders. Raises ``ValueError`` if they are not the preorders of one tree."""
    return _build(func.split(","), vars.split(","))[0]


def write_preorder(tree: Tree) -> dict[str, Any]:
    """``tree`` as a published record, its nodes numbered in preorder.

    ``variables`` numbers ``var_3`` with 3, and any other name with its place among the names as they first appear.

    Raises ``ValueError`` naming the first node that would not be read back: one with more than two children, a value or
    a label, a leaf without a token or an inner node with one, a text that is empty, ``#`` or has a comma.
    """
    check_unfolded(tree)
    rows: list[tuple[str, ...]] = []
    names: dict[str, int] = {}
    nodes = 0
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            rows.append(_HOLE)
            continue
        token = _check_writable(node)
        rows.append((node.function, token, str(nodes), str(node.depth)))
        nodes += 1
        if node.function == "Symbol" and token not in names:
            match = _VARIABLE.fullmatch(token)
            names[token] = int(match[1]) if match else len(names)
        stack.extend([None] * (2 - len(node.children)))
        stack.extend(reversed(node.children))
    func, vars, number, depth = map(",".join, zip(*rows, strict=True))
    return {
        "func": func,
        "vars": vars,
        "nodeNum": number,
        "depth": depth,
        "numNodes": str(nodes),
        "variables": names,
    }


def read_equation_record(record: dict[str, Any]) -> Equation:
    """The equation of a published record; of its fields only ``func`` and ``vars`` are read.

    Raises ``ValueError`` for a missing field, one of another type, and preorders of anything but an ``Equality``.
    """
    return _equation(_build(*_preorders(record))[0])


def write_equation_record(equation: Equation) -> dict[str, Any]:
    """``equation`` as a published record; errors as in :func:`write_preorder`, also for a blank."""
    return write_preorder(Tree("Equality", equation))


def read_blanks(path: str | Path) -> list[BlankExample]:
    """The examples of a published file of blanks, its depth lists one after another."""
    return _read_examples(path, _blank_example)


def read_candidates(path: str | Path) -> list[Candidate]:
    """The candidates of a published file of fillers, its depth lists one after another."""
    return _read_examples(path, _candidate)


def _build(funcs: list[str], vars: list[str], blank: int | None = None) -> tuple[Tree, Tree | None]:
    """The tree of two preorders, and the node at position ``blank`` (from 0), which ``BLANK`` replaces in the tree."""
    if len(funcs) != len(vars):
        raise ValueError(f"'func' has {len(funcs)} items, but 'vars' has {len(vars)}; expected equal numbers")
    filler: Tree | None = None
    stack: list[Tree | None] = []
    for position in range(len(funcs) - 1, -1, -1):  # from the right, so that children come before their parents
        func = funcs[position]
        var = vars[position]
        if func == _MISSING or var == _MISSING:
            if func != var:
                raise _item_error(position, f"'func' has {func!r}, but 'vars' has {var!r}", "'#' in both or in neither")
            stack.append(None)
            continue
        if len(stack) < 2:
            raise _misfit(funcs)
        left = stack.pop()
        right = stack.pop()
        if left is None and right is not None:
            raise _item_error(
                position, f"{func!r} has a second child but no first child", "an only child to come first"
            )
        if not func or bool(left) == bool(var):
            raise _item_error(
                position,
                f"{'an inner node' if left else 'a leaf'} has the function {func!r} and the variable {var!r}",
                "a function on every node, and a variable on leaves only",
            )
        if left is None:
            func, var = _ONE_NAME.get((func, var), (func, var))
            node = Tree(func, token=var)
        else:
            node = Tree(func, (left,) if right is None else (left, right))
        if position == blank:
            filler = node
            node = BLANK
        stack.append(node)
    if len(stack) != 1 or stack[0] is None:
        raise _misfit(funcs)
    return stack[0], filler


def _item_error(position: int, found: str, expected: str) -> ValueError:
    return ValueError(f"item {position + 1} of the preorder: {found}; expected {expected}")


def _misfit(funcs: list[str]) -> ValueError:
    """Where a preorder stops to be that of one tree."""
    if funcs[0] == _MISSING:
        return _item_error(0, "no node", "the root")
    room = 1
    for position, func in enumerate(funcs):
        if not room:
            return _item_error(position, f"{func!r} is left over", "an end, since the tree is complete")
        room += -1 if func == _MISSING else 1
    return _item_error(len(funcs), "the preorder ends early", f"at least {room} more")


def _equation(tree: Tree) -> Equation:
    if tree.function != "Equality" or len(tree.children) != 2:
        raise ValueError(
            f"the root is {tree.function!r} with {len(tree.children)} children; expected an 'Equality' of two"
        )
    return Equation(*tree.children)


def _check_writable(node: Tree) -> str:
    """The node's item of ``vars``; ``ValueError`` if the node would not be read back."""
    token = node.token or ""
    texts = [node.function] if node.children else [node.function, token]
    if (
        len(node.children) > 2
        or node.value is not None
        or node.label is not None
        or (node.children and node.token is not None)
        or (node.function, token) in _ONE_NAME
        or any(not text or text == _MISSING or "," in text for text in texts)
    ):
        raise ValueError(
            f"{node.replace(children=())} with {len(node.children)} children cannot be written in a preorder. A node "
            "may have a function and two children, and a leaf a token; names must not be empty, '#' or contain a "
            "comma"
        )
    return token


def _blank_example(depth: int, example: Any) -> BlankExample:
    record = _field(example, "equation", dict)
    funcs, vars = _preorders(record)
    numbers = _field(record, "nodeNum", str).split(",")
    blank = _field(example, "blankNodeNum", str)
    if len(numbers) != len(funcs):
        raise ValueError(f"'nodeNum' has {len(numbers)} items, but 'func' has {len(funcs)}; expected equal numbers")
    # Looked up, not counted: some published records number their nodes level by level.
    start = numbers.index(blank) if blank in numbers else 0
    tree, filler = _build(funcs, vars, start)
    if filler is None or not start:
        raise ValueError(f"the field 'blankNodeNum' is {blank!r}; expected the number of a node below the root")
    end = start + 2 * filler.size + 1
    return BlankExample(_equation(tree), filler, (",".join(funcs[start:end]), ",".join(vars[start:end])), depth)


def _candidate(depth: int, example: Any) -> Candidate:
    func, vars = text = _texts(_field(example, "equation", dict))
    class_id = _field(example, "class", str)
    if not (class_id.isascii() and class_id.isdigit()):
        raise ValueError(f"the field 'class' is {class_id!r}; expected a number")
    return Candidate(read_preorder(func, vars), text, int(class_id))


def _texts(record: Any) -> tuple[str, str]:
    return _field(record, "func", str), _field(record, "vars", str)


def _preorders(record: Any) -> tuple[list[str], list[str]]:
    func, vars = _texts(record)
    return func.split(","), vars.split(",")


def _field(record: Any, name: str, kind: type[T]) -> T:
    if not isinstance(record, dict) or name not in record:
        raise ValueError(f"the field {name!r} is missing; expected {_JSON_KINDS[kind]} there")
    value = record[name]
    if not isinstance(value, kind):
        raise ValueError(f"the field {name!r} is {value!r:.60}; expected {_JSON_KINDS[kind]}")
    return value


def _read_examples(path: str | Path, read: Callable[[int, Any], T]) -> list[T]:
    """``read(depth, example)`` of every example in a published file."""
    text = read_text(path)
    try:
        depth_lists = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}; expected JSON") from None
    except (RecursionError, ValueError) as error:  # nested too deep, a number of too many digits
        raise ValueError(f"{path}: {error}; expected a list of lists of examples") from None
    if not isinstance(depth_lists, list):
        raise ValueError(f"{path}: found {depth_lists!r:.60}; expected a list, indexed by depth, of lists of examples")
    examples: list[T] = []
    for depth, depth_list in enumerate(depth_lists):
        if not isinstance(depth_list, list):
            raise ValueError(f"{path}: depth list {depth}: found {depth_list!r:.60}; expected a list of examples")
        for index, example in enumerate(depth_list):
            try:
                examples.append(read(depth, example))
            except ValueError as error:
                raise ValueError(f"{path}: depth list {depth}, example {index}: {error}") from None
    return examples
