"""``dgltree.complete`` and ``dgltree.verify``: answers to equations as a person types them."""

from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple

from dgltree.above import from_above
from dgltree.equations.completion.assumptions import as_assumed, check_assumptions, read_assumptions, verdict_under
from dgltree.equations.completion.completer import Completer
from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.names import variables
from dgltree.equations.search.search import BUDGET
from dgltree.equations.truth.imaginary import imaginary_unit, possible_units, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.proofs.line import real_line
from dgltree.equations.truth.proofs.why import Reason, reasons
from dgltree.equations.truth.verdict import Counterexample, Domain, Verdict
from dgltree.read.typed import Question, read_question, read_typed
from dgltree.trees.equation import BLANK, Equation

GUESSED = 50
"""Depth of an equation for which the list is ranked as guesses: each filler is computed along the path to the root."""


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


def complete(
    equation: str | Equation,
    top: int = 10,
    model: str | Any = "default",
    budget: int = BUDGET,
    seconds: float | None = None,
    names: Collection[str] = (),
    assume: Collection[str] = (),
) -> Completion:
    """Find the fillers of an equation's blanks: ``complete("x^2 - 5x + 6 = (x - 2)_")``.

    Examples:
        >>> import dgltree
        >>> found = dgltree.complete("x^2 - 5x + 6 = (x - 2)_")
        >>> [dgltree.write_infix(tree) for tree in found.fillers[0].trees]
        ['x - 3']
        >>> print(found.fillers[0].verdict)
        holds everywhere (proved)

    ``complete("2x + 3 = 11, x = _")`` solves an equation, ``complete("factor x^2 - 4")`` rewrites an expression.

    Args:
        equation: as a person types it (:func:`dgltree.read.typed.read_question`), or read already.
        top: how many fillers.
        model: what guesses if nothing is found: a shipped model, a file, or a :class:`dgltree.models.EquationModel`.
        budget: how many values the search looks at, at most.
        seconds: after which it answers with what it has; None for no limit.
        names: runs of letters of a text that are one name, as ``("KE",)``; others are products in LaTeX and next to 2x.
        assume: of the variables, as ``["T > 0"]``: solutions for an unknown that are not so are left out.

    Everything comes back in the equation's own names. Raises ``ValueError`` for a text that cannot be read, an equation
    without a blank, and a function without a value.

    See also: :func:`dgltree.verify`, :func:`dgltree.check`.
    """
    asked = read_question(equation, names) if isinstance(equation, str) else question(equation)
    return as_assumed(completer(model, budget, seconds).answer(asked, top), read_assumptions(assume))


@lru_cache(maxsize=4)  # a model takes a moment to open
def completer(model: str | Any = "default", budget: int = BUDGET, seconds: float | None = None) -> Completer:
    """An object that answers as :func:`complete` does, for many equations."""
    return Completer(from_above("ListGuesser")(model), budget, seconds)


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
        raise ValueError("the equation has a blank: complete it, or fill it in")
    if any(node.function == "Infinity" for side in asked for node in side.distinct()):
        raise ValueError("infinity (oo) is not a number; an equation is verified for numbers")
    unit, judge = imaginary_unit(asked), Judge()
    if assume:
        assumed = check_assumptions(read_assumptions(assume), variables(*asked))
        verdict, holds = verdict_under(judge, asked, assumed)
        texts = tuple(one.text for one in assumed)
        return Verification(asked, verdict, assumed=texts, holds_as_assumed=holds)
    if unit is not None:
        return Verification(asked, judge.verdict(with_unit(asked, unit)), unit)
    verdict, [name, *others] = judge.verdict(asked), [*possible_units(asked), None]
    if name is None or others != [None]:
        return Verification(asked, verdict)
    if verdict.domain is Domain.NONE and (complex_one := judge.verdict(with_unit(asked, name))).holds:
        return Verification(asked, complex_one, name)  # e^(i*k*x) = cos(k*x) + i*sin(k*x)
    return Verification(asked, verdict, variable=name)


def question(equation: Equation) -> Question:
    """The question that an equation with blanks is."""
    blanks = (node.token or "_" for side in equation for node in side.distinct_preorder() if node.function == "_")
    return Question(equation, tuple(dict.fromkeys(blanks)))
