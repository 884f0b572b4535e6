"""Number leaves, and the side of a number equation that is decoded."""

from dgltree import Equation, Tree
from dgltree.read.notation import MINUS_ONE


def number(value: float) -> Tree:
    """The tree of a number: a leaf, under ``-1 *`` where it is negative, as in the published data."""
    leaf = Tree("Number", value=abs(value))
    return Tree("Mul", (MINUS_ONE, leaf)) if value < 0 else leaf


def bare_number(tree: Tree) -> float | None:
    """The number that ``tree`` is, ``-1 * number`` included; None where it is anything else."""
    if tree.function == "Mul" and len(tree.children) == 2 and tree.children[0] == MINUS_ONE:
        value = tree.children[1].value
        return None if value is None else -value
    return tree.value


def decoded(equation: Equation) -> tuple[Tree, float]:
    """The side to decode, and the number that it should give: the other side, a bare one (Arabshahi et al. 2019).

    Where both sides are bare, the left is decoded. Raises ``ValueError`` where none is.
    """
    for tree, other in (equation, equation[::-1]):
        value = bare_number(other)
        if value is not None:
            return tree, value
    raise ValueError(f"no side of {equation!r} is a number or -1 times a number")
