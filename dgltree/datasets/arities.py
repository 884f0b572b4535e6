"""Trees with other numbers of children than a model knows, as trees with those that it knows."""

from collections.abc import Collection

from dgltree.batching.vocabulary import UNKNOWN
from dgltree.trees.tree import Tree


def fit_arity(tree: Tree, arities: Collection[int]) -> Tree:
    """The tree, whose nodes have numbers of children that are among ``arities``, of which one is 0 and one above 1.

    A node with fewer children than such a number gets unknown leaves after them, the fewest that it needs. One with
    more children than any has the last ones below an unknown node: with 0 and 2, ``f(a, b, c)`` becomes
    ``f(a, <unk>(b, c))``.
    """
    most = max(arities)

    def shaped(children: list[Tree]) -> list[Tree]:
        nested = range(0, len(children) - most, most - 1)  # where the children of each node but the innermost begin
        inner = children[len(nested) * (most - 1) :]
        wanted = min(arity for arity in arities if arity >= len(inner))
        inner = inner + [Tree(UNKNOWN)] * (wanted - len(inner))
        for start in reversed(nested):
            inner = [*children[start : start + most - 1], Tree(UNKNOWN, inner)]
        return inner

    return tree.fold(lambda node, children: node.replace(children=shaped(children)))
