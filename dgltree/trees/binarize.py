"""Nodes of many children as nodes of two, and back."""

from operator import is_
from typing import Literal

from dgltree.trees.tree import Tree

MARK = "|"
"""The end of an intermediate node's function: ``NP|`` has some of the children of an ``NP``."""


def binarize(tree: Tree, branching: Literal["left", "right"]) -> Tree:
    """Intermediate nodes for the children of a node that has more than two, so that no node has more.

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
        return _with_children(node, children)

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
        raise ValueError(f"the root is an intermediate node, {tree.function!r}; expected the node that it is part of")
    whole: dict[int, Tree] = {}
    for node in tree.distinct():
        _check(node)
        if not _is_intermediate(node):
            whole[id(node)] = _with_children(node, [whole[id(child)] for child in _own_children(node)])
    return whole[id(tree)]


def _is_intermediate(node: Tree) -> bool:
    return node.function.endswith(MARK)


def _with_children(node: Tree, children: list[Tree]) -> Tree:
    """``node`` itself if nothing changes, so that unchanged parts stay the objects they are."""
    same = len(children) == len(node.children) and all(map(is_, children, node.children))
    return node if same else node.replace(children=children)


def _in_pairs(function: str, children: list[Tree], branching: Literal["left", "right"]) -> list[Tree]:
    """Two children in place of three or more."""
    if branching == "right":
        rest = children[-1]
        for child in children[-2:0:-1]:
            rest = Tree(function, (child, rest))
        return [children[0], rest]
    rest = children[0]
    for child in children[1:-1]:
        rest = Tree(function, (rest, child))
    return [rest, children[-1]]


def _own_children(node: Tree) -> list[Tree]:
    """The children of a node, with those of its intermediate nodes in their places."""
    own: list[Tree] = []
    stack = list(node.children[::-1])
    while stack:
        child = stack.pop()
        if _is_intermediate(child):
            stack.extend(child.children[::-1])
        else:
            own.append(child)
    return own


def _check(node: Tree) -> None:
    """``ValueError`` for what :func:`binarize` does not make of a node and its children."""
    intermediate = [child for child in node.children if _is_intermediate(child)]
    for child in intermediate:
        if child.function != node.function.removesuffix(MARK) + MARK:
            raise ValueError(f"an intermediate node {child.function!r} is a child of {node.function!r}")
    if _is_intermediate(node) and node.fields[1:] != (None, None, None):
        raise ValueError(f"an intermediate node has a token, a value or a label: {node!r}")
    if (intermediate or _is_intermediate(node)) and (len(node.children) != 2 or len(intermediate) == 2):
        raise ValueError(f"expected two children here, at most one of them an intermediate node: {node!r}")
