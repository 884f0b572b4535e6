"""How large an equation may be that a network is asked about."""

from dgltree.trees.equation import Equation

LARGEST = 5000
"""Nodes."""
DEEPEST = 200
"""Edges from the equals sign to the deepest leaf: a network works level by level."""


def check_size(equation: Equation) -> None:
    """Raises ``ValueError`` for an equation that would keep a network busy for seconds."""
    nodes = sum(side.size for side in equation)
    if nodes > LARGEST or equation.depth > DEEPEST:
        raise ValueError(
            f"the equation has {nodes:,} nodes and is {equation.depth:,} deep; the network ranks fillers for up to "
            f"{LARGEST:,} nodes, {DEEPEST} deep"
        )
