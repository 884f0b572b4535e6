"""Angles that may be meant in degrees."""

from dgltree.read.functions import names
from dgltree.read.typed.notes import Note, make_note
from dgltree.trees.tree import Tree

CIRCULAR = frozenset(names("circular", inverse=False))
MIN_DEGREES, DEGREE_STEP, MAX_DEGREE_DIGITS = 10, 5, 3
"""Of whole numbers that may be degrees."""


def in_radians(*trees: Tree) -> tuple[Note, ...]:
    """A note on the first angle with a multiple of five, ten or more, as a term and without pi: it is in radians."""
    for node in (node for tree in trees for node in tree.distinct()):
        if node.function not in CIRCULAR or len(node.children) != 1:
            continue
        angle = node.children[0]
        for term in angle.children if angle.function == "Add" else (angle,):
            if text := _degrees(term):
                return (make_note("radians", angle=text, function=node.function),)
    return ()


def _degrees(term: Tree) -> str:
    """The number of a term that may be degrees, ``30`` of 30 and of -30."""
    if term.function == "Mul" and len(term.children) == 2 and term.children[0].function == "NegativeOne":
        term = term.children[1]
    text = (term.token or "").lstrip("-")
    if (
        term.function != "Integer"
        or len(text) > MAX_DEGREE_DIGITS
        or int(text) < MIN_DEGREES
        or int(text) % DEGREE_STEP
    ):
        return ""
    return text
