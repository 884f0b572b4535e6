"""Several blanks at once: short expressions for all but one, and what that one is then worth."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from dgltree.equations.expressions.names import variables
from dgltree.equations.expressions.paths import count_blanks, find_blank
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.arithmetic import agree, rows_at_once, value
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.forms import Forms
from dgltree.equations.search.inverse import solve_for_blank
from dgltree.equations.search.numbers import ratio
from dgltree.equations.search.points import TABLE_POINTS, Points, points, regions
from dgltree.equations.search.search import QUICK
from dgltree.equations.search.search_space import search_space
from dgltree.equations.search.table import ValueTable
from dgltree.equations.search.verdicts import Fillers, Verdicts
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

TRIED = 60_000  # combinations of expressions for the blanks that are chosen
SHORTEST = 400  # solutions that are judged
MAX_LEVEL = 10  # level of a table


class MultiBlankResult(NamedTuple):
    """Solutions, the shortest first."""

    fillers: list[Fillers]
    tried: int
    stopped: bool
    memory: int


def search_multi_blank(
    equation: Equation,
    blanks: Sequence[Tree],
    budget: int,
    clock: Clock | None = None,
    verdicts: Verdicts | None = None,
) -> MultiBlankResult:
    """Fillers for two blanks or more. Raises ``ValueError`` for a function or a leaf without a value."""
    tried, memory, clock = 0, 0, clock or Clock()
    verdicts = verdicts or Verdicts(equation, blanks, clock)
    found: list[Fillers] = []
    last = _last(equation, blanks)
    with np.errstate(all="ignore"):
        for region in regions():
            at = points(region, variables(*equation), TABLE_POINTS)
            search = _Combinations(equation, blanks, last, at, budget, clock)
            candidates = sorted(dict.fromkeys(search.run()), key=_rank)
            tried, memory = tried + search.tried, max(memory, search.table.nbytes)
            found = [fillers for fillers in candidates[:SHORTEST] if verdicts.likely(*fillers)]
            if found or clock.late:
                break
    return MultiBlankResult(found, tried, clock.late, memory)


def _rank(fillers: Fillers) -> tuple[bool, int]:
    """Numbers first, which blanks of partial fractions and coefficients ask for; then the shortest."""
    return bool(variables(*fillers)), sum(map(symbols, fillers))


def _last(equation: Equation, blanks: Sequence[Tree]) -> Tree | None:
    """A blank that occurs once: the last such one."""
    return next((blank for blank in reversed(blanks) if count_blanks(equation, blank) == 1), None)


class _Combinations:
    """The search at the points of one region.

    Args:
        last: the blank whose value is worked out; None if each occurs several times.
    """

    def __init__(
        self, equation: Equation, blanks: Sequence[Tree], last: Tree | None, at: Points, budget: int, clock: Clock
    ) -> None:
        self.equation, self.blanks, self.last, self.at, self.clock = equation, blanks, last, at, clock
        about = search_space(equation)
        self.table = ValueTable(about.leaves(at), about.operations(every=False), min(QUICK, budget), clock).fill(
            MAX_LEVEL
        )
        self.forms = Forms(self.table)
        self.chosen = [blank for blank in blanks if blank != last]
        self.first = max(2, min(len(self.table), int(min(TRIED, budget) ** (1 / len(self.chosen)))))
        self.tried = 0

    def run(self) -> Iterator[Fillers]:
        """Solutions at the points."""
        path = None if self.last is None else find_blank(self.equation, self.last)
        for block in self._blocks():
            self.tried += len(block)
            known = {blank: self.table.values[block[:, k]] for k, blank in enumerate(self.chosen)}
            if path is None:
                left, right = (value(side, self.at, known) for side in self.equation)
                for row in np.flatnonzero(np.broadcast_to(agree(left, right), len(block))):
                    if self.clock.late:
                        return
                    yield self._filled(block[row].tolist(), None)
            else:
                for target in solve_for_blank(self.equation, path, self.at, known):
                    yield from self._looked_up(block, np.broadcast_to(target, (len(block), TABLE_POINTS)))
            if self.clock.late:
                return

    def _blocks(self) -> Iterator[Array]:
        """(K, chosen blanks) entries, the shortest of the first blank first."""
        rest = np.array(list(product(range(self.first), repeat=len(self.chosen) - 1)), np.int64)
        most = rows_at_once(self.equation)
        rows = max(1, most // len(rest))
        for start in range(0, self.first, rows):
            here = np.arange(start, min(start + rows, self.first))
            block = np.concatenate([np.repeat(here, len(rest))[:, None], np.tile(rest, (len(here), 1))], 1)
            yield from (block[at : at + most] for at in range(0, len(block), most))

    def _looked_up(self, block: Array, target: Array) -> Iterator[Fillers]:
        which, entries = self.table.lookup(target)
        for row, entry in zip(which.tolist(), entries.tolist(), strict=True):
            if self.clock.late:
                return
            yield self._filled(block[row].tolist(), self.forms.shortest(entry))
        flat = (np.abs(target - target[:, :1]) <= 1e-11 * np.abs(target[:, :1]) + 1e-13).all(1)
        for row in np.flatnonzero(flat):  # a number that the table lacks
            if self.clock.late:
                return
            exact = ratio(float(np.real(target[row, 0])), 1000)
            if exact is not None:
                yield self._filled(block[row].tolist(), fraction(exact))

    def _filled(self, entries: list[int], last: Tree | None) -> Fillers:
        trees = dict(zip(self.chosen, map(self.forms.shortest, entries), strict=True))
        if self.last is not None and last is not None:
            trees[self.last] = last
        return tuple(trees[blank] for blank in self.blanks)
