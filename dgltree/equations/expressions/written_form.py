"""The written form of an expression: its length in symbols, and what makes two forms the same.

Trees have one form if they differ only in the grouping of sums and of products, in ``1/x`` or ``x^-1``, ``x - 3`` or
``x + -1*3``, ``exp(x)/2`` or ``1/2*exp(x)``, ``sqrt(x)`` or ``x^(1/2)``, or in a factor 1. The order of summands and of
factors counts: ``3 + x`` is another form than ``x + 3``.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from dgltree.read.notation import EXP1, FRACTION
from dgltree.trees.tree import Tree

RECURSION = 200  # depth of trees whose forms are made part by part and remembered


class Form(NamedTuple):
    """A sign and the factors above and below a fraction's line, each a text or (what it is, its parts)."""

    negative: bool = False
    above: tuple["Factor", ...] = ()
    below: tuple["Factor", ...] = ()


Factor = str | tuple[str, tuple[Form, ...]]


def form(tree: Tree) -> Form:
    """The form of a tree, to be compared with others."""
    return _remembered(tree) if tree.depth < RECURSION else tree.fold(_form)


@lru_cache(maxsize=100_000)  # the fillers that a search finds share most of their parts
def _remembered(tree: Tree) -> Form:
    return _form(tree, list(map(_remembered, tree.children)))


@lru_cache(maxsize=20_000)
def rearranged(tree: Tree) -> Form:
    """The form without the order of summands and factors: the same of ``x^2 - 5*x + 6`` and ``6 + (x*x - x*5)``."""
    return _sorted(form(tree))


def restates(tree: Tree, whole: Tree) -> bool:
    """Whether ``whole``, which is no leaf, is a part of ``tree``, at most rearranged."""
    if not whole.children:
        return False
    form = rearranged(whole)
    return any(node.size <= whole.size + 4 and rearranged(node) == form for node in tree.distinct() if node.children)


@lru_cache(maxsize=50_000)
def symbols(tree: Tree) -> int:
    """How long an expression is as one writes it: its operators, functions, names and numbers; brackets are free.

    ``x - 3`` has 3, ``sqrt(x)`` 2, ``1/x`` 3, ``-x`` 2, whatever the tree that says so.
    """
    return _symbols(form(tree))


def _sorted(form: Form) -> Form:
    sides = (sorted((f for factor in side for f in _repeated(factor)), key=repr) for side in (form.above, form.below))
    return Form(form.negative, *map(tuple, sides))


def _repeated(factor: Factor) -> list[Factor]:
    """A power as the product that it is, in which everything is sorted."""
    if isinstance(factor, str):
        return [factor]
    name, parts = factor
    parts = tuple(map(_sorted, parts))
    if name == "^" and parts[1] in _WHOLE and len(parts[0].above) == 1 and not parts[0].below:
        return _WHOLE.index(parts[1]) * list(parts[0].above)
    return [(name, tuple(sorted(parts, key=repr)) if name == "+" else parts)]


_WHOLE = [Form(above=(str(n),)) for n in range(7)]


def _form(node: Tree, parts: list[Form]) -> Form:
    name = node.function
    if not parts:
        return _leaf(node)
    if name == "Add":
        return Form(above=(("+", tuple(term for part in parts for term in _terms(part))),))
    if name == "Mul":
        above, below = (tuple(chain.from_iterable(sides)) for sides in zip(*(part[1:] for part in parts), strict=True))
        return Form(sum(part.negative for part in parts) % 2 == 1, above, below)
    if name == "Pow":
        return _power(*parts)
    if name == "log" and node.children[1:] == (EXP1,):
        parts = parts[:1]
    return Form(above=((name, tuple(parts)),))


def _leaf(leaf: Tree) -> Form:
    text = leaf.token or leaf.function
    negative, text = text[0] == "-", text.removeprefix("-")
    if not FRACTION.fullmatch(text):
        return Form(negative, () if text == "1" else (text,))
    top, bottom = text.split("/")
    return Form(negative, () if top == "1" else (top,), (bottom,))


def _terms(form: Form) -> tuple[Form, ...]:
    match form:
        case Form(False, (("+", terms),), ()):
            return terms
    return (form,)


def _power(base: Form, exponent: Form) -> Form:
    value = _number(exponent)
    if value is not None and value < 0:
        above = _power(base, exponent._replace(negative=False))
        return Form(above.negative, above.below, above.above)
    if value == 1:
        return base
    if value == Fraction(1, 2):
        return Form(above=(("sqrt", (base,)),))
    return Form(above=(("^", (base, exponent)),))


def _number(form: Form) -> Fraction | None:
    """The value of a form that is one integer or fraction."""
    sides = [side[0] if len(side) == 1 else "" if side else "1" for side in (form.above, form.below)]
    if not all(isinstance(side, str) and side.isdigit() for side in sides) or int(str(sides[1])) == 0:
        return None
    return (-1 if form.negative else 1) * Fraction(int(str(sides[0])), int(str(sides[1])))


def _symbols(form: Form) -> int:
    factors = form.above or ("1",), form.below
    count = sum(_factor_symbols(factor) for side in factors for factor in side)
    return count + sum(map(len, factors)) - 1 + form.negative


def _factor_symbols(factor: Factor) -> int:
    if isinstance(factor, str):
        return 1
    name, parts = factor
    counts = sum(map(_symbols, parts))
    if name != "+":  # an operator or a function
        return counts + 1
    signs = sum(part.negative for part in parts)  # each is the operator before its term
    return counts - signs + len(parts) - 1 + (signs == len(parts))
