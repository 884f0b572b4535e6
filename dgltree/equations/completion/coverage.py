"""Whether a filler holds wherever the rest of the equation has a real value, or on a part of that only."""

from collections.abc import Iterator

from dgltree.equations.expressions.names import variables
from dgltree.equations.expressions.paths import count_blanks, find_blank
from dgltree.equations.truth.balls import Unjudged, is_real
from dgltree.equations.truth.compare import PointOutcome, compare
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.sample_points import points
from dgltree.equations.truth.verdict import Domain, Verdict
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

BITS = 64
"""Of the values that decide whether a point is asked; one that may not be real is left out."""


def covers(equation: Equation, filler: Tree, verdict: Verdict) -> bool:
    """Whether the filled equation holds at all real points where its other parts have real values.

    Args:
        equation: with one blank, at one place or at several.
        filler: what is put there.
        verdict: of the filled equation.
    """
    if verdict.domain in (Domain.EVERYWHERE, Domain.REALS):
        return True
    if verdict.domain not in (Domain.POSITIVE, Domain.PART):
        return False
    rest = list(_rest(equation))
    try:
        filled = Program(equation.fill(filler), school=True)
        parts = [Program(Equation(tree, tree), school=True) for tree in rest]
    except Unjudged:
        return False
    for point in points(variables(*equation.fill(filler)), "real"):
        if all(_real(part.at(point, BITS)[0]) for part in parts):
            outcome = compare(filled, point, "real").outcome
            if outcome not in (PointOutcome.AGREE, PointOutcome.BLURRED, PointOutcome.OPEN, PointOutcome.NO_VALUE):
                return False
    return True


def _real(value: object) -> bool:
    return value is not None and is_real(value) is True


def _rest(equation: Equation) -> Iterator[Tree]:
    """The parts without a blank: the other side, and what is next to the path from the blank to its root."""
    if count_blanks(equation) != 1:
        yield from (side for side in equation if all(node != BLANK for node in side.distinct()))
        return
    path = find_blank(equation)
    yield equation[1 - path.side]
    for node, slot in path.steps:
        yield from (child for k, child in enumerate(node.children) if k != slot)
