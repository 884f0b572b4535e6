"""The published equations with a blank: what was there."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.twelve.as_json import as_json
from dgltree.trees.tree import Tree
from tasks.equations.blanks import read_folder

MOST_NODES = 45


def blanks(data: Path) -> Iterator[LabelledRecord]:
    """The function at the root of what was blanked in a correct equation; equations of one file and place are one."""
    for blank in read_folder(data / "equations" / "blanks"):
        equation = blank.example.equation
        tree = Tree("Equality", (equation.left, equation.right))
        if tree.size <= MOST_NODES:
            yield LabelledRecord(blank.example.filler.function, (as_json(tree),), f"{blank.file} {blank.index}")
