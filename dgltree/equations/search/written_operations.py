"""Expressions joined as a person writes them: ``x - 3`` and not ``x + -3``, ``5`` and not ``2 + 3``."""

from collections.abc import Callable
from fractions import Fraction

from dgltree.equations.truth.exact import exact
from dgltree.read.functions import BY_NAME
from dgltree.read.notation import EXP1, HALF, MINUS_ONE, NUMBERS, number
from dgltree.trees.tree import Tree

ZERO, ONE = number("0"), number("1")
Operation = Callable[[Tree, Tree], Tree]


def fraction(value: Fraction | int) -> Tree:
    """The leaf of a rational number."""
    return number(str(value))


def is_negative(tree: Tree) -> bool:
    """Whether a sign comes in front: a negative number, or a product that begins with one."""
    while tree.function == "Mul" and len(tree.children) == 2:
        tree = tree.children[0]
    return tree.function in NUMBERS and (tree.token or "").startswith("-")


def negate(tree: Tree) -> Tree:
    """``-tree``, without two signs."""
    if tree.function in NUMBERS and tree.token:
        return number(tree.token[1:] if tree.token[0] == "-" else f"-{tree.token}")
    if tree.function == "Mul" and len(tree.children) == 2:
        first, rest = tree.children
        if first == MINUS_ONE:  # -1/x is -1*x^-1
            return Tree("Mul", (ONE, rest)) if rest.function == "Pow" and rest.children[1] == MINUS_ONE else rest
        if is_negative(first):
            return Tree("Mul", (negate(first), rest))
    return Tree("Mul", (MINUS_ONE, tree))


def add(a: Tree, b: Tree) -> Tree:
    """``a + b``, or ``a - c`` if b is -c."""
    return Tree("Add", (a, Tree("Mul", (MINUS_ONE, negate(b))) if is_negative(b) else b))


def subtract(a: Tree, b: Tree) -> Tree:
    """``a - b``, or ``a + c`` if b is -c."""
    return Tree("Add", (a, negate(b) if is_negative(b) else Tree("Mul", (MINUS_ONE, b))))


def multiply(a: Tree, b: Tree) -> Tree:
    """``a*b``; a factor 1 goes, a factor -1 becomes a sign, a sign in the middle goes to the front."""
    if a == ONE or b == ONE:
        return b if a == ONE else a
    if a == MINUS_ONE or b == MINUS_ONE:
        return negate(b if a == MINUS_ONE else a)
    if is_negative(b):
        return negate(multiply(a, negate(b)))
    if (below := _denominator(b)) is not None and b.children[0] == ONE:
        return divide(a, below)
    if (below := _denominator(a)) is not None and a.children[0] == ONE:
        return divide(b, below)
    return Tree("Mul", (a, b))


def divide(a: Tree, b: Tree) -> Tree:
    """``a/b``; of two numbers one fraction."""
    p = exact(a)
    q = exact(b)
    if p is not None and q:
        return fraction(p / q)
    if b == ONE:
        return a
    if is_negative(b):
        return negate(divide(a, negate(b)))
    if (below := _denominator(b)) is not None:  # no fraction below the line of another
        return divide(multiply(a, below), b.children[0])
    if q is not None and q.denominator > 1:
        return multiply(fraction(1 / q), a)
    if (below := _denominator(a)) is not None:
        return divide(a.children[0], multiply(below, b))
    return Tree("Mul", (a, Tree("Pow", (b, MINUS_ONE))))


def _denominator(tree: Tree) -> Tree | None:
    """The denominator of a fraction ``a*b^-1``, None for no fraction."""
    if tree.function == "Mul" and len(tree.children) == 2:
        inverse = tree.children[1]
        if inverse.function == "Pow" and inverse.children[1] == MINUS_ONE:
            return inverse.children[0]
    return None


def power(a: Tree, b: Tree) -> Tree:
    """``a^b``, ``1/a`` for the exponent -1 and ``e^b`` as exp."""
    if b == MINUS_ONE:
        return divide(ONE, a)
    return Tree("exp", (b,)) if a == EXP1 else Tree("Pow", (a, b))


BINARY = {"add": add, "sub": subtract, "mul": multiply, "div": divide, "pow": power}
"""The notation of a search's binary operations."""


def write_operation(operation: str, parts: list[Tree]) -> Tree:
    """The tree of an operation of the table on written parts."""
    if operation in BINARY:
        return BINARY[operation](*parts)
    if operation == "neg":
        return negate(parts[0])
    if operation == "sqrt":
        return Tree("Pow", (parts[0], HALF))
    if operation == "log":
        return Tree("log", (parts[0], EXP1))
    parity = BY_NAME[operation].parity
    if parity and is_negative(parts[0]):  # what loses the sign of its argument, or hands it on
        whole = Tree(operation, (negate(parts[0]),))
        return negate(whole) if parity == "odd" else whole
    return Tree(operation, parts)
