"""Whether ``i``, ``I`` or ``j`` is the imaginary unit in an equation, or a variable."""

from collections.abc import Collection

from dgltree.equations.expressions.variables import VARIABLE, variables
from dgltree.read.notation import IMAGINARY_UNIT
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

UNITS = ("i", "I", "j")
BESIDE = frozenset(["x", "y", "z", "w", "t", "a", "b", "r", "theta", "phi", "alpha", "beta", "θ", "φ", "α", "β"])
"""Variables next to which it is the unit; next to others (V = I*R, a sum over i and n) it is one of them."""


def imaginary_unit(equation: Equation, whole: Collection[str] = ()) -> str | None:
    """The name that means the imaginary unit; None if there is none.

    Args:
        equation: with the name.
        whole: variables that are whole numbers, next to which it is the unit.
    """
    names = variables(*equation)
    units = possible_units(equation)
    if len(units) != 1 or units[0] in whole:
        return None
    others = {name.split("_")[0] for name in names} - set(units) - set(whole)
    indexed = any(name.endswith(f"_{units[0]}") for name in names)
    return units[0] if others <= BESIDE and not indexed else None


def possible_units(equation: Equation) -> list[str]:
    """The names in an equation that can mean the imaginary unit."""
    names = variables(*equation)
    return [name for name in UNITS if name in names]


def with_unit(equation: Equation, name: str) -> Equation:
    """The equation with sqrt(-1) for the name."""
    unit = {Tree(VARIABLE, token=name): IMAGINARY_UNIT}
    return Equation(*(substitute(side, unit) for side in equation))


def name_unit(tree: Tree, name: str) -> Tree:
    """The tree with the name for sqrt(-1): the way back."""
    leaf = Tree(VARIABLE, token=name)
    return tree.fold(lambda node, children: leaf if node == IMAGINARY_UNIT else node.replace(children=children))


def has_imaginary_unit(*trees: Tree) -> bool:
    """Whether sqrt(-1) is a part of any tree."""
    return any(node == IMAGINARY_UNIT for tree in trees for node in tree.distinct())
