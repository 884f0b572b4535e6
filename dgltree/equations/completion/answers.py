"""``dgltree.complete`` and ``dgltree.verify``: answers to equations as a person types them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dgltree.engine.kernels.choice import kernels
from dgltree.equations.completion.completer import Completer, Completion, Order, shortest
from dgltree.equations.completion.filler_list import FillerList, known
from dgltree.equations.pretrained.shipped import form_scorer, open_model, shipped_fillers
from dgltree.equations.ranking.equation_size import is_small
from dgltree.equations.search.search import BUDGET
from dgltree.equations.truth.imaginary import imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Counterexample, Verdict
from dgltree.models.tree_model import EquationModel
from dgltree.read.typed import Typed, read_typed
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

TRUST = 0.3
"""Share of what the model of forms adds to a length that counts, chosen on the benchmark's tuned part: all of it lets
the model prefer ornate forms that it never met in training."""

GUESSED = 50
"""Depth of an equation for which the list is ranked as guesses: each filler is computed along the path to the root."""


class Verification(NamedTuple):
    """Where an equation holds."""

    equation: Equation
    verdict: Verdict
    unit: str | None = None
    """The name that was read as the imaginary unit."""

    @property
    def counterexample(self) -> Counterexample | None:
        """A point at which the sides differ, where the equation does not hold."""
        return self.verdict.counterexample

    def __str__(self) -> str:
        return f"{self.verdict}{f'; {self.unit} is the imaginary unit' if self.unit else ''}"


def complete(
    equation: str | Equation,
    top: int = 10,
    model: str | EquationModel = "default",
    budget: int = BUDGET,
    seconds: float | None = None,
) -> Completion:
    """What may fill the blanks of an equation: ``complete("x^2 - 5x + 6 = (x - 2)_")``.

    Args:
        equation: as a person types it (:func:`dgltree.read.typed.read_typed`), or read already.
        top: how many fillers.
        model: what guesses where nothing is found: a shipped model, a file, or a model.
        budget: how many values the search looks at, at most.
        seconds: after which it answers with what it has; None for no limit.

    Everything comes back in the equation's own names. Raises ``ValueError`` for a text that cannot be read, an equation
    without a blank, and a function without a value.
    """
    typed = _typed(equation)
    return completer(model, budget, seconds).complete(typed.equation, typed.blanks, top)


@lru_cache(maxsize=4)  # a model takes a moment to open
def completer(model: str | EquationModel = "default", budget: int = BUDGET, seconds: float | None = None) -> Completer:
    """What answers :func:`complete`, for many equations."""
    opened = open_model(model) if isinstance(model, str) else model

    @lru_cache(maxsize=1)
    def fillers() -> FillerList:
        return FillerList(opened, known(shipped_fillers(), opened.cell.vocabulary))

    def guess(equation: Equation) -> list[Tree]:
        return fillers().guess(equation) if is_small(equation, GUESSED) else []

    return Completer(textbook_order(), guess, budget, seconds)


def textbook_order() -> Order:
    """Shorter forms first, and of those the ones that a textbook would write, by the shipped model of forms."""
    scorer = form_scorer()

    def order(equation: Equation, fillers: Sequence[Tree]) -> Sequence[float]:
        try:
            with kernels("off"):  # some hundred small trees: loading Numba would take longer
                scores: list[float] = scorer.scores(equation, fillers).tolist()
        except ValueError:  # more variables than the model has
            return shortest(equation, fillers)
        lengths = shortest(equation, fillers)
        return [length - TRUST * (length + score) for length, score in zip(lengths, scores, strict=True)]

    return order


def verify(equation: str | Equation) -> Verification:
    """Whether and where an equation holds: ``verify("sin(2x) = 2 sin x cos x")``.

    Args:
        equation: as a person types it, or read already.

    Raises ``ValueError`` for a text that cannot be read, a blank, and infinity.
    """
    asked, blanks = _typed(equation)
    if blanks:
        raise ValueError("the equation has a blank: complete it, or write what stands there")
    if any(node.function == "Infinity" for side in asked for node in side.distinct()):
        raise ValueError("infinity (oo) is no number; an equation is verified for numbers")
    unit = imaginary_unit(asked)
    return Verification(asked, Judge().verdict(asked if unit is None else with_unit(asked, unit)), unit)


def _typed(equation: str | Equation) -> Typed:
    if isinstance(equation, str):
        return read_typed(equation)
    blanks = (node.token or "_" for side in equation for node in side.distinct_preorder() if node.function == "_")
    return Typed(equation, tuple(dict.fromkeys(blanks)))
