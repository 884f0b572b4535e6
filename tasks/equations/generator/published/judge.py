"""Verdicts of SymPy's automatic evaluation on equations, in a process of its own with limits.

What is too large is known by its size, so that the same equations are dropped on every machine; the limits of time and
memory of the process are far beyond and only keep a surprise from stopping a run.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from dgltree.read.sympy import to_sympy
from tasks.child import Child
from tasks.equations.generator.places import Places
from tasks.equations.words import SYMBOLS, Word, tree

BITS = 4096  # of an integer, a numerator or a denominator
EXPONENT = 256  # above which no number is raised
SECONDS, MEGABYTES = 1800.0, 4096  # for some hundred equations, which take a second on an idle machine
CACHED = 20_000  # subtrees remembered; all are forgotten when there are more


class TooLargeError(Exception):
    """A number with more than ``BITS``, or a power that would have them."""


@cache
def judge() -> Child:
    """The process of this one; it ends with it."""
    return Child(judgements, SECONDS, MEGABYTES)


def judgements(equations: Sequence[Word]) -> list[bool | None]:
    """Whether SymPy evaluates each equation to ``True``; None for one that is too large."""
    return [_is_true(Places(equation)) for equation in equations]


def _is_true(equation: Places) -> bool | None:
    import sympy

    try:
        left, right = (_expression(equation, place) for place in equation.children(0))
        return sympy.Eq(left, right) is sympy.true
    except TooLargeError:
        return None
    except Exception:  # SymPy raises errors of many kinds
        return False


_known: dict[Word, Any] = {}


def _expression(equation: Places, place: int) -> Any:
    """The evaluated expression of a subtree."""
    import sympy

    word = equation.at(place)
    found = _known.get(word)
    if found is None:
        if len(_known) > CACHED:
            _known.clear()
        function = SYMBOLS[word[0]][0]
        arguments = [_expression(equation, child) for child in equation.children(place)]
        if function == "Pow":
            _refuse_large(arguments[1])
        found = getattr(sympy, function)(*arguments) if arguments else _leaf(word)
        if any(_bits(number) > BITS for number in found.atoms(sympy.Number)):
            raise TooLargeError
        _known[word] = found
    return found


def _leaf(word: Word) -> Any:
    return to_sympy(tree(word))


def _refuse_large(exponent: Any) -> None:
    """A power whose exponent has a large number or, without variables, a power that no fraction is the exponent of."""
    import sympy

    numbers = exponent.atoms(sympy.Number)
    if any(abs(number) > EXPONENT for number in numbers if number.is_finite):
        raise TooLargeError
    if not exponent.free_symbols and any(not power.exp.is_Rational for power in exponent.atoms(sympy.Pow)):
        raise TooLargeError


def _bits(number: Any) -> int:
    if number.is_Rational:
        return max(int(number.p).bit_length(), int(number.q).bit_length())
    return 0
