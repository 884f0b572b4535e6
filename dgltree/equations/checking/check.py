"""``dgltree.check``: whether an answer to an equation with a blank is right, and in the form that was asked for."""

import enum
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from dgltree.arguments import nearest
from dgltree.equations.checking.forms import FORMS
from dgltree.equations.completion.answers import question
from dgltree.equations.completion.coverage import covers
from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.imaginary import imaginary_unit, with_unit
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain, Grade, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.read.typed import read_noted_expression, read_question, read_typed_expression
from dgltree.trees.equation import Equation, blank, substitute
from dgltree.trees.tree import Tree


class Mark(enum.Enum):
    """Of an answer; the values are the codes in JSON."""

    RIGHT = "right"
    FORM = "form"
    """Right, but not in the form that was asked for."""
    PART = "part"
    """Right on a part of the numbers for which the rest of the equation has a value."""
    WRONG = "wrong"
    UNDECIDED = "undecided"


class Checked(NamedTuple):
    """An answer with its mark and its verdict."""

    answer: str
    """As it was understood."""
    mark: Mark
    verdict: Verdict
    """Of the equation with the answer in its blank."""
    lack: str = ""
    """The part of the required form that is missing."""
    notes: tuple[str, ...] = ()
    """Notes on how the answer was read."""

    def __str__(self) -> str:
        if self.mark is Mark.FORM:
            return f"right, but {self.lack}"
        if self.mark is Mark.PART:
            return f"right on a part only: {self.verdict}"
        if self.mark is Mark.WRONG:
            shown = self.verdict.counterexample
            return f"wrong: {shown if shown is not None else self.verdict}"
        return f"right: {self.verdict.short}" if self.mark is Mark.RIGHT else str(self.verdict)

    @property
    def described(self) -> dict[str, Any]:
        """For JSON."""
        lack = {"lack": self.lack} if self.lack else {}
        return {"answer": self.answer, "mark": self.mark.value, **lack, **self.verdict.described}


def check(
    equation: str | Equation, answer: str | Tree, form: str | None = None, names: Collection[str] = ()
) -> Checked:
    """Mark an answer: ``check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored")``.

    Args:
        equation: with a blank or several, or with an unknown (``x^2 = 16, x = _``), as a person types it; or read
            already.
        answer: what is put into the blank; for several blanks ``"2, 3"``, in the order of the blanks.
        form: ``expanded``, ``factored``, ``lowest-terms``, ``one-fraction``, ``exact``, or None for any.
        names: runs of letters that are one name; others are products, as :func:`dgltree.complete` has it.

    An answer is right if it makes the equation true wherever the rest of the equation has a real value. Raises
    ``ValueError`` for a text that cannot be read, for an equation without a blank, and for an unknown form.
    """
    return Checker(equation, form, names).check(answer)


class Checker:
    """Marks many answers to one equation.

    Args:
        equation, form, names: as of :func:`check`.
    """

    def __init__(self, equation: str | Equation, form: str | None = None, names: Collection[str] = ()) -> None:
        if form is not None and form not in FORMS:
            raise ValueError(f"unknown form {form!r} ({nearest(form, FORMS)}); the forms are {', '.join(FORMS)}")
        self.asked = read_question(equation, names) if isinstance(equation, str) else question(equation)
        if not self.asked.blanks:
            raise ValueError("the equation has no blank; write _ where the answer goes, or x^2 = 16, x = _")
        self.form = form or (self.asked.form if self.asked.form in FORMS else None)
        self._names = variables(*self.asked.equation)
        self._one_name = frozenset(names)
        self._judge = Judge()

    def check(self, answer: str | Tree) -> Checked:
        """The mark of one answer."""
        blanks = self.asked.blanks
        texts = _parts(self._bare(answer), len(blanks)) if isinstance(answer, str) else [write_infix(answer)]
        if len(texts) != len(blanks):
            expressions = f"{len(texts)} expression{'s' * (len(texts) != 1)}"
            raise ValueError(
                f"the equation has {len(blanks)} blank{'s' * (len(blanks) != 1)}, the answer {expressions}"
            )
        read = [read_noted_expression(text, self._names, names=self._one_name) for text in texts]
        fillers, notes = [one.tree for one in read], tuple(note for one in read for note in one.notes)
        if self.asked.unknown in variables(*fillers):
            raise ValueError(f"the answer has {self.asked.unknown} in it, which is asked for")
        verdict, right = self._verdict(fillers)
        understood = ", ".join(map(write_infix, fillers))
        mark = _mark(verdict, right)
        if mark is Mark.RIGHT and self.form is not None:
            written = (read_typed_expression(text, self._names, True, self._one_name) for text in texts)
            lacks = [FORMS[self.form](tree) for tree in written]
            lack = next((f"not {_NAMES[self.form]}: {lack}" for lack in lacks if lack is not None), "")
            return Checked(understood, Mark.FORM if lack else mark, verdict, lack, notes)
        return Checked(understood, mark, verdict, notes=notes)

    def _bare(self, answer: str) -> str:
        """``4`` of ``x = 4``, where x is asked for."""
        name, equals, value = answer.partition("=")
        return value if equals and name.strip() == self.asked.unknown else answer

    def _verdict(self, fillers: list[Tree]) -> tuple[Verdict, bool]:
        """Of the filled equation, and whether that holds wherever the rest has a value."""
        equation = self.asked.equation
        replacements = dict(zip(map(blank, self.asked.blanks), fillers, strict=True))
        filled = Equation(*(substitute(side, replacements) for side in equation))
        if any(node.function == "Infinity" for side in filled for node in side.distinct()):
            raise ValueError("infinity (oo) is not a number")
        unit = imaginary_unit(filled)
        if unit is not None:
            filled = with_unit(filled, unit)
        verdict = self._judge.verdict(filled)
        if len(fillers) > 1 or unit is not None:
            return verdict, verdict.domain in (Domain.EVERYWHERE, Domain.REALS)
        return verdict, covers(equation, fillers[0], verdict)


_NAMES = {
    "expanded": "expanded",
    "factored": "factored",
    "lowest-terms": "in lowest terms",
    "one-fraction": "one fraction",
    "exact": "exact",
}


def _mark(verdict: Verdict, right: bool) -> Mark:
    if verdict.grade is Grade.UNDECIDED:
        return Mark.UNDECIDED
    if right:
        return Mark.RIGHT
    if verdict.domain is Domain.NONE or (verdict.part and all(piece.is_point for piece in verdict.part)):
        return Mark.WRONG
    return Mark.PART


def _parts(text: str, count: int) -> list[str]:
    """The expressions between semicolons or commas outside of brackets; ``1,5`` is one where one is asked for."""
    found = _split(_BETWEEN_EXPRESSIONS, text)
    return found if len(found) == count else _split(_ANY_SEPARATOR, text)


_BETWEEN_EXPRESSIONS = re.compile(r"(?<!\\)(?:;|,(?!\d)|(?<!\d),)")
_ANY_SEPARATOR = re.compile(r"(?<!\\)[;,]")


def _split(separator: re.Pattern[str], text: str) -> list[str]:
    """The parts between separators outside of brackets."""
    places, found, depth = {match.start() for match in separator.finditer(text)}, [""], 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if place in places and not depth:
            found.append("")
        else:
            found[-1] += character
    return found
