"""The expressions of the table of functions as trees, and the functions that definitions make of others."""

from collections.abc import Callable
from functools import cache
from typing import Any

from dgltree.read.functions import BY_NAME
from dgltree.read.infix import read_infix
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.equation import Equation, share_equal_parts
from dgltree.trees.tree import Tree

X = Tree("Symbol", token="x")
"""The argument in a definition."""
Operation = Callable[..., Any]
MakeOperation = Callable[[Tree], Operation]
"""The operation of an inner node, or of a number none of whose arguments is looked at. Of 1/x it has one argument."""


@cache
def expression(text: str) -> Tree:
    """The tree of an expression in the table, equal parts as one object."""
    tree = read_infix(text)
    return share_equal_parts(Equation(tree, tree)).left


def is_reciprocal(node: Tree) -> bool:
    """Whether it is x^(-1)."""
    return node.function == "Pow" and node.children[1] == MINUS_ONE


def define(name: str, operation: MakeOperation, by: str = "definition") -> Operation:
    """The function of a name by its definition, or its derivative, made at its first use of operations of its parts."""
    made = cache(lambda: _composed(expression(getattr(BY_NAME[name], by)), operation))
    return lambda x: made()(x)


def _composed(tree: Tree, operation: MakeOperation) -> Operation:
    if tree == X:
        return lambda x: x
    apply = operation(tree)
    parts = [_composed(child, operation) for child in (tree.children[:1] if is_reciprocal(tree) else tree.children)]
    if len(parts) == 1:
        [inner] = parts
        return lambda x: apply(inner(x))
    return lambda x: apply(*(part(x) for part in parts))
