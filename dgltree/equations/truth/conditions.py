"""Conditions name where an equation that holds has no value: denominators and arguments of logarithms that are 0.

They are named as they are written, or, of an equation in one variable, as single points: ``x = -3``.
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice

from flint import acb, fmpq

from dgltree.equations.expressions.definitions import X, expression, is_reciprocal
from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.balls import Ball, ball, snap
from dgltree.equations.truth.elementary import is_continued
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.periods import CIRCULAR
from dgltree.equations.truth.program import Program, compare_end
from dgltree.equations.truth.proofs.line import Line, Number
from dgltree.equations.truth.sample_points import angle
from dgltree.read.functions import BY_NAME
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

MAX_CONDITION_LENGTH = 60
"""Characters of a condition."""
MAX_CONDITIONS = 6
"""Conditions that are named; further ones are left out."""


def conditions(equation: Equation) -> tuple[str, ...]:
    """Return where a side may have no value, as ``x + y = 0``."""
    return tuple(condition(tree) for tree in zero_expressions(equation))


def condition(tree: Tree) -> str:
    """Write that an expression is 0: ``x = 0``, and ``b = 1`` of b - 1."""
    if tree.function == "Add" and tree.children[1:] == (MINUS_ONE,):
        return f"{write_infix(tree.children[0])} = 1"
    return f"{write_infix(tree)} = 0"


def zero_expressions(equation: Equation) -> list[Tree]:
    """Return the expressions that conditions name, the first few."""
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


# Single points

ZERO = Tree("Integer", token="0")
ANGLES = range(-24, 25)
"""Angles that are looked at, in steps of pi/12: up to 2 pi on either side of 0."""
BITS = 320


def exceptional_points(case: JudgedEquation, line: Line | None, everywhere: bool = False) -> tuple[str, ...]:
    """Return where one side has no value: ``x = -3``, or, if there is one in every period, ``cos(x) = 0``.

    With ``everywhere`` it has no complex value either. Of a line that is not known as a whole there are the
    denominators of one side, too, as they are written.
    """
    if line is not None and line.is_whole:
        return line.conditions(partial(_has_no_value, case) if everywhere else None)
    written = [tree for tree in _one_sided(case) if not _is_periodic(tree)]
    return tuple(dict.fromkeys(map(condition, [*written, *_periodic(case)])))


def _has_no_value(case: JudgedEquation, value: Number) -> bool:
    """Whether one side has no complex value at a number either."""
    found = compare_end(case.principal, {case.name: value if isinstance(value, fmpq) else acb(value)}, BITS)
    return (found.left is None) != (found.right is None) or not all(map(_is_finite, (found.left, found.right)))


def _one_sided(case: JudgedEquation) -> list[Tree]:
    """The expressions that must not be 0 for one side to have a value."""
    left, right = (zero_expressions(Equation(side, ZERO)) for side in case.equation)
    return [tree for tree in [*left, *right] if (tree in left) != (tree in right)]


def _is_periodic(tree: Tree) -> bool:
    return any(node.function in CIRCULAR for node in tree.distinct())


def _periodic(case: JudgedEquation) -> list[Tree]:
    """Return expressions whose zeros are such points, as few as possible.

    One that is 0 at no angle of the grid may be 0 at a point of that kind: it is named.
    """
    found = list(filter(_is_periodic, zero_expressions(case.equation)))
    if not found:
        return []
    alone = _alone(case.school, case.name)
    zeros = [_zero_points(tree, case.name) for tree in found]
    named = [tree for tree, at in zip(found, zeros, strict=True) if not at]
    covered: set[int] = set()
    for tree, at in sorted(zip(found, zeros, strict=True), key=lambda one: -len(one[1] & alone)):
        if at & alone - covered:
            named.append(tree)
            covered |= at
    return named


def _zero_points(tree: Tree, name: str) -> set[int]:
    """The angles, in twelfths of pi, at which an expression is 0."""
    program = Program(Equation(tree, ZERO), school=True)
    return {k for k in ANGLES if program.at({name: angle(k)}, BITS, snap)[0] == 0}


def _alone(program: Program, name: str) -> set[int]:
    """The angles at which one side alone has a value; a ball around a pole has no number in it that is finite."""
    sides = {k: program.at({name: angle(k)}, BITS, snap) for k in ANGLES}
    return {k for k, values in sides.items() if len({_is_finite(value) for value in values}) == 2}


def _is_finite(value: Ball) -> bool:
    return value is not None and bool(ball(value).is_finite())
