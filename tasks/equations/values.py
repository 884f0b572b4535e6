"""The numeric decision on equations that are mostly known from before: only what is new is evaluated."""

from dgltree.bounded import Value, apply, leaf_value
from dgltree.truth import Truth, decide
from tasks.equations.places import Places
from tasks.equations.words import ARITIES, SINGLE, SYMBOLS, Word, tree

CACHED = 100_000  # subtrees remembered; all are forgotten when there are more


class Values:
    """Decides as ``dgltree.truth.Evaluator`` does; call it with numpy's floating-point warnings off."""

    def __init__(self) -> None:
        self._leaves: dict[Word, Value] = {leaf: leaf_value(tree(leaf)) for leaf in SINGLE[: ARITIES.index(1)]}
        self._known = dict(self._leaves)

    def truth(self, equation: Places) -> Truth:
        """Whether the sides agree."""
        if len(self._known) > CACHED:
            self._known = dict(self._leaves)
        left, right = equation.children(0)
        return decide(self._value(equation, left), self._value(equation, right))

    def _value(self, equation: Places, place: int) -> Value:
        word = equation.word[place : equation.ends[place]]
        value = self._known.get(word)
        if value is None:
            arguments = [self._value(equation, child) for child in equation.children(place)]
            value = self._known[word] = apply(SYMBOLS[word[0]][0], arguments)
        return value
