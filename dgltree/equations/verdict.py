"""Where an equation holds: everywhere, on the reals, or on positive reals; by numerical evaluation."""

import enum

from dgltree.equations.truth import Evaluator, Truth
from dgltree.trees.equation import Equation


class Verdict(enum.Enum):
    """From the strongest answer to the weakest."""

    EVERYWHERE = "holds everywhere"
    """At complex points, with principal branches."""
    REALS = "holds on the reals"
    """Wherever a side is real, the other is and agrees."""
    POSITIVE = "holds on positive reals"
    """Wherever both sides are real."""
    UNDECIDED = "undecided"
    FALSE = "does not hold"

    @property
    def rank(self) -> int:
        """0 for the strongest."""
        return _ORDER[self]

    @property
    def holds(self) -> bool:
        """Whether the equation holds at least on positive reals."""
        return self.rank <= _ORDER[Verdict.POSITIVE]

    def __str__(self) -> str:
        return self.value


_ORDER = {verdict: rank for rank, verdict in enumerate(Verdict)}


class Judge:
    """Gives verdicts, remembering the values of the parts that it met."""

    def __init__(self) -> None:
        self._evaluators = {
            Verdict.EVERYWHERE: Evaluator("complex"),
            Verdict.REALS: Evaluator("real"),
            Verdict.POSITIVE: Evaluator("positive"),
        }

    def verdict(self, equation: Equation) -> Verdict:
        """The strongest that can be given; UNDECIDED also for a function or constant without a value."""
        try:
            found = []
            for verdict, evaluator in self._evaluators.items():
                truth = evaluator.truth(equation)
                if truth is Truth.TRUE:
                    return verdict
                found.append(truth)
        except ValueError:
            return Verdict.UNDECIDED
        return Verdict.FALSE if Truth.FALSE in found else Verdict.UNDECIDED
