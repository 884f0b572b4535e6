"""Trees: immutable, hashable, and legal at any depth. No torch here."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from typing import Any, TypeVar

from dgltree.trees.objects import ObjectFields, build
from dgltree.trees.picture import frame_pictures, node_name, tree_svg

T = TypeVar("T")
NodeFields = tuple[str, str | None, float | None, int | str | None]
"""Function, token, value and label of a node."""

REPR_LIMIT = 200  # a larger tree is summarised by repr: debuggers and test reports print whatever they meet


class Tree:
    """A node with its children in order: the one structure that every reader makes and every batch is made from.

    Examples:
        >>> from dgltree import Tree
        >>> tree = Tree("NP", [Tree("DT", token="the"), Tree("NN", token="cat")])
        >>> tree.children[1]
        Tree('NN', token='cat')

    ``function`` names what the node computes ("Add", "sin", "NP"); the children are its arguments. A leaf carries a
    ``token`` (a variable, a word, a constant's text) or a finite number, ``value``. ``label`` is what is to be
    predicted at the node and never reaches a cell. Equality and hash take all five fields into account.

    Building, comparing, hashing, walking, pickling and freeing never recurse, so a chain of a million nodes is legal.
    Child objects may be shared: such a tree is compared, hashed, pickled and batched in its distinct objects, even
    where it unfolds to 2^60 nodes.

    Raises ``TypeError`` for a field of the wrong type and ``ValueError`` for an empty function or a value that is not
    finite.

    See also: readers of every notation, such as :func:`dgltree.read_infix`; :func:`dgltree.batch`. Objects of your own
    are read by :meth:`from_object`.
    """

    __slots__ = (
        "_hash",
        "children",
        "depth",
        "function",
        "label",
        "size",
        "token",
        "value",
    )

    function: str
    children: tuple["Tree", ...]
    token: str | None
    value: float | None
    label: int | str | None
    size: int
    """Nodes, a shared child counted once for each parent that holds it."""
    depth: int
    """Edges from here to the deepest leaf; 0 for a leaf."""
    _hash: int

    def __init__(
        self,
        function: str,
        children: Sequence["Tree"] = (),
        token: str | None = None,
        value: float | None = None,
        label: int | str | None = None,
    ) -> None:
        children = tuple(children)
        size = 1
        depth = 0
        hashes = []
        for child in children:
            if not isinstance(child, Tree):
                raise TypeError(f"a child of {function!r} is {child!r}; children must be Trees")
            hashes.append(child._hash)
            size += child.size
            if child.depth >= depth:
                depth = child.depth + 1
        if not isinstance(function, str) or not (token is None or isinstance(token, str)):
            raise TypeError(f"function and token must be strings, not {function!r} and {token!r}")
        if not function:
            raise ValueError("a node's function is empty; name what the node computes")
        if value is not None:
            value = float(value)
            if not math.isfinite(value):
                raise ValueError(f"the value of a {function!r} node is {value}; it must be a finite number")
        put = object.__setattr__
        put(self, "function", function)
        put(self, "children", children)
        put(self, "token", token)
        put(self, "value", value)
        put(self, "label", label)
        put(self, "size", size)
        put(self, "depth", depth)
        put(self, "_hash", hash((function, token, value, label, *hashes)))

    @classmethod
    def from_object(
        cls,
        root: Any,
        children: str | Callable[[Any], Iterable[Any] | None],
        function: str | Callable[[Any], str],
        token: str | Callable[[Any], str | None] | None = None,
    ) -> "Tree":
        """The tree of objects of any kind, such as the nodes of a parser of your own.

        Examples:
            >>> from types import SimpleNamespace as Node
            >>> from dgltree import Tree
            >>> x = Node(kind="Symbol", parts=[], text="x")
            >>> tree = Tree.from_object(Node(kind="Mul", parts=[x, x], text=None), "parts", "kind", token="text")
            >>> tree
            Tree('Mul', (Tree('Symbol', token='x'), Tree('Symbol', token='x')))
            >>> tree.children[0] is tree.children[1]
            True
            >>> Tree.from_object(("Mul", "x", "y"), lambda t: t[1:] if t[0] == "Mul" else None, lambda t: t[0])
            Tree('Mul', (Tree('x'), Tree('y')))

        Each object is read once: one with several parents becomes one child that they share. Nothing recurses, so a
        chain of a million objects is read.

        Args:
            root: the object of the root.
            children: a function of an object that gives its children in order, or None for none; or the name of an
                attribute that has them.
            function: the same for the function of its node.
            token: the same for its token, None for an object without one; left out if no object has one.

        Returns a tree with a node for each object, one with several parents counted once for each.

        Raises ``ValueError`` for an object that is below itself, one without such an attribute, None among children,
        and an empty function; ``TypeError`` for a function or a token that is not text. They name the object by the
        positions of children from the root on: ``0.2`` is the third child of the first. What a given function raises
        is left as it is.
        """
        fields = ObjectFields(children, function, token)
        return build(root, fields, cls)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tree is immutable: build a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tree is immutable: {name!r} cannot be deleted")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        # Pairs that were compared are remembered: trees of shared objects may have 2^60 pairs of nodes, but they have
        # few pairs of objects. Different hashes end nearly every comparison of different trees at the root.
        pairs = [(self, other)]
        compared = set()
        while pairs:
            a, b = pairs.pop()
            if a is b:
                continue
            if a._hash != b._hash:
                return False
            if a.fields != b.fields or len(a.children) != len(b.children):
                return False
            if a.children:
                key = (id(a), id(b))
                if key not in compared:
                    compared.add(key)
                    pairs.extend(zip(a.children, b.children, strict=True))
        return True

    def __repr__(self) -> str:
        if self.size > REPR_LIMIT:
            return f"<Tree {self.function!r}: {self.size} nodes, depth {self.depth}>"
        return self.fold(_constructor_text)

    def _repr_html_(self) -> str:
        """A picture for notebooks, of the nodes nearest to the root, under 50 KB."""
        unit = "node" if self.size == 1 else "nodes"
        title = f"Tree of {self.size:,} {unit}, depth {self.depth}"
        return frame_pictures(title, [tree_svg(self, name_of, lambda node: node.children)])

    def __copy__(self) -> "Tree":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tree":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the distinct nodes, children before parents, each with the indices of its children in that list.

        The hash is left out, because Python salts the hashes of texts differently in every process.
        """
        rows: list[tuple[NodeFields, list[int]]] = []
        index = {}
        for node in self.distinct():
            index[id(node)] = len(rows)
            child_rows = [index[id(child)] for child in node.children]
            rows.append((node.fields, child_rows))
        return _from_flat, (rows,)

    @property
    def fields(self) -> NodeFields:
        """The node's own content: (function, token, value, label)."""
        return self.function, self.token, self.value, self.label

    def preorder(self) -> Iterator["Tree"]:
        """Every node before its children, left to right; a shared child comes once for each parent."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.children:
                stack += node.children[::-1]

    def distinct(self) -> Iterator["Tree"]:
        """Every distinct object once, children before parents."""
        # An inner node stays on the stack below its children and is met a second time when they are done.
        done = set()
        begun = set()
        stack = [self]
        while stack:
            node = stack[-1]
            key = id(node)
            if key not in done and node.children and key not in begun:
                begun.add(key)
                stack += node.children[::-1]
                continue
            stack.pop()
            if key not in done:
                done.add(key)
                yield node

    def distinct_preorder(self) -> Iterator["Tree"]:
        """Every distinct object once, in the order in which :meth:`preorder` first meets it."""
        met = set()
        stack = [self]
        while stack:
            node = stack.pop()
            key = id(node)
            if key not in met:
                met.add(key)
                yield node
                if node.children:
                    stack += node.children[::-1]

    def fold(self, combine: Callable[["Tree", list[T]], T]) -> T:
        """``combine(node, results of its children)`` from the leaves to the root, once for each distinct object."""
        results: dict[int, T] = {}
        for node in self.distinct():
            child_results = [results[id(child)] for child in node.children]
            results[id(node)] = combine(node, child_results)
        return results[id(self)]

    def replace(self, **fields: Any) -> "Tree":
        """A copy with some of ``function, children, token, value, label`` changed."""
        for name in ("function", "children", "token", "value", "label"):
            fields.setdefault(name, getattr(self, name))
        return Tree(**fields)


def with_children(node: Tree, children: Sequence[Tree]) -> Tree:
    """A node with other children: itself if these are the objects that it has, so that unchanged parts stay shared."""
    if len(children) == len(node.children) and all(map(is_, children, node.children)):
        return node
    return node.replace(children=children)


def flat_trees(trees: Iterable[Tree | tuple[Tree, ...]]) -> Iterator[Tree]:
    """Every tree of a list, in order, and every member of a tuple such as an equation.

    Raises ``TypeError`` for anything else, with its position in the list, from 1.
    """
    if isinstance(trees, Tree | str) or not isinstance(trees, Iterable):
        raise TypeError(f"trees must be a list, not a {type(trees).__name__}")
    for i, item in enumerate(trees, 1):
        members: Any = item
        if isinstance(item, Tree | str) or not isinstance(item, Iterable):
            members = (item,)
        for tree in members:
            if not isinstance(tree, Tree):
                hint = ""
                if isinstance(tree, str):
                    hint = "; read it first, for example by dgltree.read_infix"
                raise TypeError(f"tree {i} is a {type(tree).__name__}{hint}")
            yield tree


def name_of(node: Tree) -> str:
    """The token or number of a leaf, else the function; of an inner node with a token both."""
    return node_name(node.function, node.token, node.value, not node.children)


def _constructor_text(node: Tree, children: list[str]) -> str:
    """The call that makes a node, from the calls that make its children."""
    parts = [repr(node.function)]
    if len(children) == 1:
        parts.append(f"({children[0]},)")
    elif children:
        parts.append(f"({', '.join(children)})")
    for name in ("token", "value", "label"):
        content = getattr(node, name)
        if content is not None:
            parts.append(f"{name}={content!r}")
    return f"Tree({', '.join(parts)})"


def _from_flat(rows: list[tuple[NodeFields, list[int]]]) -> Tree:
    nodes: list[Tree] = []
    for (function, token, value, label), child_rows in rows:
        children = [nodes[row] for row in child_rows]
        nodes.append(
            Tree(
                function,
                children,
                token,
                value,
                label,
            )
        )
    return nodes[-1]
