"""Single points at which an equation in one variable has no value, although it holds all around them."""

from functools import partial

from flint import acb, fmpq

from dgltree.equations.truth.balls import Ball, ball, snap
from dgltree.equations.truth.compare import compare_end
from dgltree.equations.truth.conditions import condition, zero_expressions
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.proofs.line import Line, Number
from dgltree.equations.truth.sample_points import Angle
from dgltree.read.functions import names
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

CIRCULAR = frozenset(names("circular", inverse=False))
ZERO = Tree("Integer", token="0")
ANGLE_PARTS, ANGLES = 12, range(-24, 25)
"""Angles are looked at in steps of pi/12, up to 2 pi on either side of 0."""
BITS = 320


def exceptional_points(case: JudgedEquation, line: Line | None, everywhere: bool = False) -> tuple[str, ...]:
    """``x = -3``, or, if there is one in every period, ``cos(x) = 0``: what one side has no value for.

    With ``everywhere`` no complex value either. Of a line that is not known as a whole there are the denominators of
    one side, too, as they are written.
    """
    if line is not None and line.is_whole:
        return line.conditions(partial(_has_no_value, case) if everywhere else None)
    periodic, _ = _periodic(case)
    written = [tree for tree in _one_sided(case) if not _is_periodic(tree)]
    return tuple(dict.fromkeys(map(condition, [*written, *periodic])))


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


def _periodic(case: JudgedEquation) -> tuple[list[Tree], set[int]]:
    """Expressions whose zeros are such points, as few as possible, and those of the angles that are among the zeros.

    One that is 0 at no angle of the grid may be 0 at a point of that kind: it is named.
    """
    found = list(filter(_is_periodic, zero_expressions(case.equation)))
    if not found:
        return [], set()
    alone, zeros = _alone(case.school, case.name), [_zeros(tree, case.name) for tree in found]
    named = [tree for tree, at in zip(found, zeros, strict=True) if not at]
    covered: set[int] = set()
    for tree, at in sorted(zip(found, zeros, strict=True), key=lambda one: -len(one[1] & alone)):
        if at & alone - covered:
            named.append(tree)
            covered |= at
    return named, covered


def _zeros(tree: Tree, name: str) -> set[int]:
    """The angles, in twelfths of pi, at which an expression is 0."""
    program = Program(Equation(tree, ZERO), school=True)
    return {k for k in ANGLES if program.at({name: _angle(k)}, BITS, snap)[0] == 0}


def _alone(program: Program, name: str) -> set[int]:
    """The angles at which one side alone has a value; a ball around a pole has no number in it that is finite."""
    sides = {k: program.at({name: _angle(k)}, BITS, snap) for k in ANGLES}
    return {k for k, values in sides.items() if len({_is_finite(value) for value in values}) == 2}


def _is_finite(value: Ball) -> bool:
    return value is not None and bool(ball(value).is_finite())


def _angle(k: int) -> Angle:
    return Angle(fmpq(k, ANGLE_PARTS))
