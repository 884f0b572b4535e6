"""Where an equation seems to hold by floating-point numbers at fixed points: what a search sorts out, no verdict."""

import enum

from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.program import rational
from dgltree.trees.equation import Equation


class Reach(enum.IntEnum):
    """At which points the sides agree, from the most to the fewest."""

    EVERYWHERE = 0
    """Complex ones, with principal values."""
    REALS = 1
    POSITIVE = 2
    OPEN = 3
    """Too few points at which both sides have a value."""
    NONE = 4

    @property
    def likely(self) -> bool:
        """Whether the sides agree at least at positive points."""
        return self <= Reach.POSITIVE


class Fingerprint:
    """Compares sides at points, remembering the values of the parts that it met."""

    def __init__(self) -> None:
        self._evaluators = {
            Reach.EVERYWHERE: Evaluator("complex"),
            Reach.REALS: Evaluator("real"),
            Reach.POSITIVE: Evaluator("positive"),
        }
        self._wide = Evaluator("wide")

    def reach(self, equation: Equation) -> Reach:
        """OPEN also for a function or constant without a value."""
        sides = [exact_value(side) for side in equation]
        if None not in sides:
            return Reach.EVERYWHERE if sides[0] == sides[1] else Reach.NONE
        try:
            truths = {Reach.POSITIVE: self._evaluators[Reach.POSITIVE].truth(equation)}
            if truths[Reach.POSITIVE] is not Truth.FALSE:  # most of what is wrong is wrong there, too
                for reach in (Reach.EVERYWHERE, Reach.REALS):
                    truths[reach] = self._evaluators[reach].truth(equation)
            wide = truths.get(Reach.EVERYWHERE) is Truth.TRUE  # log(exp(x)) is x where x is near 0
            if wide and self._wide.truth(equation) is Truth.FALSE:
                truths[Reach.EVERYWHERE] = Truth.FALSE
        except ValueError:
            return Reach.OPEN
        if not any(node.function == "Symbol" for side in equation for node in side.distinct()):
            roots = [rational(side) for side in equation]
            if None not in roots and roots[0] == roots[1]:  # (-8)^(1/3) = -2
                return Reach.EVERYWHERE if truths.get(Reach.EVERYWHERE) is Truth.TRUE else Reach.REALS
        true = [reach for reach, truth in truths.items() if truth is Truth.TRUE]
        return min(true) if true else Reach.NONE if Truth.FALSE in truths.values() else Reach.OPEN
