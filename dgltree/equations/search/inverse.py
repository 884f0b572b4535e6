"""Values that a blank must have: the path from the root to it, walked back step by step, as trees and at the points."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from dgltree.equations.expressions.definitions import X, expression
from dgltree.equations.expressions.variables import Path, count_blanks, find_blank
from dgltree.equations.search import written_operations
from dgltree.equations.search.points import COMPLEX, Points, value
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array, power
from dgltree.equations.truth.exact import exact_value
from dgltree.read.functions import BY_NAME
from dgltree.read.notation import EXP1
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

MAX_INVERSE_VALUES = 8  # values that a blank may have, if functions have several inverses
MAX_NODES = 2000  # nodes of a tree that is walked back: a root with a sign doubles what follows


_RECIPROCAL = written_operations.divide(written_operations.ONE, BLANK)


@cache
def inverses(function: str) -> tuple[Tree, ...]:
    """The arguments at which a function of one argument has the value ``BLANK``, branch by branch."""
    record = BY_NAME.get(function)
    if record is None:
        return ()
    if record.arguments or not record.definition:
        return tuple(map(expression, record.arguments))
    equation = Equation(expression(record.definition), BLANK)
    return tuple(isolate(equation, find_blank(equation, X))) if count_blanks(equation, X) == 1 else ()


def _signs(tree: Tree) -> tuple[Tree, Tree]:
    return tree, written_operations.negate(tree)


def arguments(function: str, target: Array) -> list[Array]:
    """The arguments (..., P) at which a function has the values ``target`` (..., P), branch by branch."""
    at = Points(COMPLEX if np.iscomplexobj(target) else "real", {}, target.shape[-1])
    return [value(branch, at, {BLANK: target}) for branch in inverses(function)]


def isolate(equation: Equation, path: Path) -> list[Tree]:
    """The value at the end of ``path``, from the rest of the equation; empty if a step cannot be walked back.

    Several trees if functions have several inverses. Whether they hold is not said: ``sqrt(x) = -1`` gives 1.
    """
    targets = [equation[1 - path.side]]
    for node, slot in reversed(path.steps):
        ways = _ways(node, slot)
        targets = [target for target in targets if target.size <= MAX_NODES]
        targets = [substitute(way, {BLANK: target}) for target in targets for way in ways][:MAX_INVERSE_VALUES]
    return [target for target in targets if target.size <= MAX_NODES]


def solve_for_blank(equation: Equation, path: Path, points: Points, known: Mapping[Tree, Array]) -> list[Array]:
    """The values (..., P) that the blank at the end of ``path`` may have; empty if a step cannot be walked back.

    ``known`` are the values of other blanks, (K, P) each. Call it with numpy's floating-point warnings off.
    """
    targets = [value(equation[1 - path.side], points, known)]
    for node, slot in reversed(path.steps):
        if node.function == "Pow" and slot == 0:
            exponent = value(node.children[1], points, known)
            targets = [branch for target in targets for branch in _root(target, exponent)][:MAX_INVERSE_VALUES]
        else:
            ways = _ways(node, slot)
            targets = [value(way, points, {**known, BLANK: target}) for target in targets for way in ways][
                :MAX_INVERSE_VALUES
            ]
    return targets


def _ways(node: Tree, slot: int) -> tuple[Tree, ...]:
    """The child in a slot, in terms of the other children and of the node's value, which is ``BLANK``."""
    others = [child for k, child in enumerate(node.children) if k != slot]
    if node.function == "Add":
        return (_without(BLANK, others, written_operations.subtract),)
    if node.function == "Mul":
        return (_without(BLANK, others, written_operations.divide),)
    if node.function == "Pow":
        return _roots(others[0]) if slot == 0 else (written_operations.divide(_log(BLANK), _log(others[0])),)
    if node.function == "log":
        return (written_operations.power(others[0], BLANK if slot == 0 else _RECIPROCAL),)
    return inverses(node.function)


def loses_values(node: Tree, slot: int) -> bool:
    """Whether several real values of a child give a node one value, or the inverse needs a base that is positive."""
    if node.function == "Pow":
        exponent = exact_value(node.children[1])
        return slot == 1 or exponent is None or exponent.numerator % 2 == 0
    record = BY_NAME.get(node.function)
    return record is not None and (record.kind == "circular" or record.parity == "even")


def _without(tree: Tree, others: list[Tree], operation: "written_operations.Operation") -> Tree:
    for other in others:
        tree = operation(tree, other)
    return tree


def _log(tree: Tree) -> Tree:
    return written_operations.ONE if tree == EXP1 else Tree("log", (tree, EXP1))


def _roots(exponent: Tree) -> tuple[Tree, ...]:
    """The bases of a power that is ``BLANK``."""
    n = exact_value(exponent)
    if not n:
        return (Tree("Pow", (BLANK, written_operations.divide(written_operations.ONE, exponent))),)
    root = written_operations.power(BLANK, fraction(1 / n)) if n != 1 else BLANK
    return (root,) if n.numerator % 2 else _signs(root)


def _root(target: Array, exponent: Array) -> list[Array]:
    """The bases of powers of the values ``target``."""
    n = exponent.flat[0]
    whole = bool(np.all(exponent == n)) and float(np.real(n)).is_integer() and np.imag(n) == 0
    if whole and int(np.real(n)) % 2:
        if np.isrealobj(target):  # the real root of a negative number, too
            return [np.sign(target) * power(np.abs(target), 1 / exponent)]
        return [power(target, 1 / exponent)]
    root = power(target, 1 / exponent)
    return [root, -root] if whole else [root]
