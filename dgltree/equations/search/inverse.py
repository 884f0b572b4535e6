"""What a blank must be worth: the path from the root to it, walked back at the points."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from dgltree.equations.expressions.paths import Path
from dgltree.equations.search.arithmetic import power, value
from dgltree.equations.search.points import Points
from dgltree.equations.truth.elementary import Array
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MOST = 8  # values that a blank may have, where functions have several inverses

Branches = Callable[[Array], list[Array]]


def _reciprocal(of: Branches) -> Branches:
    return lambda t: of(1 / t)


def _arcsine(t: Array) -> list[Array]:
    a = np.arcsin(t)
    return [a, math.pi - a]


def _signs(of: Callable[[Array], Array]) -> Branches:
    def both(t: Array) -> list[Array]:
        a = of(t)
        return [a, -a]

    return both


def _one(of: Callable[[Array], Array]) -> Branches:
    return lambda t: [of(t)]


def _inverted(of: Branches) -> Branches:
    return lambda t: [1 / branch for branch in of(t)]


_DIRECT: dict[str, Branches] = {
    "exp": _one(np.log),
    "sin": _arcsine,
    "cos": _signs(np.arccos),
    "tan": _one(np.arctan),
    "sinh": _one(np.arcsinh),
    "cosh": _signs(np.arccosh),
    "tanh": _one(np.arctanh),
    "asin": _one(np.sin),
    "acos": _one(np.cos),
    "atan": _one(np.tan),
    "asinh": _one(np.sinh),
    "acosh": _one(np.cosh),
    "atanh": _one(np.tanh),
    "abs": _signs(lambda t: t),
}
_RECIPROCALS = {"csc": "sin", "sec": "cos", "cot": "tan", "csch": "sinh", "sech": "cosh", "coth": "tanh"}
INVERSES: dict[str, Branches] = (
    _DIRECT
    | {name: _reciprocal(_DIRECT[of]) for name, of in _RECIPROCALS.items()}
    | {f"a{name}": _inverted(_DIRECT[f"a{of}"]) for name, of in _RECIPROCALS.items()}
)
"""The arguments at which a function has a value, branch by branch."""


def wanted(equation: Equation, path: Path, points: Points, known: Mapping[Tree, Array]) -> list[Array]:
    """The values (..., P) that the blank at the end of ``path`` may have; empty where a step cannot be walked back.

    ``known`` are the values of other blanks, (K, P) each. Call it with numpy's floating-point warnings off.
    """
    targets = [value(equation[1 - path.side], points, known)]
    for node, slot in reversed(path.steps):
        others = [value(child, points, known) for k, child in enumerate(node.children) if k != slot]
        targets = [branch for target in targets for branch in _undone(node, slot, others, target)][:MOST]
    return targets


def _undone(node: Tree, slot: int, others: list[Array], target: Array) -> list[Array]:
    """The values of a node's child where the node's is ``target``."""
    if node.function == "Add":
        return [target - sum(others[1:], others[0])]
    if node.function == "Mul":
        factor = others[0]
        for other in others[1:]:
            factor = factor * other
        return [target / factor]
    if node.function == "Pow":
        return _root(target, others[0]) if slot == 0 else [np.log(target) / np.log(others[0])]
    if node.function == "log":
        return [power(others[0], target)] if slot == 0 else [power(others[0], 1 / target)]
    return INVERSES[node.function](target) if node.function in INVERSES else []


def _root(target: Array, exponent: Array) -> list[Array]:
    n = exponent.flat[0]
    whole = bool(np.all(exponent == n)) and float(np.real(n)).is_integer() and np.imag(n) == 0
    if whole and int(np.real(n)) % 2:
        if np.isrealobj(target):  # the real root of a negative number, too
            return [np.sign(target) * power(np.abs(target), 1 / exponent)]
        return [power(target, 1 / exponent)]
    root = power(target, 1 / exponent)
    return [root, -root] if whole else [root]
