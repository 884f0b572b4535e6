"""Sums and products of trees, taken apart."""

from dgltree.trees.tree import Tree


def terms(tree: Tree) -> tuple[Tree, ...]:
    """The terms of a sum, without the brackets in it."""
    if tree.function != "Add":
        return (tree,)
    return tuple(term for child in tree.children for term in terms(child))


def factors(tree: Tree) -> tuple[Tree, ...]:
    """The factors of a product, without the brackets in it."""
    if tree.function != "Mul":
        return (tree,)
    return tuple(factor for child in tree.children for factor in factors(child))
