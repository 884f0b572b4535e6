"""The solvers that the benchmark knows by name. A new one is a function that makes it, and a line in ``SOLVERS``."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from dgltree import Equation, Ranker, Tree, open_model, shipped_fillers
from dgltree.equations.completion.answers import completer
from dgltree.equations.completion.completer import Completer
from tasks.evidence.benchmark.peer import SIMPLIFIED, TIDIED, Peer
from tasks.evidence.benchmark.scoring import SHOWN, Solver

Attempts = AbstractContextManager[Sequence[Solver]]
"""Opens a solver and closes what it holds. Mostly one attempt; of several the best counts (``best_score``)."""


@contextmanager
def rank_list() -> Iterator[Sequence[Solver]]:
    """The shipped model over the shipped list of fillers; nothing for an equation that the model cannot read."""
    ranker = Ranker(open_model(), shipped_fillers())

    def solve(equation: Equation) -> Sequence[Tree]:
        try:
            return ranker.rank([equation], top=SHOWN, any_variables=False)[0].fillers
        except ValueError:
            return ()

    yield [solve]


@contextmanager
def run_search(invert: bool = True) -> Iterator[Sequence[Solver]]:
    """The search of ``dgltree complete``, or the same without walking the path back."""
    asked = Completer(completer().guesser, invert=invert)

    def solve(equation: Equation) -> Sequence[Tree]:
        return [filler.trees[0] for filler in asked.complete(equation, top=SHOWN).fillers]

    yield [solve]


@contextmanager
def sympy_peer(changes: Sequence[str] = SIMPLIFIED) -> Iterator[Sequence[Solver]]:
    """SymPy with plain symbols, then with positive ones."""
    with Peer() as peer:
        yield [peer.solver(positive, changes) for positive in (False, True)]


SOLVERS: dict[str, Callable[[], Attempts]] = {
    "search": run_search,
    "search-by-trial": partial(run_search, invert=False),
    "list": rank_list,
    "sympy": sympy_peer,
    "sympy-tidied": partial(sympy_peer, TIDIED),
}
