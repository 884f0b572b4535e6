"""The judge: proofs, parts of the real line, refutations and tests, in the order of what is cheapest."""

from dgltree.equations.truth.balls import Unjudged
from dgltree.equations.truth.complex_case import everywhere
from dgltree.equations.truth.constant_case import constant
from dgltree.equations.truth.fingerprint import Fingerprint, Reach
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.one_variable import one_variable
from dgltree.equations.truth.several_variables import several
from dgltree.equations.truth.verdict import Doubt, Verdict, undecided
from dgltree.trees.equation import Equation, share_equal_parts


class Judge:
    """Gives verdicts, and remembers them."""

    def __init__(self) -> None:
        self._known: dict[Equation, Verdict] = {}
        self._fingerprint = Fingerprint()

    def reach(self, equation: Equation) -> Reach:
        """Where floating-point numbers agree: a quick guess, which a verdict may contradict."""
        return self._fingerprint.reach(equation)

    def holds(self, equation: Equation) -> bool:
        """Whether it is likely to hold at least on positive reals, and the verdict says so, too."""
        return self.reach(equation).likely and self.verdict(equation).holds

    def verdict(self, equation: Equation) -> Verdict:
        """The verdict; undecided also if a function or a leaf has no value, or the equation is too large."""
        if equation not in self._known:
            try:
                self._known[equation] = _verdict(JudgedEquation(share_equal_parts(equation)))
            except Unjudged as error:
                self._known[equation] = undecided(str(error), Doubt.NOT_READ)
            except RecursionError:
                self._known[equation] = undecided("it is too large", Doubt.NOT_READ)
        return self._known[equation]


def _verdict(case: JudgedEquation) -> Verdict:
    if not case.names:
        return constant(case)
    found = everywhere(case)
    if found is not None:
        return found
    return one_variable(case) if len(case.names) == 1 else several(case)
