"""Expressions of given lengths by the published process, drawn from its own conditional distribution.

Long expressions are rare, so that to draw until one has 900 words takes thousands of draws. How probable each length is
at each depth is known (:class:`ListProcess`), so the lengths of the parts are drawn first; what comes out is
distributed as what rejection would leave.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random

import numpy as np

from dgltree.read.listops import DIGITS, END, OPERATORS

Array = np.ndarray
MIN_ARGUMENTS = 2
_NAMES = tuple(OPERATORS)


class ListProcess:
    """Places that are lists of 2 to ``most`` places with probability ``lists``, while less deep than ``deepest``.

    Args:
        deepest: one more than the most lists that may be within each other.
        most: places of a list; 2 to so many are equally probable.
        lists: share of lists among the places that may be one.
        longest: the most words of what can be drawn.
    """

    def __init__(self, deepest: int, most: int, lists: float, longest: int) -> None:
        self.deepest = deepest
        self.most = most
        self.lists = lists
        self.longest = longest
        self._sums: list[list[Array]] = []
        digit = np.zeros(longest + 1)
        digit[1] = 1.0
        self.lengths: list[Array] = [digit]
        """How probable each number of words is, at the depth ``deepest`` and then at those above it."""
        for _ in range(deepest - 1):
            sums = [self.lengths[-1]]
            for _ in range(most - 1):
                sums.append(_convolved(sums[-1], self.lengths[-1]))
            self._sums.append(sums)
            both = np.mean(sums[MIN_ARGUMENTS - 1 :], axis=0)
            own = (1 - lists) * digit
            own[2:] += lists * both[:-2]  # the operator and the bracket
            self.lengths.append(own)

    def draw(self, length: int, random: Random) -> tuple[list[str], int, int]:
        """The words of an expression of so many, its value, and its depth, the lists within each other."""
        return self._place(length, self.deepest - 1, random)

    def _place(self, length: int, above: int, random: Random) -> tuple[list[str], int, int]:
        """Draw a place with ``above`` depths below it that may have lists."""
        if length == 1:
            digit = random.choice(DIGITS)
            return [digit], int(digit), 0
        sums = self._sums[above - 1]
        left = length - 2
        count = _drawn([sums[n - 1][left] for n in range(MIN_ARGUMENTS, self.most + 1)], random) + MIN_ARGUMENTS
        words = []
        values = []
        deepest = 0
        for more in reversed(range(count)):
            own = left if not more else 1 + _drawn(sums[0][1 : left + 1] * sums[more - 1][left - 1 :: -1], random)
            part, value, depth = self._place(own, above - 1, random)
            words += part
            values.append(value)
            deepest = max(deepest, depth)
            left = left - own
        operator = random.choice(_NAMES)
        return [operator, *words, END], OPERATORS[operator](values), deepest + 1


@lru_cache(maxsize=4)
def process(deepest: int, most: int, lists: float, longest: int) -> ListProcess:
    """Made once for its arguments."""
    return ListProcess(deepest, most, lists, longest)


def draw_lists(made: ListProcess, shortest: int, random: Random) -> Iterator[tuple[list[str], int, int]]:
    """Words, value and depth of ever more expressions of ``shortest`` to ``made.longest`` words.

    Raises ``ValueError`` if there is none.
    """
    weights = made.lengths[-1][shortest:]
    if not weights.sum():
        raise ValueError(f"no expression of this process has {shortest} to {made.longest} words")
    while True:
        yield made.draw(shortest + _drawn(weights, random), random)


def _drawn(weights: Array | list[float], random: Random) -> int:
    """A place, as probable as its weight says."""
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, random.random() * sums[-1], side="right"))


def _convolved(a: Array, b: Array) -> Array:
    return np.convolve(a, b)[: len(a)]
