"""One tree a line and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.records import LineRecords
from dgltree.datasets.formats.source import Source
from dgltree.datasets.reading import Reading
from dgltree.trees.tree import Tree


@dataclass(kw_only=True)
class TreeLines(LineRecords):
    """``(3 (2 The) (4 Rock))``: the label of a tree is that of its root."""

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        return True

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for an empty source."""
        source.title()
        return cls(source, reading)

    def fields_of(self, text: str) -> Mapping[str, Any]:
        return {self.reading.tree: text}

    def labelled(self, trees: tuple[Tree, ...], label: str | None) -> tuple[tuple[Tree, ...], str | None]:
        """The label of the root. A treebank's stands in the tree, from which it is taken."""
        [tree] = trees
        if tree.label is not None:
            return trees, str(tree.label)
        if self.reading.notation == "treebank":
            return (tree.replace(function="ROOT"),), tree.function
        return trees, None
