"""SymPy as a user would complete an equation with it, in a process that may be stopped.

The blank becomes a symbol, ``solve`` isolates it, ``simplify`` tidies each solution, and the shorter of both by SymPy's
own ``count_ops`` counts. If ``solve`` finds nothing, it is asked again after ``simplify``, ``expand`` and the like.
``TIDIED`` is more than most users would try: the shortest form that any of these functions gives.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dgltree import Equation, Tree
from dgltree.read.notation import EXP1
from dgltree.read.sympy import from_sympy, to_sympy
from tasks.child import Child

if TYPE_CHECKING:
    import sympy

SECONDS = 10.0
"""The limit for one equation."""
SIMPLIFIED = ("simplify",)
TIDIED = ("simplify", "factor", "expand", "cancel", "trigsimp", "radsimp", "powsimp", "expand_log", "logcombine")
"""Names of the SymPy functions that give a solution other forms."""


class Peer:
    """SymPy in a process of its own, which is replaced when an equation takes longer than ``seconds``."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._child = Child(complete, seconds, prepare=_prepare)

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.stop()

    def solver(self, positive: bool, changes: Sequence[str] = SIMPLIFIED) -> Callable[[Equation], Sequence[Tree]]:
        """A solver with variables of any value, or with positive ones."""
        return lambda equation: self._child.ask(equation, positive, changes) or ()


def _prepare() -> None:
    import sympy

    sympy.simplify(sympy.Symbol("x"))


def complete(equation: Equation, positive: bool, changes: Sequence[str] = SIMPLIFIED) -> list[Tree]:
    """SymPy's fillers, the solution with the shortest form first; none if it fails or no tree says its answer."""
    import sympy

    blank = sympy.Symbol("_")
    left, right = (_expression(side) for side in equation)
    symbols = (left.free_symbols | right.free_symbols) - {blank}
    assumed = {symbol: sympy.Symbol(symbol.name, positive=True) for symbol in symbols} if positive else {}
    left, right = (side.doit().xreplace(assumed).doit() for side in (left, right))
    found: dict[Tree, int] = {}
    for solution in _solutions(left - right, blank):
        for form in sorted(_forms(solution, changes), key=lambda form: form.count_ops()):
            if (tree := _tree_or_none(form)) is not None:
                found.setdefault(tree, form.count_ops())
                break
    return sorted(found, key=found.__getitem__)


def _solutions(difference: "sympy.Expr", blank: "sympy.Symbol") -> list[Any]:
    import sympy

    for change in (_as_it_is, sympy.simplify, sympy.expand, sympy.trigsimp, _logarithms_combined):
        try:
            if solutions := sympy.solve(change(difference), blank):
                return list(solutions)
        except Exception:  # SymPy raises errors of many kinds
            continue
    return []


def _as_it_is(expression: Any) -> Any:
    return expression


def _logarithms_combined(expression: Any) -> Any:
    import sympy

    return sympy.logcombine(sympy.expand_log(expression, force=True), force=True)


def _forms(solution: Any, changes: Sequence[str]) -> list[Any]:
    import sympy

    forms = [solution]
    for change in changes:
        with suppress(Exception):  # SymPy raises errors of many kinds
            forms.append(getattr(sympy, change)(solution))
    return forms


def _expression(tree: Tree) -> Any:
    """The SymPy expression of a tree, with ``abs``."""
    import sympy

    inside: dict[str, Tree] = {}

    def lift(node: Tree, children: list[Tree]) -> Tree:
        if node.function != "abs":
            return node.replace(children=children)
        name = f"abs_{len(inside)}"
        inside[name] = children[0]
        return Tree("Symbol", token=name)

    expression = to_sympy(tree.fold(lift))
    for name, argument in reversed(inside.items()):
        expression = expression.xreplace({sympy.Symbol(name): sympy.Abs(to_sympy(argument))})
    return expression


def _tree_or_none(expression: Any) -> Tree | None:
    """The tree in the order that SymPy prints; None for what no tree says, such as the imaginary unit."""
    try:
        return _tree(expression)
    except (ValueError, RecursionError):
        return None


def _tree(expression: Any) -> Tree:
    name = type(expression).__name__
    if not expression.args:
        leaf = from_sympy(expression)
        assert isinstance(leaf, Tree)
        return leaf
    if name in ("Add", "Mul"):
        ordered = expression.as_ordered_terms() if name == "Add" else expression.as_ordered_factors()
        first, *others = map(_tree, ordered)
        for other in others:
            first = Tree(name, (first, other))
        return first
    children = [_tree(argument) for argument in expression.args]
    if name == "log" and len(children) == 1:
        children.append(EXP1)
    return Tree({"Abs": "abs"}.get(name, name), children)
