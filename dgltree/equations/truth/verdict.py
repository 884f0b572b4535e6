"""Where an equation holds: everywhere, on the reals, or on positive reals; by numerical evaluation."""

import enum
from typing import NamedTuple

from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.bounded_values import variable_values
from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.equations.truth.exact import exact_value
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


def _against(truth: Truth) -> int:
    return 0 if truth is Truth.FALSE else 1


_ORDER = {verdict: rank for rank, verdict in enumerate(Verdict)}


class Counterexample(NamedTuple):
    """Values of the variables at which the sides of an equation differ."""

    variables: dict[str, complex]
    left: complex
    right: complex

    def __str__(self) -> str:
        names = ", ".join(f"{name} = {_number(value)}" for name, value in self.variables.items())
        return f"{f'at {names} ' if names else ''}left is {_number(self.left)}, right is {_number(self.right)}"


class Judge:
    """Gives verdicts, remembering the values of the parts that it met."""

    def __init__(self) -> None:
        self._evaluators = {
            Verdict.EVERYWHERE: Evaluator("complex"),
            Verdict.REALS: Evaluator("real"),
            Verdict.POSITIVE: Evaluator("positive"),
        }
        self._wide = Evaluator("wide")

    def verdict(self, equation: Equation) -> Verdict:
        """The strongest that can be given; UNDECIDED also for a function or constant without a value."""
        sides = [exact_value(side) for side in equation]
        if None not in sides:
            return Verdict.EVERYWHERE if sides[0] == sides[1] else Verdict.FALSE
        try:
            truths = {Verdict.POSITIVE: self._evaluators[Verdict.POSITIVE].truth(equation)}
            if truths[Verdict.POSITIVE] is not Truth.FALSE:  # most of what is wrong is wrong there, too
                for verdict in (Verdict.EVERYWHERE, Verdict.REALS):
                    truths[verdict] = self._evaluators[verdict].truth(equation)
            if truths.get(Verdict.EVERYWHERE) is Truth.TRUE:  # log(exp(x)) is x where x is near 0
                truths[Verdict.EVERYWHERE] = min(Truth.TRUE, self._wide.truth(equation), key=_against)
        except ValueError:
            return Verdict.UNDECIDED
        if Truth.TRUE in truths.values():
            return min((verdict for verdict, truth in truths.items() if truth is Truth.TRUE), key=lambda v: v.rank)
        return Verdict.FALSE if Truth.FALSE in truths.values() else Verdict.UNDECIDED

    def counterexample(self, equation: Equation) -> Counterexample | None:
        """A point at which the sides differ: positive if there is one, else real, else complex; None if none is known.

        Raises ``ValueError`` for a function or constant without a value.
        """
        for evaluator in reversed(self._evaluators.values()):
            difference = evaluator.difference(equation)
            if difference is not None:
                names = variables(*equation)
                values = {n: complex(variable_values(n, evaluator.domain)[difference.point]) for n in names}
                return Counterexample(values, difference.left, difference.right)
        return None


def _number(value: complex) -> str:
    """Four digits, the imaginary part where there is one."""
    if abs(value.imag) <= 1e-9 * abs(value):
        return f"{value.real:.4g}"
    return f"{value.real:.4g}{value.imag:+.4g}i"
