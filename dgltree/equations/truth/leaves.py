"""Leaves as floating-point numbers."""

import math

from dgltree.trees.tree import Tree

CONSTANTS = {"Pi": math.pi, "Exp1": math.e}


def number_of(leaf: Tree) -> float:
    """The number that a leaf is: an integer, a fraction, a decimal, pi or e; NaN for what is none."""
    if leaf.function in CONSTANTS:
        return CONSTANTS[leaf.function]
    top, slash, bottom = (leaf.token or "").partition("/")
    try:
        return float(top) / float(bottom) if slash else float(top)
    except (ValueError, ZeroDivisionError):
        return math.nan


def finite(leaf: Tree) -> float:
    """The number that a leaf is. Raises ``ValueError`` for what is none, or not finite."""
    number = number_of(leaf)
    if not math.isfinite(number):
        raise ValueError(f"leaf {leaf!r} has no numeric value; use variables, finite numbers, pi and e")
    return number
