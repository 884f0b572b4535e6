"""How reluctantly a textbook writes an expression: its length in symbols, and more for what has a plainer form.

The amounts were chosen on the part of the benchmark that is for tuning.
"""

from fractions import Fraction
from math import isqrt
from typing import NamedTuple

from dgltree.equations.expressions.tree_parts import factors, terms
from dgltree.equations.expressions.variables import Path
from dgltree.equations.expressions.written_form import Memo, symbols
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.read.functions import Use, names
from dgltree.read.notation import IMAGINARY_UNIT
from dgltree.trees.tree import Tree

REMEMBERED = 20_000  # trees
AVOIDED = 3.0
"""For the square of a product, and for a bracket in a term of a sum."""
OF_AN_INVERSE = 6.0
"""For a function of an inverse function."""
ROOT_OF_SQUARE = 2.0
"""For ``sqrt(x^2)`` and ``|x^2|``, which are plainer without one of the two."""
SQUARE_BELOW_ROOT = 6.0
"""For ``sqrt(75)``, which is ``5*sqrt(3)``."""
MAX_FACTORED = 10**6
"""The largest number whose square factors are looked for."""
ROOT_BELOW = 4.0
"""For a sum with the root of a number as a denominator, which is made rational."""
FRACTION_BELOW = 4.0
"""For each fraction in a sum that is a denominator and has other terms: ``a/(1 + a/b)``, which is ``a*b/(a + b)``."""
BRACKET = 7.0
"""For a bracket in what is one of several plain terms."""
INVERSES = frozenset(names("exponential", "circular", "hyperbolic", inverse=True, least=Use.KNOWN))
FUNCTIONS = frozenset(names("exponential", "circular", "hyperbolic", inverse=False, least=Use.KNOWN))
NUMBERS_OF = (FUNCTIONS | INVERSES) - {"exp", "log"}


class _Habits(NamedTuple):
    """The costs of a tree in addition to its length."""

    avoided: float = 0.0
    bracket: bool = False
    """Whether it has a sum as a factor or below a power."""
    has_inverse: bool = False
    """Whether it is an inverse function, or a sum or a product that has one."""


def textbook_cost(tree: Tree, plain_terms: bool = False) -> float:
    """Symbols, and those that count against it; ``plain_terms`` if it is one of several terms without brackets."""
    habits = _HABITS(tree)
    return symbols(tree) + habits.avoided + (BRACKET if plain_terms and habits.bracket else 0.0)


def is_plain_term(path: Path) -> bool:
    """Whether a blank is a term, at most with a number in front, of a sum that has no brackets elsewhere."""
    terms = 0
    for node, slot in path.steps:
        others = [child for k, child in enumerate(node.children) if k != slot]
        if node.function == "Mul" and all(exact_value(other) is not None for other in others):
            continue
        if node.function != "Add" or any(_HABITS(other).bracket for other in others):
            return False
        terms += sum(exact_value(other) is None for other in others)
    return terms > 0


def _habits(node: Tree, parts: list[_Habits]) -> _Habits:
    avoided = sum(part.avoided for part in parts)
    bracket = any(part.bracket for part in parts)
    if node.function == "Add":
        avoided += AVOIDED * sum(_has_bracket(child) for child in node.children)
    elif node.function == "Mul":
        bracket |= any(child.function == "Add" for child in node.children)
    elif node == IMAGINARY_UNIT:
        avoided -= symbols(node) - 1  # it is written i
    elif node.function == "Pow" and len(parts) == 2:
        base, exponent = node.children
        n = exact(exponent)
        whole = n is not None and n.denominator == 1 and n > 1
        avoided += AVOIDED * (n is not None and n.denominator > 1 and (base.token or "").startswith("-"))
        avoided += ROOT_BELOW * (
            n is not None and n < 0 and base.function == "Add" and any(map(_is_root, base.children))
        )
        if n is not None and n < 0 and base.function == "Add":
            fractions = [_is_fraction(term) for term in terms(base)]
            avoided += FRACTION_BELOW * (0 if all(fractions) else sum(fractions))
        bracket |= base.function == "Add" and n is not None and n.denominator == 1
        avoided += AVOIDED * (whole and base.function == "Mul")
        avoided += OF_AN_INVERSE * (base.function == "exp")
        avoided += ROOT_OF_SQUARE * (n is not None and n.denominator > 1 and base.function == "Pow")
        avoided += SQUARE_BELOW_ROOT * (n is not None and n.denominator == 2 and _has_square_factor(exact(base)))
    elif node.function in NUMBERS_OF and exact(node.children[0]) is not None:
        avoided += AVOIDED  # pi/2 for asin(1)
    elif node.function in FUNCTIONS:
        avoided += OF_AN_INVERSE * parts[0].has_inverse
    elif node.function in INVERSES:
        avoided += OF_AN_INVERSE * (node.children[0].function in FUNCTIONS)
    elif node.function == "abs":
        avoided += ROOT_OF_SQUARE * (node.children[0].function in ("abs", "Pow"))
    is_joined = node.function in ("Add", "Mul") and any(part.has_inverse for part in parts)
    return _Habits(avoided, bracket, is_joined or node.function in INVERSES)


def _is_fraction(tree: Tree) -> bool:
    """Whether it has something else than a number as a denominator."""
    return any(
        one.function == "Pow" and (n := exact(one.children[1])) is not None and n < 0 and exact(one.children[0]) is None
        for one in factors(tree)
    )


def _has_bracket(term: Tree) -> bool:
    """Whether a term of a sum has a sum as a factor."""
    factors = [term]
    while factors:
        factor = factors.pop()
        if factor.function == "Mul":
            if any(child.function == "Add" for child in factor.children):
                return True
            factors.extend(factor.children)
        elif _is_power_of_sum(factor):
            return True
    return False


def _is_root(term: Tree) -> bool:
    """Whether it is the root of a number, or some number times one."""
    if term.function == "Mul":
        return any(map(_is_root, term.children))
    power = exact(term.children[1]) if term.function == "Pow" and len(term.children) == 2 else None
    return power is not None and power.denominator > 1 and exact_value(term.children[0]) is not None


def _has_square_factor(value: Fraction | None) -> bool:
    if value is None or value.denominator != 1 or not 0 < value <= MAX_FACTORED:
        return False
    return any(value.numerator % (k * k) == 0 for k in range(2, isqrt(value.numerator) + 1))


def _is_power_of_sum(tree: Tree) -> bool:
    if tree.function != "Pow" or tree.children[0].function != "Add":
        return False
    n = exact(tree.children[1])
    return n is not None and n.denominator == 1 and n > 0


_HABITS = Memo(lambda node: node.children, _habits, REMEMBERED)
