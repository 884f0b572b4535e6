"""The numeric decision on many equations at once, of which most parts are known from before.

The mathematics is that of ``dgltree.equations.truth.evaluator.Evaluator``: ``leaf_value``, ``apply`` and ``decide``.
What differs is what is remembered, words instead of trees, and the order: all new nodes of one function together, for
numpy.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dgltree.equations.truth.evaluator import POINTS, Truth, Value, apply, decide, leaf_value
from tasks.equations.generator.places import Places
from tasks.equations.words import CALLED, LEAVES, SINGLE, SYMBOLS, Word, tree

CACHED = 50_000  # subtrees remembered by default; all but the leaves are forgotten when there are more
POW = CALLED["Pow"][0]
_LEAVES = [SINGLE[leaf] for leaf in LEAVES]
Level = defaultdict[tuple[int, Word | None], list[tuple[Word, ...]]]
"""Nodes of one function: each with its children. Powers also of one exponent, because ``apply`` takes only one."""


class WordValues:
    """Decides as :class:`dgltree.equations.truth.evaluator.Evaluator`; turn numpy's floating-point warnings off."""

    def __init__(self, cached: int = CACHED) -> None:
        self._cached = cached
        self._rows: dict[Word, int] = {}  # of each of the arrays: values, magnitudes, error bounds
        self._arrays = tuple(np.empty((cached, POINTS), kind) for kind in (complex, float, float))
        for leaf in _LEAVES:
            self._remember([leaf], leaf_value(tree(leaf)))

    def truths(self, equations: Sequence[Places]) -> list[Truth]:
        """Whether the sides of each equation agree."""
        if not equations:
            return []
        self.evaluate(equations)
        sides = zip(*(equation.sides() for equation in equations), strict=True)
        left, right = (self._of([self._rows[word] for word in side]) for side in sides)
        return [Truth(number) for number in decide(left, right).tolist()]

    @property
    def known(self) -> tuple[dict[Word, int], Value]:
        """The rows of what has a value, and the values."""
        return self._rows, self._of(slice(len(self._rows)))

    def evaluate(self, equations: Sequence[Places]) -> None:
        """Give all their subtrees a value."""
        if len(self._rows) + sum(len(equation.word) for equation in equations) > self._cached:
            self._rows = {leaf: self._rows[leaf] for leaf in _LEAVES}
        for level in self._unknown(equations):
            for (symbol, exponent), nodes in level.items():
                words, *children = zip(*nodes, strict=True)
                arguments = [self._of([self._rows[word] for word in child]) for child in children]
                if exponent is not None:
                    arguments[1] = self._of(self._rows[exponent])
                self._remember(words, apply(SYMBOLS[symbol][0], arguments))

    def _unknown(self, equations: Sequence[Places]) -> list[Level]:
        """The subtrees without a value; each level needs those before it only."""
        levels: list[Level] = []
        level_of: dict[Word, int] = {}
        for equation in equations:
            for side in equation.children(0):
                self._visit(equation, side, levels, level_of)
        return levels

    def _visit(self, equation: Places, place: int, levels: list[Level], level_of: dict[Word, int]) -> int:
        """The level of a subtree, which is put there; -1 if it is known."""
        word = equation.at(place)
        if word in self._rows:
            return -1
        level = level_of.get(word)
        if level is None:
            places = equation.children(place)
            level = level_of[word] = 1 + max([self._visit(equation, child, levels, level_of) for child in places])
            children = [equation.at(child) for child in places]
            if level == len(levels):
                levels.append(defaultdict(list))
            levels[level][word[0], children[1] if word[0] == POW else None].append((word, *children))
        return level

    def _of(self, rows: int | list[int] | slice) -> Value:
        values, sizes, errors = (array[rows] for array in self._arrays)
        return values, sizes, errors

    def _remember(self, words: Sequence[Word], value: Value) -> None:
        start = len(self._rows)
        for array, part in zip(self._arrays, value, strict=True):
            array[start : start + len(words)] = part
        self._rows.update(zip(words, range(start, start + len(words)), strict=True))
