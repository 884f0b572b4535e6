"""Nodes in preorder to trees, for readers whose texts say how many children a node has."""

from collections.abc import Sequence
from typing import TypeAlias

from dgltree.trees.tree import Tree

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
