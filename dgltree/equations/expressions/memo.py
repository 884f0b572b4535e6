"""Values that are computed of a tree or a form from its parts, and remembered."""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

N = TypeVar("N", bound=Hashable)
T = TypeVar("T")


class Memo(Generic[N, T]):
    """``combine(node, results of its parts)`` from the leaves to the root, without recursion.

    Args:
        parts: the nodes below a node that ``combine`` needs, each once.
        combine: the result of a node from those of its parts, in their order.
        most: results that are kept; all are forgotten when there are more.
    """

    def __init__(
        self,
        parts: Callable[[N], Sequence[N]],
        combine: Callable[[N, list[T]], T],
        most: int,
    ) -> None:
        self._parts, self._combine, self._most = parts, combine, most
        self._known: dict[N, T] = {}

    def __call__(self, tree: N) -> T:
        known = self._known  # this dictionary to the end, even if another thread puts a new one in its place
        if len(known) > self._most:
            known = self._known = {}
        below: dict[int, Sequence[N]] = {}
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
