"""Values: what a step of a recursive network computes, as a graph of columns that says nothing about loops or memory.

A value belongs to a node, to an edge that leads to it, or to neither, and has ``width`` numbers there, its columns.
Operations work column by column; a value of width 1 goes with each column of a wider one. So a program of values holds
for any number of nodes and of edges, and its text is the same for all widths.

Values are hash-consed: two that are computed alike are one object, and ``is`` compares them.
"""

import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import IntEnum
from typing import Any, NamedTuple


class Space(IntEnum):
    """What has a value: nothing in particular, each node, or each edge. An operation on two has the later one."""

    CONSTANT = 0
    NODE = 1
    EDGE = 2


class Location(NamedTuple):
    """Where the columns of a load lie."""

    array: str
    """``node``, ``source`` or ``edge``: a field of a node, of the nodes that its edges lead from, or of the edges;
    ``child`` and ``child_edge``: of its ``part``-th edge; ``held``: what was computed before the pass; ``product``: the
    result of one; ``mask``: random numbers; ``given`` and ``product_input``: gradients of a field and of the input of a
    product."""
    name: str | int
    """The name of the field, or the number among those that are held, the products or the masks."""
    part: int = 0
    """The number of the edge for a child; of the row, where a product or a mask has several for each node or edge."""
    skip: int = 0
    """Columns that lie before for each edge of the node."""
    step: int = 0
    """Columns from one edge to the next, where each has its own in a row of their node."""


class Value:
    """One value: an operation on others. Made by :func:`value` and by the functions named after operations."""

    __slots__ = ("__weakref__", "arguments", "kind", "operation", "space", "width")

    def __init__(self, operation: str, arguments: tuple[Any, ...], space: Space, width: int, kind: str) -> None:
        self.operation = operation
        self.arguments = arguments
        """Values, and what else the operation needs."""
        self.space = space
        self.width = width
        self.kind = kind
        """``float``, ``whole`` or ``truth``: what its numbers are."""

    @property
    def operands(self) -> list["Value"]:
        return [each for each in self.arguments if isinstance(each, Value)]

    def __repr__(self) -> str:
        return f"<{self.operation}: {self.kind}, {self.width} a {self.space.name.lower()}>"


_known: weakref.WeakValueDictionary[tuple[Any, ...], Value] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def value(
    operation: str, *arguments: Any, space: Space | None = None, width: int | None = None, kind: str = "float"
) -> Value:
    """The value of an operation. Without ``space`` and ``width``, those of its widest operand."""
    operands = [each for each in arguments if isinstance(each, Value)]
    if space is None:
        space = max(each.space for each in operands)
    if width is None:
        width = max(each.width for each in operands)
    key = (operation, space, width, kind, *arguments)
    with _lock:
        known = _known.get(key)
        if known is None:
            known = _known[key] = Value(operation, arguments, space, width, kind)
    return known


# ---------------------------------------------------------------------------------------------------------------------
# What a program begins with.


def constant(number: float | int | bool) -> Value:
    """A number. Its text is the key, since 0.0 equals -0.0 and NaN does not equal itself."""
    kind = "float"
    if isinstance(number, bool):
        kind = "truth"
    elif isinstance(number, int):
        kind = "whole"
    return value("constant", repr(number), space=Space.CONSTANT, width=1, kind=kind)


def number_of(constant: Value) -> float | int | bool | None:
    """The number of a constant, None for other values."""
    if constant.operation != "constant":
        return None
    text = constant.arguments[0]
    if constant.kind == "truth":
        return text == "True"
    return int(text) if constant.kind == "whole" else float(text)


def load(space: Space, width: int, place: Location, first: int, kind: str = "float") -> Value:
    """Columns ``first`` to ``first + width`` of what lies at a place."""
    return value("load", place, first, space=space, width=width, kind=kind)


def is_load(x: Value, array: str) -> bool:
    """Whether a value is read from an array: see :class:`Location`."""
    return x.operation == "load" and x.arguments[0].array == array


ZERO = constant(0.0)
ONE = constant(1.0)
DEGREE = value("degree", space=Space.NODE, width=1, kind="whole")
"""The number of edges that lead to a node."""
POSITION = value("position", space=Space.EDGE, width=1, kind="whole")
"""The number of an edge in the mailbox, from 0."""


def column_numbers(first: int, width: int) -> Value:
    """``first``, ``first + 1`` and so on."""
    return value("column_numbers", first, space=Space.CONSTANT, width=width, kind="whole")


# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic. What does not change a number is left out: + 0, * 1, and what constants give; not * 0, which may be NaN.


def _is(x: Value, number: float) -> bool:
    return x.kind != "truth" and number_of(x) == number


def _kind(*operands: Value) -> str:
    return "float" if any(each.kind == "float" for each in operands) else "whole"


def add(x: Value, y: Value) -> Value:
    if _is(x, 0) and y.kind == _kind(x, y):
        return y
    if _is(y, 0) and x.kind == _kind(x, y):
        return x
    return value("add", x, y, kind=_kind(x, y))


