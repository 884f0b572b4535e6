"""The nodes of a tree with the way back to the root, for changing one of them."""

import functools

from dgltree.tree import Tree


class Places:
    """The nodes of ``tree`` parents before children, the root first; a shared child has one place for each parent."""

    def __init__(self, tree: Tree) -> None:
        self.nodes = [tree]
        self._parents = [(-1, 0)]  # (place of the parent, position among its children)
        stack = [(tree, 0)]
        while stack:
            node, place = stack.pop()
            for position, child in enumerate(node.children):
                stack.append((child, len(self.nodes)))
                self.nodes.append(child)
                self._parents.append((place, position))

    def replaced(self, place: int, new: Tree) -> Tree:
        """The tree with ``new`` in ``place``; all that is beside the path to the root is the same object as before."""
        parent, position = self._parents[place]
        while parent >= 0:
            node = self.nodes[parent]
            new = Tree(node.function, (*node.children[:position], new, *node.children[position + 1 :]))
            parent, position = self._parents[parent]
        return new

    @functools.cached_property
    def variables(self) -> list[Tree]:
        """The distinct variables of the tree."""
        return list(dict.fromkeys([node for node in self.nodes if node.function == "Symbol"]))
