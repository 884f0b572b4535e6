"""``dgltree.verify``: whether and where an equation holds, as a person types it."""

from collections.abc import Collection
from typing import NamedTuple

from dgltree.equations.completion.assumptions import check_assumptions, read_assumptions, verdict_under, whole_letters
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.imaginary import imaginary_unit, possible_units, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.precision import one_thread_at_a_time
from dgltree.equations.truth.proofs.line import real_line
from dgltree.equations.truth.proofs.why import Reason, reasons
from dgltree.equations.truth.verdict import Counterexample, Domain, Verdict
from dgltree.equations.typed import Question, read_typed
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation


class Verification(NamedTuple):
    """Where an equation holds."""

    equation: Equation
    verdict: Verdict
    unit: str | None = None
    """The name that was read as the imaginary unit."""
    variable: str | None = None
    """The name of a variable that could be the imaginary unit."""
    assumed: tuple[str, ...] = ()
    """The assumptions on variables, as they are shown."""
    holds_as_assumed: bool = False
    """Whether it is shown, by the grade of the verdict, that it holds wherever they are true."""

    @property
    def counterexample(self) -> Counterexample | None:
        """A point at which the sides differ, if the equation does not hold."""
        return self.verdict.counterexample

    @property
    @one_thread_at_a_time
    def why(self) -> list[Reason]:
        """The proof, in one real variable: where the line is cut, and which rule holds on each part.

        Empty for constants, several variables, the imaginary unit, and a function without rules.
        """
        names = variables(*self.equation)
        line = real_line(self.equation, names[0]) if len(names) == 1 and not self.unit else None
        return [] if line is None else reasons(line)

    def __str__(self) -> str:
        if self.holds_as_assumed:
            return f"holds where {' and '.join(self.assumed)} ({self.verdict.grade.value})"
        if self.unit:
            return f"{self.verdict}; {self.unit} is the imaginary unit"
        return f"{self.verdict}; {self.variable} is a variable here" if self.variable else str(self.verdict)


@one_thread_at_a_time
def verify(equation: str | Equation, names: Collection[str] = (), assume: Collection[str] = ()) -> Verification:
    """Whether and where an equation holds: ``verify("sin(2x) = 2 sin x cos x")``.

    Examples:
        >>> import dgltree
        >>> print(dgltree.verify("sqrt(x^2) = x"))
        holds for x ≥ 0 (proved); at x = -1 left is 1, right is -1

    Args:
        equation: as a person types it, or read already.
        names: as of :func:`complete`.
        assume: of the variables, as ``["x > 0", "y in [0, 1]"]``: whether it holds where they are so.

    Raises ``ValueError`` for a text that cannot be read, a blank, and infinity.

    See also: :func:`dgltree.complete`, :func:`dgltree.check`.
    """
    asked = read_typed(equation, names).equation if isinstance(equation, str) else equation
    if any(node.function == BLANK.function for side in asked for node in side.distinct()):
        raise Refusal("the equation has a blank: complete the equation, or fill in the blank")
    if any(node.function == "Infinity" for side in asked for node in side.distinct()):
        raise Refusal("infinity (oo) is not a number; write an equation of numbers")
    judge = Judge()
    if assume:
        assumed = check_assumptions(read_assumptions(assume), variables(*asked))
        unit = imaginary_unit(asked, whole_letters(assumed))
        verdict, holds = verdict_under(judge, asked if unit is None else with_unit(asked, unit), assumed)
        texts = tuple(one.text for one in assumed)
        return Verification(asked, verdict, unit, assumed=texts, holds_as_assumed=holds)
    unit = imaginary_unit(asked)
    if unit is not None:
        return Verification(asked, judge.verdict(with_unit(asked, unit)), unit)
    verdict = judge.verdict(asked)
    [name, *others] = [*possible_units(asked), None]
    if name is None or others != [None]:
        return Verification(asked, verdict)
    if verdict.domain is Domain.NONE and (complex_one := judge.verdict(with_unit(asked, name))).holds:
        return Verification(asked, complex_one, name)  # e^(i*k*x) = cos(k*x) + i*sin(k*x)
    return Verification(asked, verdict, variable=name)


def question(equation: Equation) -> Question:
    """The question that an equation with blanks is."""
    blanks = (node.token or "_" for side in equation for node in side.distinct_preorder() if node.function == "_")
    return Question(equation, tuple(dict.fromkeys(blanks)))
