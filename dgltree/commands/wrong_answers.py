"""The option ``--distractors`` of ``dgltree complete``: wrong answers next to the right one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dgltree.equations.completion.result import Completion
    from dgltree.trees.tree import Tree


class WrongAnswers(NamedTuple):
    """Plausible wrong answers, as they are written, or why there are none."""

    texts: list[str]
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"      no wrong answers: {self.reason}"
        between = "; " if any("," in text for text in self.texts) else ", "
        return f"      wrong: {between.join(self.texts)}" if self.texts else "      no typical mistake fits"


def wrong_answers(found: "Completion", count: int, write: "Callable[[Tree], str]") -> WrongAnswers:
    """Those to the first filler of a completion."""
    from dgltree.equations.checking.distractors import distractors

    if not found.found:
        return WrongAnswers([], "no right answer was found")
    if len(found.blanks) != 1:
        return WrongAnswers([], f"the equation has {len(found.blanks)} blanks; wrong answers need exactly one")
    try:
        return WrongAnswers([write(tree) for tree in distractors(found.equation, found.fillers[0].trees[0], count)])
    except ValueError as error:
        return WrongAnswers([], str(error))
