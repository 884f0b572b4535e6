"""Symbols of an expression: its variables, and the path from a blank to the root of its side."""

from typing import NamedTuple

from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

VARIABLE = "Symbol"


def variables(*trees: Tree) -> list[str]:
    """Names of the variables, by first appearance; those of an equation are ``variables(*equation)``."""
    nodes = (node for tree in trees for node in tree.distinct_preorder())
    return list(dict.fromkeys(node.token for node in nodes if node.function == VARIABLE and node.token))


class Path(NamedTuple):
    """Where the blank of an equation is."""

    side: int
    """0 for the left side, 1 for the right."""
    steps: tuple[tuple[Tree, int], ...]
    """(node, slot of the child towards the blank), from the blank's parent up to the root; empty for a bare blank."""


def count_blanks(equation: Equation, blank: Tree = BLANK) -> int:
    """How often ``blank`` occurs in an equation."""
    return sum(side.fold(lambda node, below: sum(below) + (node == blank)) for side in equation)


def find_blank(equation: Equation, blank: Tree = BLANK) -> Path:
    """Return the path to ``blank``. Raises ``ValueError`` unless it occurs exactly once."""
    counts: dict[int, int] = {}
    for node in (node for side in equation for node in side.distinct()):
        own = node.function == blank.function and node == blank
        counts[id(node)] = own + sum([counts[id(child)] for child in node.children])
    found = [counts[id(side)] for side in equation]
    if sum(found) != 1:
        raise Refusal(f"the equation has {sum(found) or 'no'} blanks; write exactly one blank _")
    side = found.index(1)
    steps = []
    node = equation[side]
    while node.children:
        slot = next(k for k, child in enumerate(node.children) if counts[id(child)])
        steps.append((node, slot))
        node = node.children[slot]
    return Path(side, tuple(reversed(steps)))


def only_path(equation: Equation) -> Path | None:
    """Return the path to the blank; None unless it occurs exactly once."""
    try:
        return find_blank(equation)
    except ValueError:
        return None
