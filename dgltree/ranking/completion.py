"""Equations are completed by a search, or by the ranking of a list.

If a search finds no answer, the shipped list of fillers is ranked for guesses.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from dgltree.equations.completion.assumptions import as_assumed, read_assumptions
from dgltree.equations.completion.completer import Completer, Guesser
from dgltree.equations.completion.result import Completion
from dgltree.equations.completion.verification import question
from dgltree.equations.search.search import BUDGET
from dgltree.equations.typed import Question, read_question
from dgltree.ranking.equation_size import is_small
from dgltree.ranking.pretrained_files import model_file
from dgltree.support.lazy import cached_property
from dgltree.support.refusal import InternalError, Refusal, attempt
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from dgltree.models.tree_model import EquationModel
    from dgltree.ranking.filler_list import FillerList

GUESS_DEPTH = 50
"""Depth of an equation for which the list is ranked as guesses: each filler is computed along the path to the root."""
OPENING_SECONDS = 3.0
"""Seconds in which torch and a model are loaded and the list is encoded."""
GUESSING_SECONDS = 0.1
"""Seconds in which the list is ranked for an equation."""
BATCH_SIZE = 64
"""Equations that are ranked together."""


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
        equation: as a person types it (:func:`dgltree.equations.typed.read_question`), or read already.
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
    query = read_question(equation, names) if isinstance(equation, str) else question(equation)
    completion = completer(model, budget, seconds).answer(query, top)
    return as_assumed(completion, read_assumptions(assume))


@lru_cache(maxsize=4)  # a model takes a moment to open
def completer(
    model: str | Any = "default",
    budget: int = BUDGET,
    seconds: float | None = None,
) -> Completer:
    """An object that answers as :func:`complete` does, for many equations."""
    return Completer(ListGuesser(model), budget, seconds)


def _open(model: "str | EquationModel") -> "EquationModel":
    """A model, or that of a name or a file. Raises ``ValueError`` for a damaged one."""
    from dgltree.ranking.pretrained import open_model

    if not isinstance(model, str):
        return model
    try:
        return open_model(model)
    except ValueError as error:
        raise Refusal(str(error)) from None


class ListGuesser(Guesser):
    """Guesses from the shipped list, ranked by a network.

    Args:
        model: a shipped model, a file, or a model; opened when something is to be guessed, as most equations need none.

    Raises ``FileNotFoundError`` for a name or a file that is not there.
    """

    def __init__(self, model: "str | EquationModel") -> None:
        if isinstance(model, str):
            model_file(model)
        self.model = model

    @property
    def seconds(self) -> float:
        if "_fillers" in vars(self):
            return GUESSING_SECONDS
        return OPENING_SECONDS

    def guess(self, equation: Equation) -> list[Tree]:
        if not is_small(equation, GUESS_DEPTH) or self._fillers is None:
            return []
        return self._fillers.guess(equation)

    @cached_property
    def _fillers(self) -> "FillerList | None":
        """None, with a warning, where torch cannot be loaded: guesses only help a search."""
        try:
            from dgltree.ranking.filler_list import FillerList, readable
            from dgltree.ranking.pretrained_files import shipped_fillers
        except (ImportError, MemoryError) as error:
            warnings.warn(f"no network proposes fillers, because torch cannot be loaded: {error}", stacklevel=2)
            return None

        network = _open(self.model)
        return FillerList(network, readable(shipped_fillers(), network.cell.vocabulary))


A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True)
class BatchCompletion:
    """The settings by which many equations are completed.

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

    def answer(self, questions: list[Question], spent: float = 0.0) -> list[Completion]:
        """The answers. Raises ``ValueError`` if one of the questions cannot be answered.

        ``spent`` are the seconds that reading each of them took.
        """
        if self.by_score:
            return self._ranked(questions)
        search = completer(self.model, self.budget or BUDGET, self.seconds)
        return [search.answer(query, self.top, spent=spent) for query in questions]

    def _ranked(self, questions: list[Question]) -> list[Completion]:
        """The answers by the network's score alone."""
        for query in questions:
            if query.form:
                raise Refusal(f"the {query.form} form is not ranked by score; leave out --order and --fillers")
        equations = [query.equation for query in questions]
        return _filler_list(self.model, self.fillers).complete(equations, self.top, self.any_variables)


@lru_cache(maxsize=1)
def _filler_list(model: "str | EquationModel", fillers: tuple[Tree, ...] | None) -> "FillerList":
    """A list that is ranked by a model, the shipped one for None; kept, so that it is encoded once."""
    from dgltree.ranking.filler_list import FillerList
    from dgltree.ranking.pretrained_files import shipped_fillers

    network = _open(model)
    if fillers is None:
        return FillerList(network, shipped_fillers())
    return FillerList(network, fillers)


def each(answer: Callable[[list[A]], Sequence[R]], questions: list[A]) -> Iterator[R | Refusal | InternalError]:
    """The answers; if one question is bad, each is answered alone, and the bad one has the error in its place."""
    answers = attempt(answer, questions)
    if not isinstance(answers, Refusal | InternalError):
        yield from answers
    elif len(questions) == 1:
        yield answers
    else:
        for question in questions:
            yield from each(answer, [question])
