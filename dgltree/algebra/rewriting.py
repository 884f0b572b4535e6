"""Questions to SymPy: the expanded, factored and simplified forms of a tree, and the solutions of an equation.

Its laws of logarithms and powers are those of positive numbers, and it may be wrong or slow: callers judge what comes
back, and run this in a process that they can end.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dgltree.read.notation import IMAGINARY_UNIT, number
from dgltree.read.sympy import from_sympy, to_sympy
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    import sympy

MAX_FORM_NODES = 120
"""Nodes of a form."""
_UNIT_NAME = "imaginary_unit_of_sympy"


def forms(tree: Tree) -> dict[str, list[Tree]]:
    """``expanded``, ``factored`` and ``simplified``, of each what SymPy has; some may be the tree itself."""
    expression = _expression(tree)
    return {name: _trees(_tried(expression, ways)) for name, ways in _ways().items()}


def solutions(equation: Equation) -> list[Tree]:
    """The values of the blank, complex ones last; nothing if SymPy finds none that a tree can say."""
    import sympy

    left, right = map(_expression, equation)
    try:
        found = sympy.solve(left - right, sympy.Symbol(BLANK.function))
    except Exception:  # SymPy raises errors of many kinds
        return []
    return _trees(sorted(found, key=lambda solution: bool(solution.has(sympy.I))))


def _expression(tree: Tree) -> "sympy.Expr":
    """The expression of a tree, worked out, with fractions in place of decimals."""
    decimals = {leaf for leaf in tree.distinct() if leaf.function == "Float"}
    return to_sympy(substitute(tree, {leaf: _fraction(leaf) for leaf in decimals})).doit()


def _fraction(leaf: Tree) -> Tree:
    from fractions import Fraction

    return number(str(Fraction(leaf.token or "")))


def _ways() -> dict[str, list[Callable[[Any], Any]]]:
    """By form, what SymPy is asked to do for it."""
    import sympy

    def expanded(expression: Any) -> Any:
        return sympy.expand(sympy.expand_log(sympy.expand_trig(sympy.expand(expression)), force=True))

    def combined(expression: Any) -> Any:
        return sympy.logcombine(expression, force=True)

    return {
        "expanded": [expanded],
        "factored": [sympy.factor],
        "simplified": [
            lambda expression: expression,
            sympy.simplify,
            sympy.trigsimp,
            sympy.radsimp,
            sympy.cancel,
            combined,
            lambda expression: sympy.powdenest(sympy.powsimp(expression), force=True),
            lambda expression: sympy.simplify(sympy.expand(expression)),
            lambda expression: sympy.expand(expression, complex=True) if expression.has(sympy.I) else expression,
        ],
    }


def _tried(expression: Any, ways: list[Callable[[Any], Any]]) -> Iterator[Any]:
    for way in ways:
        with suppress(Exception):  # SymPy raises errors of many kinds
            yield way(expression)


def _trees(expressions: Any) -> list[Tree]:
    import sympy

    unit, found = sympy.Symbol(_UNIT_NAME), dict[Tree, None]()
    for expression in expressions:
        with suppress(ValueError, TypeError, AttributeError, RecursionError):
            tree = from_sympy(expression.xreplace({sympy.I: unit}))
            if isinstance(tree, Tree) and tree.size <= MAX_FORM_NODES:
                found[substitute(tree, {Tree("Symbol", token=_UNIT_NAME): IMAGINARY_UNIT})] = None
    return list(found)
