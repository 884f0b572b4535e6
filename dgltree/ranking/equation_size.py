"""How large an equation may be that a network is asked about."""

from dgltree.support.refusal import Refusal
from dgltree.trees.equation import Equation

MAX_NODES = 5000
"""Nodes of an equation, at most."""
MAX_DEPTH = 200
"""Edges from the equals sign to the deepest leaf, at most: a network works level by level."""


def is_small(equation: Equation, deepest: int = MAX_DEPTH) -> bool:
    """Whether a network answers within seconds; with ``deepest`` of 50, within some tenths of one."""
    if equation.left.size + equation.right.size > MAX_NODES:
        return False
    return equation.depth <= deepest


def check_size(equation: Equation) -> None:
    """Raise ``ValueError`` for an equation that would keep a network busy for long."""
    if not is_small(equation):
        raise Refusal(
            f"the equation is too large for a network: it has more than {MAX_NODES:,} nodes, or is more than "
            f"{MAX_DEPTH} deep; complete it by search"
        )