def subtract(x: Value, y: Value) -> Value:
    if _is(y, 0) and x.kind == _kind(x, y):
        return x
    return value("subtract", x, y, kind=_kind(x, y))


def negative(x: Value) -> Value:
    return value("negative", x, kind=_kind(x))


def multiply(x: Value, y: Value) -> Value:
    if _is(x, 1) and y.kind == _kind(x, y):
        return y
    if _is(y, 1) and x.kind == _kind(x, y):
        return x
    return value("multiply", x, y, kind=_kind(x, y))


def divide(x: Value, y: Value) -> Value:
    return value("divide", x, y) if not _is(y, 1) else as_float(x)


def where(condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, y elsewhere; the other one's NaN does not pass."""
    return x if x is y else value("where", condition, x, y, kind=_kind(x, y))


def compare(operation: str, x: Value, y: Value) -> Value:
    """``greater``, ``less``, ``greater_equal``, ``less_equal``, ``equal`` or ``not_equal``."""
    return value(operation, x, y, kind="truth")


def unary(operation: str, x: Value) -> Value:
    """A function of one number: ``tanh``, ``exp`` and so on."""
    return value(operation, as_float(x))


def as_float(x: Value) -> Value:
    if x.kind == "float":
        return x
    number = number_of(x)
    return value("as_float", x) if number is None else constant(float(number))


def maximum(x: Value, y: Value) -> Value:
    """torch's maximum: NaN passes, and equal ones share the gradient."""
    return value("maximum", x, y, kind=_kind(x, y))


def minimum(x: Value, y: Value) -> Value:
    return value("minimum", x, y, kind=_kind(x, y))


# ---------------------------------------------------------------------------------------------------------------------
# From columns to one number, and from edges to their node.


def sum_columns(x: Value, width: int) -> Value:
    """The sum of ``width`` columns, which a value of width 1 stands for too."""
    if x.width == 1:
        return multiply(x, constant(width))
    return value("sum_columns", x, space=x.space, width=1, kind=_kind(x))


def extreme_of_columns(operation: str, x: Value) -> Value:
    """``largest_column`` or ``smallest_column``, or the number of the first such: ``which_largest_column`` ..."""
    kind = "whole" if operation.startswith("which") else x.kind
    return value(operation, x, space=x.space, width=1, kind=kind)


def sum_edges(x: Value) -> Value:
    """The sum over the edges that lead to a node, each of which has a value of the node."""
    if x.space != Space.EDGE:
        return multiply(x, DEGREE)
    return value("sum_edges", x, space=Space.NODE, width=x.width, kind=_kind(x))


def extreme_of_edges(operation: str, x: Value) -> Value:
    """``largest_edge`` or ``smallest_edge``, or the position of the first such: ``which_largest_edge`` ..."""
    if x.space != Space.EDGE:  # the same for all edges
        return constant(0) if operation.startswith("which") else x
    kind = "whole" if operation.startswith("which") else x.kind
    return value(operation, x, space=Space.NODE, width=x.width, kind=kind)


def look_up(index: Value, held: int, first: int, width: int) -> Value:
    """Columns of the row of a held table whose number is an index."""
    return value("look_up", index, held, first, space=max(index.space, Space.NODE), width=width)


# ---------------------------------------------------------------------------------------------------------------------
# Parts of a value, and the order of many.


def columns(x: Value, first: int, width: int) -> Value:
    """Columns of a value: the same operations on columns of what it is made of."""
    if x.width == 1 or (first, width) == (0, x.width):
        return x
    known: dict[Value, Value] = {}
    for each in ordered([x], without=lambda part: part.width == 1):
        known[each] = each if each.width == 1 else _columns(each, first, width, known)
    return known[x]


def _columns(x: Value, first: int, width: int, known: dict[Value, Value]) -> Value:
    if x.operation == "load":
        place, begin = x.arguments
        return load(x.space, width, place, begin + first, x.kind)
    if x.operation == "look_up":
        index, held, begin = x.arguments
        return look_up(index, held, begin + first, width)
    if x.operation == "column_numbers":
        return column_numbers(x.arguments[0] + first, width)
    arguments = [known[each] if isinstance(each, Value) else each for each in x.arguments]
    return value(x.operation, *arguments, space=x.space, width=width, kind=x.kind)


def ordered(roots: Iterable[Value], without: Callable[[Value], bool] | Collection[Value] = ()) -> list[Value]:
    """All values that some depend on, each after its operands, each once.

    Args:
        roots: the ones that depend.
        without: those whose operands are not followed.
    """
    stops = without if callable(without) else without.__contains__
    found: dict[Value, None] = {}
    for root in roots:
        if root in found:
            continue
        stack: list[tuple[Value, Iterator[Value]]] = [(root, _followed(root, stops))]
        while stack:
            current, rest = stack[-1]
            operand = next((each for each in rest if each not in found), None)
            if operand is None:
                found[current] = None
                stack.pop()
            else:
                stack.append((operand, _followed(operand, stops)))
    return list(found)


def _followed(x: Value, stops: Callable[[Value], bool]) -> Iterator[Value]:
    return iter(() if stops(x) else x.operands)
