"""One tree a line and nothing else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from dgltree.datasets.formats.records import HELP, LineRecords, bare_label
from dgltree.datasets.formats.source import Source
from dgltree.datasets.settings import Reading
from dgltree.trees.tree import Tree

BRANCHES = re.compile(r"[^\w\s.]")
"""A sign that every notation has in a tree of more than one word: brackets or an operator."""


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

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.reading.tree,)

    def fields_of(self, text: str) -> Mapping[str, Any]:
        return {self.reading.tree: text}

    def with_notation(self) -> Self:
        """Raises ``ValueError`` also for source code and for single words, which are mostly no trees."""
        found = super().with_notation()
        if self.reading.notation is not None:
            return found
        if found.reading.notation == "python":
            raise ValueError(f"{self.source.path}: no notation for trees was recognized in it; {HELP}")
        texts, _ = self.sample_texts()
        if found.reading.notation in ("infix", "brackets", "sexpr") and not any(
            BRANCHES.search(text) for text in texts
        ):
            raise ValueError(f"{self.source.path}: its first trees are single words or numbers, not trees; {HELP}")
        return found

    def labelled(self, trees: tuple[Tree, ...], label: str | None) -> tuple[tuple[Tree, ...], str | None]:
        return bare_label(trees, label, self.reading)


@dataclass(kw_only=True)
class SMILESLines(LineRecords):
    """``CCO ethanol``: a molecule, and after it a name, which need not be unique and is not read."""

    suffixes = (".smi", ".smiles")

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for an empty source."""
        source.title()
        return cls(source, replace(reading, notation=reading.notation or "smiles"))

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.reading.tree,)

    def fields_of(self, text: str) -> Mapping[str, Any]:
        words = text.split()
        if not words:  # a no-break space, say
            raise ValueError("the line is blank")
        return {self.reading.tree: words[0]}
