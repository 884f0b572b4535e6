"""The network's own ranking of a list of fillers, right and wrong ones, with what arithmetic says of each."""

import time
from collections.abc import Sequence

from dgltree.batching.vocabulary import Vocabulary
from dgltree.engine.kernels.dispatch import kernels
from dgltree.equations.completion.result import Completion, Filler
from dgltree.equations.truth.judge import Judge
from dgltree.models.tree_model import EquationModel
from dgltree.ranking.equation_size import check_size
from dgltree.ranking.ranker import Ranker, Ranking, check_fillers
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def readable(fillers: Sequence[Tree], vocabulary: Vocabulary) -> list[Tree]:
    """The fillers of a list that a model can read: the published models lack most numbers."""

    readable_fillers = []
    for filler in fillers:
        try:
            check_fillers([filler], vocabulary)
        except ValueError:
            continue
        readable_fillers.append(filler)
    return readable_fillers


class FillerList:
    """Ranks a list of fillers; see :class:`dgltree.Ranker` for arguments and errors."""

    def __init__(self, model: EquationModel, fillers: Sequence[Tree]) -> None:
        self._ranker = Ranker(model, fillers)

    def complete(
        self,
        equations: Sequence[Equation],
        top: int,
        any_variables: bool = False,
    ) -> list[Completion]:
        """The best fillers of the one blank of each equation, by the network's score.

        Raises ``ValueError`` also for an equation that is too large for a network.
        """
        start = time.monotonic()
        rankings = self.rank(equations, top, any_variables)
        seconds = (time.monotonic() - start) / max(1, len(equations))
        judge = Judge()
        completions = []
        for equation, ranking in zip(equations, rankings, strict=True):
            fillers = []
            for tree, score in zip(ranking.fillers, ranking.scores.tolist(), strict=True):
                verdict = judge.verdict(equation.fill(tree))
                fillers.append(Filler((tree,), verdict, "list", score))
            tried = len(self)
            completion = Completion(
                equation,
                ("_",),
                tuple(fillers),
                tried,
                seconds,
                stopped=False,
                memory=0,
            )
            completions.append(completion)
        return completions

    def rank(
        self,
        equations: Sequence[Equation],
        top: int,
        any_variables: bool = False,
    ) -> list[Ranking]:
        """Rank the fillers without verdicts, which take most of the time."""
        for equation in equations:
            check_size(equation)
        return self._ranker.rank(equations, top, any_variables)

    def __len__(self) -> int:
        """The number of fillers."""
        return len(self._ranker.fillers)

    def guess(self, equation: Equation) -> list[Tree]:
        """The best of the list; nothing for an equation that the network cannot read."""
        try:
            with kernels("off"):  # to load Numba takes longer than one equation
                [ranking] = self._ranker.rank([equation], top=10, any_variables=False)
                return list(ranking.fillers)
        except ValueError:
            return []
