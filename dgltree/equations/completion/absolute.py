"""Roots of even powers by absolute values: ``abs(x - 1)`` for ``sqrt((x - 1)^2)``; SymPy has them of real symbols."""

from fractions import Fraction

from dgltree.equations.search import written_operations
from dgltree.equations.truth.exact import exact
from dgltree.trees.tree import Tree


def with_absolute_values(tree: Tree) -> Tree:
    """The tree with absolute values in place of roots of even powers."""
    return tree.fold(_rewritten)


def _rewritten(node: Tree, parts: list[Tree]) -> Tree:
    node = node.replace(children=parts) if parts else node
    if node.function != "Pow":
        return node
    base, n = _as_power(node.children[0]), exact(node.children[1])
    if base is None or n is None or n.denominator % 2 == 1:
        return node
    inside, m = base
    exponent = m * n
    if exponent.denominator == 1 and exponent % 2 == 0:
        return written_operations.power(inside, written_operations.fraction(exponent))
    size = Tree("abs", (inside,))
    return size if exponent == 1 else written_operations.power(size, written_operations.fraction(exponent))


def _as_power(tree: Tree) -> tuple[Tree, Fraction] | None:
    """The base and the exponent of an even power, a product of equal factors being one."""
    if tree.function == "Mul" and len(set(tree.children)) == 1:
        base, exponent = tree.children[0], Fraction(len(tree.children))
    elif tree.function == "Pow" and (n := exact(tree.children[1])) is not None:
        base, exponent = tree.children[0], n
    else:
        return None
    return (base, exponent) if exponent.denominator == 1 and exponent % 2 == 0 and exponent > 0 else None
