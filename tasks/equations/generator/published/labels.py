"""The labels of the published process: correct by construction, wrong unless SymPy evaluates the equation to ``True``.

A changed equation that SymPy calls true is in no set. The published program counts it as correct and learns it; done so
here, sets are less like the published blanks (the README has the distances).
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dgltree.equations.truth.evaluator import Truth
from tasks.equations.canonical import word_digest
from tasks.equations.generator.places import Places
from tasks.equations.generator.published.judge import judge
from tasks.equations.generator.published.run import GrownEquation
from tasks.equations.generator.texts import EquationTexts
from tasks.equations.generator.values import WordValues
from tasks.equations.store import Made
from tasks.equations.words import NAMES

BLOCK = 256  # equations evaluated together


class Labeller:
    """Labels equations; ``counts`` says what has no label and why.

    Args:
        sympy: whether SymPy decides of changed equations, else numbers do: what they do not call false is dropped.
        counts: of what is dropped.
    """

    def __init__(self, sympy: bool, counts: Counter[str]) -> None:
        self._sympy = sympy
        self._counts = counts
        self._values = WordValues()
        self._texts = EquationTexts()

    def labelled(self, candidates: Sequence[GrownEquation]) -> tuple[list[Made], list[bool | None]]:
        """The equations that have a label, and what numbers say of each (None: undecided)."""
        made: list[Made] = []
        says: list[bool | None] = []
        for start in range(0, len(candidates), BLOCK):
            block = candidates[start : start + BLOCK]
            with np.errstate(all="ignore"):
                truths = self._values.truths([candidate.equation for candidate in block])
            wrong = iter(self._wrong([one for one in zip(block, truths, strict=True) if not one[0].grown]))
            for (equation, grown), truth in zip(block, truths, strict=True):
                if grown or next(wrong):
                    made.append(self._made(equation, int(grown)))
                    says.append(None if truth is Truth.UNDECIDED else truth is Truth.TRUE)
        return made, says

    def _wrong(self, changes: Sequence[tuple[GrownEquation, Truth]]) -> list[bool]:
        """Whether each changed equation counts as wrong. SymPy is asked only if numbers do not contradict."""
        found = [truth is Truth.FALSE for _, truth in changes]
        doubtful = [number for number, false in enumerate(found) if not false]
        if not self._sympy:
            self._counts["not wrong after the change"] += len(doubtful)
            return found
        answers = judge().ask([changes[number][0].equation.word for number in doubtful]) if doubtful else []
        if answers is None:
            self._counts["SymPy did not answer"] += len(doubtful)
            return found
        self._counts["too large for SymPy"] += answers.count(None)
        self._counts["true for SymPy after the change"] += answers.count(True)
        for number, answer in zip(doubtful, answers, strict=True):
            found[number] = answer is False
        return found

    def _made(self, equation: Places, label: int) -> Made:
        left, right = equation.sides()
        text = self._texts.text(equation, range(len(NAMES)), swapped=False)
        return Made(label, word_digest(left, right), equation.depth, left, right, text)
