"""A process of its own asks SymPy: it reads a JSON line with a question and writes one with the answer.

``python -m dgltree.equations.algebra.server``. Expressions are infix text. It ends with its input, and by itself when a
question takes more CPU time, or longer, than was said, if the system can tell; else its parent ends it. SymPy's laws of
logarithms and powers are those of positive numbers, and it may be wrong: callers judge what comes back.
"""

import json
import mmap
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import IMAGINARY_UNIT, number
from dgltree.read.sympy import from_sympy, to_sympy
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    import sympy

MAX_FORM_NODES = 120
"""Nodes that a form may have."""

START_BYTES, BYTES = 2 << 30, 192 << 20
"""The address space that the process may have while it starts, and that answers may take beyond that: 55 MB are the
most that a question took in its 5 s."""
_UNIT_NAME = "imaginary_unit_of_sympy"


def forms(tree: Tree) -> dict[str, list[Tree]]:
    """Return what SymPy has of ``expanded``, ``factored`` and ``simplified``; some may be the tree itself."""
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
    return number(str(Fraction(leaf.token or "")))


def _ways() -> dict[str, list[Callable[[Any], Any]]]:
    """Return by form what SymPy is asked to do for it."""
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

    unit = sympy.Symbol(_UNIT_NAME)
    found: dict[Tree, None] = {}
    for expression in expressions:
        with suppress(ValueError, TypeError, AttributeError, RecursionError):
            tree = from_sympy(expression.xreplace({sympy.I: unit}))
            if isinstance(tree, Tree) and tree.size <= MAX_FORM_NODES:
                found[substitute(tree, {Tree("Symbol", token=_UNIT_NAME): IMAGINARY_UNIT})] = None
    return list(found)


def answer(question: dict[str, Any]) -> Any:
    """The answer of :mod:`dgltree.equations.algebra.server` to a question, as texts."""
    trees = [read_infix(text) for text in question["trees"]]
    if question["what"] == "forms":
        return {name: _texts(found) for name, found in forms(trees[0]).items()}
    return _texts(solutions(Equation(*trees)))


def _texts(trees: list[Tree]) -> list[str]:
    return [write_infix(tree) for tree in trees]


def main() -> None:
    """Answer until the input ends; null for a question that SymPy cannot answer."""
    limit_memory(START_BYTES)
    try:
        import sympy  # noqa: F401 - loaded before the first question
    except Exception as error:  # of a broken installation, or without memory
        print(" ".join(f"{type(error).__name__} {error}".split()), flush=True)
        return
    limit_memory(_address_space() + BYTES)
    print("ready", flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        limit_time(question["wait"], question["seconds"])
        try:
            found = answer(question)
        except Exception:  # SymPy raises errors of many kinds
            found = None
        limit_time(0, 0)
        print(json.dumps(found), flush=True)


def limit_memory(size: int) -> None:
    """Lower the address space to some bytes, where the system can and it is not lower already."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > size:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _address_space() -> int:
    """Bytes of this process; where the system does not tell, those that it may have."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
    except OSError:
        return START_BYTES


def limit_time(wait: int, seconds: float) -> None:
    """End this process after a time, or after CPU time; 0 for no limit. On Windows the parent alone does."""
    if hasattr(signal, "setitimer"):
        signal.alarm(wait)
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main()
