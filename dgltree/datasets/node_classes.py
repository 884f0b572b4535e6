"""Labels of nodes that are texts, as numbers."""

from dgltree.trees.tree import Tree


class NodeClasses:
    """Numbers the texts that label nodes, in the order in which they occur first."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._kinds: set[type] = set()

    @property
    def names(self) -> tuple[str, ...] | None:
        """The text of each number; None if no label is a text."""
        return tuple(self.numbers) or None

    def numbered(self, trees: list[Tree]) -> list[Tree]:
        """Trees whose labels are numbers. Raises ``ValueError`` if texts and numbers are mixed, in trees before too."""
        kinds = {type(node.label) for tree in trees for node in tree.distinct_preorder()} - {type(None)}
        self._kinds |= kinds
        if str in self._kinds and len(self._kinds) > 1:
            raise ValueError("some labels of nodes are texts and others numbers; give one kind")
        return [tree.fold(self._relabelled) for tree in trees] if str in kinds else trees

    def _relabelled(self, node: Tree, children: list[Tree]) -> Tree:
        label = None if node.label is None else self.numbers.setdefault(str(node.label), len(self.numbers))
        return node.replace(label=label, children=children)
