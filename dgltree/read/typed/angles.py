"""Angles that may be meant in degrees."""

from dgltree.read.functions import names
from dgltree.trees.tree import Tree

CIRCULAR = frozenset(names("circular", inverse=False))
LONGEST = 4
"""Digits of an angle in degrees, and its sign."""


def in_radians(*trees: Tree) -> tuple[str, ...]:
    """A note on the first angle that is a multiple of five, ten or more, without pi: it is read as radians."""
    for node in (node for tree in trees for node in tree.distinct()):
        angle = node.children[0] if node.function in CIRCULAR and len(node.children) == 1 else None
        if angle is None or angle.function != "Integer" or len(text := angle.token or "") > LONGEST:
            continue
        if abs(int(text)) >= 10 and int(text) % 5 == 0:
            return (f"{node.function}({text}) is of {text} radians; write {text}° for degrees",)
    return ()
