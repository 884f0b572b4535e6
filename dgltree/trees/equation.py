"""Equations: pairs of trees, possibly with a blank."""

from typing import NamedTuple

from dgltree.trees.tree import Tree, with_children

BLANK = Tree("_")
"""The leaf that stands for what is missing; no vocabulary knows it."""


def blank(name: str) -> Tree:
    """The leaf of the blank called ``name``: ``BLANK`` for ``_``, else ``Tree("_", token=name)`` for ``_1``, ``_2``.

    Every blank is a leaf with the function ``_``. Blanks of one name are equal leaves, and get the same filler.
    """
    if name == "_":
        return BLANK
    return Tree("_", token=name)


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
        replacements = {BLANK: filler}
        return Equation(substitute(self.left, replacements), substitute(self.right, replacements))


def share_equal_parts(equation: Equation) -> Equation:
    """An equal equation in which duplicate subtrees are one object (hash-consing).

    A dictionary then finds a subtree by its identity, and does not compare whole trees.
    """
    shared = {}

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        # The children are shared already, so their ids say which subtrees they are; ``shared`` keeps the ids valid.
        key = (node.fields, *map(id, children))
        if key not in shared:
            shared[key] = with_children(node, children)
        return shared[key]

    return Equation(equation.left.fold(rebuild), equation.right.fold(rebuild))


def substitute(tree: Tree, replacements: dict[Tree, Tree]) -> Tree:
    """``tree`` with every leaf that is a key replaced by its value; parts without one are kept as they are."""

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        if not children:
            return replacements.get(node, node)
        return with_children(node, children)

    return tree.fold(rebuild)
