"""Nodes of many children as nodes of two, and back."""

from typing import Literal

from dgltree.trees.tree import Tree, with_children

MARK = "|"
"""The end of an intermediate node's function: ``NP|`` has some of the children of an ``NP``."""


def binarize(tree: Tree, branching: Literal["left", "right"]) -> Tree:
    """A tree whose nodes have at most two children: intermediate nodes hold those that a node has more.

    Examples:
        >>> from dgltree import Tree, binarize
        >>> binarize(Tree("NP", [Tree("a"), Tree("b"), Tree("c")]), "right")
        Tree('NP', (Tree('a'), Tree('NP|', (Tree('b'), Tree('c')))))

    They carry the function with ``|`` after it and nothing else. To the right ``NP(a, b, c, d)`` becomes
    ``NP(a, NP|(b, NP|(c, d)))``, to the left ``NP(NP|(NP|(a, b), c), d)``. What needs none is kept as it is, and
    shared objects stay shared.

    Raises ``ValueError`` for another ``branching``, and for a function that ends with ``|`` already.
    """
    if branching not in ("left", "right"):
        raise ValueError(f"branching is {branching!r}; it must be 'left' or 'right'")

    def split(node: Tree, children: list[Tree]) -> Tree:
        if _is_intermediate(node):
            raise ValueError(f"the function {node.function!r} ends with {MARK!r}, which marks intermediate nodes")
        if len(children) > 2:
            children = _in_pairs(node.function + MARK, children, branching)
        return with_children(node, children)

    return tree.fold(split)


def unbinarize(tree: Tree) -> Tree:
    """The tree that :func:`binarize` was called with.

    Examples:
        >>> from dgltree import Tree, binarize, unbinarize
        >>> tree = Tree("NP", [Tree("a"), Tree("b"), Tree("c")])
        >>> unbinarize(binarize(tree, "left")) == tree
        True

    Raises ``ValueError`` for what no call gives: an intermediate node at the root, below another function, with a
    token, value or label, next to another one, or with more or fewer than two children.
    """
    if _is_intermediate(tree):
        raise ValueError(f"the root is the intermediate node {tree.function!r}; expected a complete node as the root")
    restored: dict[int, Tree] = {}
    for node in tree.distinct():
        _check(node)
        if not _is_intermediate(node):
            children = [restored[id(child)] for child in _original_children(node)]
            restored[id(node)] = with_children(node, children)
    return restored[id(tree)]


def _is_intermediate(node: Tree) -> bool:
    return node.function.endswith(MARK)


def _in_pairs(
    function: str,
    children: list[Tree],
    branching: Literal["left", "right"],
) -> list[Tree]:
    """Two children in place of three or more: a chain of intermediate nodes holds all but the first or last one."""
    if branching == "right":
        rest = children[-1]
        for child in children[-2:0:-1]:
            rest = Tree(function, (child, rest))
        return [children[0], rest]
    rest = children[0]
    for child in children[1:-1]:
        rest = Tree(function, (rest, child))
    return [rest, children[-1]]


def _original_children(node: Tree) -> list[Tree]:
    """The children of a node, where each intermediate node is replaced by its children, over and over."""
    children = []
    stack = list(node.children[::-1])
    while stack:
        child = stack.pop()
        if _is_intermediate(child):
            stack.extend(child.children[::-1])
        else:
            children.append(child)
    return children


def _check(node: Tree) -> None:
    """Raise ``ValueError`` unless :func:`binarize` can have made a node with these children."""
    intermediate = [child for child in node.children if _is_intermediate(child)]
    expected = node.function.removesuffix(MARK) + MARK
    for child in intermediate:
        if child.function != expected:
            raise ValueError(f"an intermediate node {child.function!r} is a child of {node.function!r}, not of its own")
    if _is_intermediate(node):
        if node.fields[1:] != (None, None, None):
            raise ValueError(f"an intermediate node has a token, a value or a label: {node!r}")
    elif not intermediate:
        return
    # Of a pair of children one is the rest of the chain, at most: two chains next to each other come from nowhere.
    if len(node.children) != 2 or len(intermediate) == 2:
        raise ValueError(f"expected two children here, at most one of them an intermediate node: {node!r}")
