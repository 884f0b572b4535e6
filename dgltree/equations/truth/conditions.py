"""Expressions that must not be 0: denominators, and arguments of logarithms, as they are written."""

from collections.abc import Iterator
from itertools import islice

from dgltree.equations.expressions.definitions import X, expression, is_reciprocal
from dgltree.equations.expressions.names import variables
from dgltree.equations.truth.elementary import is_continued
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.read.functions import BY_NAME
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

MAX_CONDITION_LENGTH = 60
"""Characters of a condition."""
MAX_CONDITIONS = 6
"""Those that are named; further ones are left out."""


def conditions(equation: Equation) -> tuple[str, ...]:
    """``x + y = 0``: where a side may have no value."""
    return tuple(condition(tree) for tree in zero_expressions(equation))


def condition(tree: Tree) -> str:
    """That an expression is 0: ``x = 0``, and ``b = 1`` of b - 1."""
    if tree.function == "Add" and tree.children[1:] == (MINUS_ONE,):
        return f"{write_infix(tree.children[0])} = 1"
    return f"{write_infix(tree)} = 0"


def zero_expressions(equation: Equation) -> list[Tree]:
    """The expressions of these conditions, the first few."""
    zeros = (factor for side in equation for tree in _zeros(side) for factor in _factors(tree))
    short = (
        tree
        for tree in dict.fromkeys(zeros)
        if tree.size <= MAX_CONDITION_LENGTH and len(write_infix(tree)) <= MAX_CONDITION_LENGTH
    )
    return list(islice(short, MAX_CONDITIONS))


def _never_zero(tree: Tree) -> bool:
    """Whether it is an exponential, a factorial, a power whose exponent is not a number, or a product of these."""
    if tree.function == "Mul":
        return all(map(_never_zero, tree.children))
    if tree.function == "Pow":
        return exact(tree.children[1]) is None
    return tree.function in BY_NAME and BY_NAME[tree.function].never_zero


def _factors(tree: Tree) -> Iterator[Tree]:
    """The factors, one of which is 0 if an expression is: c of 2*c^2/d."""
    exponent = exact(tree.children[1]) if tree.function == "Pow" and len(tree.children) == 2 else None
    if tree.function == "Mul":
        for child in tree.children:
            yield from _factors(child)
    elif exponent is not None:
        if exponent > 0:
            yield from _factors(tree.children[0])
    elif variables(tree) and not _never_zero(tree):
        yield tree


def _zeros(side: Tree) -> Iterator[Tree]:
    for node in side.distinct_preorder():
        if node.function == "Pow" and len(node.children) == 2:
            exponent = exact_value(node.children[1])
            if (
                exponent is not None
                and exponent <= 0
                and variables(node.children[0])
                and not _never_zero(node.children[0])
            ):
                yield node.children[0]
        elif node.function == "log":
            yield from (child for child in node.children[:1] if variables(child) and not _never_zero(child))
            yield from (Tree("Add", (base, MINUS_ONE)) for base in node.children[1:] if variables(base))
        elif len(node.children) == 1 and variables(node):
            yield from (substitute(zero, {X: node.children[0]}) for zero in _below(node.function))


def _below(name: str) -> list[Tree]:
    """The denominators of a function's definition that may be 0: cos(x) of tan(x)."""
    record = BY_NAME.get(name)
    if record is None or not record.definition or is_continued(name):
        return []
    tree = expression(record.definition)
    factors = tree.children if tree.function == "Mul" else (tree,)
    return [factor.children[0] for factor in factors if is_reciprocal(factor) and not _never_zero(factor.children[0])]
