"""Equations: pairs of trees, possibly with a blank."""

from typing import NamedTuple

from dgltree.trees.tree import Tree

BLANK = Tree("_")
"""The leaf that stands for what is missing; no vocabulary knows it."""


def blank(name: str) -> Tree:
    """The leaf of the blank called ``name``: ``BLANK`` for ``_``, else ``Tree("_", token=name)`` for ``_1``, ``_2``.

    Every blank is a leaf with the function ``_``. The same name is an equal leaf: one filler goes in all its places.
    """
    return BLANK if name == "_" else Tree("_", token=name)


class Equation(NamedTuple):
    """``left = right``. The equals sign is not a node: it has no weights in any model.

    Examples:
        >>> import dgltree
        >>> equation = dgltree.read_equation("x + _ = 2*x")
        >>> dgltree.write_equation(equation.fill(dgltree.read_infix("x")))
        'x + x = 2*x'

    See also: :func:`dgltree.read_equation`, :func:`dgltree.complete`.
    """

    left: Tree
    right: Tree

    @property
    def depth(self) -> int:
        """Edges from the equals sign to the deepest leaf: ``x = x`` has depth 1."""
        return 1 + max(self.left.depth, self.right.depth)

    def fill(self, filler: Tree) -> "Equation":
        """The equation with every blank replaced by ``filler``."""
        return Equation(*(substitute(side, {BLANK: filler}) for side in self))


def share_equal_parts(equation: Equation) -> Equation:
    """The same with equal parts as one object each: a dictionary then finds them without comparing whole trees."""
    known: dict[tuple[object, ...], Tree] = {}

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        key = (node.fields, *map(id, children))
        if key not in known:
            same = all(new is old for new, old in zip(children, node.children, strict=True))
            known[key] = node if same else node.replace(children=children)
        return known[key]

    return Equation(*(side.fold(rebuild) for side in equation))


def substitute(tree: Tree, replacements: dict[Tree, Tree]) -> Tree:
    """``tree`` with every leaf that is a key replaced by its value; parts without one are kept as they are."""

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        if not node.children:
            return replacements.get(node, node)
        if all(new is old for new, old in zip(children, node.children, strict=True)):
            return node
        return node.replace(children=children)

    return tree.fold(rebuild)
