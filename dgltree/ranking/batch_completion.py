"""How many equations are completed: by a search, or by the ranking of a list."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from dgltree.equations.completion.answers import completer
from dgltree.equations.completion.result import Completion
from dgltree.equations.search.search import BUDGET
from dgltree.read.typed import Question
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from dgltree.models.tree_model import EquationModel
    from dgltree.ranking.filler_list import FillerList

A = TypeVar("A")
R = TypeVar("R")
BATCH_SIZE = 64
"""Equations that are ranked together."""


@dataclass(frozen=True)
class BatchCompletion:
    """The settings.

    Args:
        model: what guesses or ranks: a shipped model, a file, or a model.
        top: how many fillers.
        seconds: after which a search answers with what it has; None for no limit.
        budget: how many values a search looks at, at most; None: as many as by default.
        by_score: rank a list by the network's score, instead of searching.
        fillers: the list; None: the shipped one.
        any_variables: of a list also fillers with variables that the equation lacks.
    """

    model: "str | EquationModel" = "default"
    top: int = 10
    seconds: float | None = None
    budget: int | None = None
    by_score: bool = False
    fillers: tuple[Tree, ...] | None = None
    any_variables: bool = False

    @property
    def together(self) -> int:
        """Equations that are best answered by one call."""
        return BATCH_SIZE if self.by_score else 1

    def answer(self, several: list[Question], spent: float = 0.0) -> list[Completion]:
        """The answers. Raises ``ValueError`` if one of the questions cannot be answered.

        ``spent`` are the seconds that reading each of them took.
        """
        if self.by_score:
            return self._ranked(several)
        made = completer(self.model, self.budget or BUDGET, self.seconds)
        return [made.answer(asked, self.top, spent=spent) for asked in several]

    def _ranked(self, several: list[Question]) -> list[Completion]:
        for asked in several:
            if asked.form:
                raise ValueError(f"the {asked.form} form is not ranked by score; leave out --order and --fillers")
        equations = [asked.equation for asked in several]
        return _filler_list(self.model, self.fillers).complete(equations, self.top, self.any_variables)


@lru_cache(maxsize=1)
def _filler_list(model: "str | EquationModel", fillers: tuple[Tree, ...] | None) -> "FillerList":
    """A list is encoded once."""
    from dgltree.ranking.filler_list import FillerList
    from dgltree.ranking.pretrained.fillers import shipped_fillers
    from dgltree.ranking.pretrained.shipped import open_model

    opened = open_model(model) if isinstance(model, str) else model
    return FillerList(opened, shipped_fillers() if fillers is None else fillers)


def each(answer: Callable[[list[A]], Sequence[R]], asked: list[A]) -> Iterator[R | ValueError]:
    """The answers; if one equation is bad, each is answered alone, and of that one there is the error."""
    try:
        yield from answer(asked)
    except ValueError as error:
        if len(asked) == 1:
            yield error
            return
        for one in asked:
            yield from each(answer, [one])
