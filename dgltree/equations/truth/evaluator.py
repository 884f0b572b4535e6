"""Whether an equation holds, decided numerically at fixed random complex points.

Every subtree gets a value and a bound on its rounding error at each of ``POINTS`` points, so that cancellation neither
hides a difference nor makes one up. A point where a value overflows, vanishes against its error, lies on a branch cut
or leaves the range in which small terms still count is not used. All functions take their principal branch.
"""

import enum
from collections.abc import Sequence

import numpy as np

from dgltree.equations.truth.bounded_values import EPS, Domain, Value, apply, leaf_value
from dgltree.equations.truth.elementary import Array
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MIN_POINTS = 12  # usable points without which nothing is decided
NEEDED_REAL = 7  # the same of real points: acosh(x) has a value at half of them, acosh(x + y) at a quarter
BLURRED = 1e-9  # error, relative to 1 or to the larger side, beyond which a point says nothing
EQUAL, DIFFERENT = 16.0, 1e5  # a difference under / over so many error bounds; between them: doubtful
CACHED = 100_000  # subtrees remembered; all are forgotten when there are more


class Truth(enum.Enum):
    """The outcome of trying an equation at points."""

    TRUE = 1
    FALSE = 0
    UNDECIDED = -1

    def __str__(self) -> str:
        """In words, for answers to people."""
        return {1: "holds", 0: "does not hold", -1: "undecided"}[self.value]


def numeric_truth(equation: Equation) -> Truth:
    """Whether an equation holds as arithmetic says, UNDECIDED also for a function or constant without a value."""
    try:
        return Evaluator().truth(equation)
    except ValueError:
        return Truth.UNDECIDED


def decide(left: Value, right: Value, needed: int = MIN_POINTS) -> Array:
    """The decisions as numbers of ``Truth`` (...) from the values of both sides, each (..., POINTS).

    Call it with numpy's floating-point warnings off.
    """
    error = left[2] + right[2] + EPS * (left[1] + right[1])
    usable = error < BLURRED * (1 + np.maximum(left[1], right[1]))  # never where a value is NaN
    difference = np.abs(left[0] - right[0])
    agree = ((difference <= EQUAL * error) | ~usable).all(axis=-1)
    differ = (usable & (difference > DIFFERENT * error)).any(axis=-1)
    decision: Array = np.where(agree, Truth.TRUE.value, np.where(differ, Truth.FALSE.value, Truth.UNDECIDED.value))
    decision[np.count_nonzero(usable, axis=-1) < needed] = Truth.UNDECIDED.value
    return decision


class Evaluator:
    """Evaluates equations, remembering the values of the subtrees that it met.

    Args:
        domain: the points; of real and positive ones those are used at which all subtrees are real.
    """

    def __init__(self, domain: Domain = "complex") -> None:
        self.domain = domain
        self._values: dict[Tree, Value] = {}
        self._by_id: dict[
            int, tuple[Tree, Value]
        ] = {}  # spares comparing trees; the tree is held, so its id stays its own

    def truth(self, equation: Equation) -> Truth:
        """TRUE if the sides agree at every usable point, FALSE if they clearly differ at one, else UNDECIDED.

        Among real points also FALSE if just one side is real at one, as of ``log(x^2) = 2*log(x)`` below 0.
        """
        if len(self._by_id) > CACHED:
            self._values.clear()
            self._by_id.clear()
        with np.errstate(all="ignore"):
            left, right = self.value(equation.left), self.value(equation.right)
            if self.domain == "real" and _real_alone(left, right):
                return Truth.FALSE
            return Truth(int(decide(left, right, MIN_POINTS if self.domain == "complex" else NEEDED_REAL)))

    def value(self, tree: Tree) -> Value:
        """Value and error bound of ``tree``; call it with numpy's floating-point warnings off."""
        stack = [tree]
        while stack:
            node = stack[-1]
            if self._known(node) is not None:
                stack.pop()
                continue
            arguments = []
            for child in node.children:
                argument = self._known(child)
                if argument is None:
                    stack.append(child)
                else:
                    arguments.append(argument)
            if len(arguments) == len(node.children):
                stack.pop()
                value = apply(node.function, arguments) if arguments else leaf_value(node, self.domain)
                if self.domain in ("real", "positive"):
                    value = _only_real(value, arguments)
                self._values[node] = value
                self._by_id[id(node)] = node, value
        return self._by_id[id(tree)][1]

    def _known(self, tree: Tree) -> Value | None:
        found = self._by_id.get(id(tree))
        if found is not None:
            return found[1]
        value = self._values.get(tree)
        if value is not None:
            self._by_id[id(tree)] = tree, value
        return value


def _only_real(value: Value, arguments: Sequence[Value]) -> Value:
    """``value`` with NaN if it, or an argument that it was made of, is not real; a pole is infinite, not NaN."""
    v, size, error = value
    lost = np.abs(v.imag) > 1e-9 * size + 4 * error
    for argument in arguments:
        lost = lost | np.isnan(argument[0])
    v = np.where(lost, np.nan, np.where(np.isnan(v), np.inf, v))
    return v, np.where(lost, np.nan, size), np.where(lost, np.inf, error)


def _real_alone(left: Value, right: Value) -> bool:
    """Whether one side has a value at a point where the other is not real."""
    not_real = [np.isnan(side[0]) for side in (left, right)]
    usable = [side[2] < BLURRED * (1 + side[1]) for side in (left, right)]
    return bool((not_real[0] & usable[1]).any() or (not_real[1] & usable[0]).any())
