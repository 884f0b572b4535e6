"""The variables of expressions."""

from dgltree.trees.tree import Tree

VARIABLE = "Symbol"


def variables(*trees: Tree) -> list[str]:
    """Names of the variables, by first appearance; those of an equation are ``variables(*equation)``."""
    nodes = (node for tree in trees for node in tree.distinct_preorder())
    return list(dict.fromkeys(node.token for node in nodes if node.function == VARIABLE and node.token))
