"""Sums, products and quotients of trees, taken apart and put together."""

from collections.abc import Sequence
from fractions import Fraction

from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.exact import exact
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.tree import Tree


def terms(tree: Tree) -> tuple[Tree, ...]:
    """The terms of a sum, without the brackets in it."""
    if tree.function != "Add":
        return (tree,)
    return tuple(term for child in tree.children for term in terms(child))


def factors(tree: Tree) -> tuple[Tree, ...]:
    """The factors of a product, without the brackets in it."""
    if tree.function != "Mul":
        return (tree,)
    return tuple(factor for child in tree.children for factor in factors(child))


def make_sum(parts: Sequence[Tree]) -> Tree:
    return Tree("Add", parts) if len(parts) > 1 else parts[0]


def product(parts: Sequence[Tree]) -> Tree:
    return Tree("Mul", parts) if len(parts) > 1 else parts[0] if parts else fraction(1)


def negate(tree: Tree) -> Tree:
    value = exact(tree)
    if value is not None:
        return fraction(-value)
    first, *rest = factors(tree)
    return product(rest) if first == MINUS_ONE else Tree("Mul", (MINUS_ONE, tree))


def quotient(tree: Tree) -> tuple[Tree, Tree]:
    """Numerator and denominator; the latter is 1 if there is none."""
    top, bottom = [], []
    for factor in factors(tree):
        value = exact(factor)
        exponent = exact(factor.children[1]) if factor.function == "Pow" else None
        if value is not None and value.denominator > 1:
            top.append(fraction(value.numerator))
            bottom.append(fraction(value.denominator))
        elif exponent is not None and exponent < 0:
            base = factor.children[0]
            bottom.append(base if exponent == -1 else Tree("Pow", (base, fraction(-exponent))))
        else:
            top.append(factor)
    return product(top), product(bottom)


def power(base: Tree, exponent: Fraction | int) -> Tree:
    return base if exponent == 1 else Tree("Pow", (base, fraction(exponent)))


def over(top: Tree, bottom: Tree) -> Tree:
    return product([top, power(bottom, -1)])


def conjugate(tree: Tree) -> Tree:
    """A sum with the signs of all but its first term changed."""
    first, *others = terms(tree)
    return make_sum([first, *map(negate, others)])
