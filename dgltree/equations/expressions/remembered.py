"""What is worked out of a tree from its parts, and remembered from one tree to the next."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from dgltree.trees.tree import Tree

T = TypeVar("T")


class Remembered(Generic[T]):
    """``combine(node, results of its parts)`` from the leaves to the root, without recursion.

    Args:
        parts: the trees below a node that ``combine`` needs, each once.
        combine: the result of a node from those of its parts, in their order.
        most: results that are kept; all are forgotten when there are more.
    """

    def __init__(
        self,
        parts: Callable[[Tree], Sequence[Tree]],
        combine: Callable[[Tree, list[T]], T],
        most: int,
    ) -> None:
        self._parts, self._combine, self._most = parts, combine, most
        self._known: dict[Tree, T] = {}

    def __call__(self, tree: Tree) -> T:
        known = self._known  # this dictionary to the end, even where another thread puts a new one in its place
        if len(known) > self._most:
            known = self._known = {}
        below: dict[int, Sequence[Tree]] = {}
        stack = [tree]
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
            elif id(node) not in below:
                below[id(node)] = self._parts(node)
                stack.extend(part for part in below[id(node)] if part not in known)
            else:
                stack.pop()
                known[node] = self._combine(node, [known[part] for part in below[id(node)]])
        return known[tree]
