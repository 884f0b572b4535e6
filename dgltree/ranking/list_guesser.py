"""Guesses from the shipped list of fillers, for equations to which a search finds no answer."""

from functools import cached_property
from typing import TYPE_CHECKING

from dgltree.equations.completion.completer import Guesser
from dgltree.ranking.equation_size import is_small
from dgltree.ranking.pretrained.files import model_file
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from dgltree.models.tree_model import EquationModel
    from dgltree.ranking.filler_list import FillerList

GUESS_DEPTH = 50
"""Depth of an equation for which the list is ranked as guesses: each filler is computed along the path to the root."""


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

    def guess(self, equation: Equation) -> list[Tree]:
        return self._fillers.guess(equation) if is_small(equation, GUESS_DEPTH) else []

    @cached_property
    def _fillers(self) -> "FillerList":
        from dgltree.ranking.filler_list import FillerList, readable
        from dgltree.ranking.pretrained.fillers import shipped_fillers
        from dgltree.ranking.pretrained.shipped import open_model

        opened = open_model(self.model) if isinstance(self.model, str) else self.model
        return FillerList(opened, readable(shipped_fillers(), opened.cell.vocabulary))
