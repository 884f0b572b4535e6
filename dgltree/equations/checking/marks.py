"""Marks of answers, and their wording."""

import enum
from typing import Any, NamedTuple

from dgltree.equations.truth.verdict import Domain, Grade, Verdict


class Mark(enum.Enum):
    """Of an answer; the values are the codes in JSON."""

    RIGHT = "right"
    FORM = "form"
    """Right, but not in the form that was asked for."""
    PART = "part"
    """Right on a part of the numbers for which the rest of the equation has a value."""
    WRONG = "wrong"
    UNDECIDED = "undecided"
    INCOMPLETE = "incomplete"
    """Right, but there are more solutions."""


SEVERITY = (Mark.RIGHT, Mark.INCOMPLETE, Mark.FORM, Mark.PART, Mark.UNDECIDED, Mark.WRONG)
"""Of several solutions the last of these marks counts."""


def mark_of(verdict: Verdict, right: bool) -> Mark:
    """The mark of one answer by its verdict, and by whether that holds wherever the rest has a value."""
    if verdict.grade is Grade.UNDECIDED:
        return Mark.UNDECIDED
    if right:
        return Mark.RIGHT
    if verdict.domain is Domain.NONE or (verdict.part and all(piece.is_point for piece in verdict.part)):
        return Mark.WRONG
    return Mark.PART


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
    said: str = ""
    """The sentence, if the mark is that of several solutions."""

    def __str__(self) -> str:
        if self.said:
            return self.said
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
        lack |= {"said": self.said} if self.said else {}
        return {"answer": self.answer, "mark": self.mark.value, **lack, **self.verdict.described}
