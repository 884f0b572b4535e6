"""Both sides of an equation with 90 digits or more by mpmath: no code is shared with the judge."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import mpmath

from dgltree.read.notation import IMAGINARY_UNIT
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

DIGITS = (90, 500)
"""Of the values; the second if the first say that sides differ, because digits may have cancelled."""
SAME = mpmath.mpf(10) ** -60
"""Relative difference below which two values are the same."""
ROUNDING = 0.8
"""Share of the digits: a part of a value that is smaller by as many is 0."""
MAX_MAGNITUDE = mpmath.mpf(10) ** 100
"""And the smallest is one over it: beyond, digits would be lost, or take all memory."""


class OutOfRangeError(Exception):
    """A value beyond what is computed."""


_FUNCTIONS = [
    "exp",
    "sin",
    "cos",
    "tan",
    "csc",
    "sec",
    "cot",
    "sinh",
    "cosh",
    "tanh",
    "csch",
    "sech",
    "coth",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
]
_RECIPROCALS = {"acsc": "asin", "asec": "acos", "acot": "atan", "acsch": "asinh", "asech": "acosh", "acoth": "atanh"}


def value(tree: Tree, variables: Mapping[str, Any], school: bool) -> Any:
    """An ``mpc``, or None if there is no value.

    Args:
        school: whether every part of a tree without the imaginary unit has to be real, and an odd root is.
    """
    is_real_alone = school and all(is_real(mpmath.mpc(x)) for x in variables.values()) and not _has_unit(tree)

    def part(node: Tree, below: list[Any]) -> Any:
        number = _settled(_applied(node, below, variables, school))
        if is_real_alone and not is_real(number):
            raise ZeroDivisionError
        return number

    try:
        return tree.fold(part)
    except (ZeroDivisionError, ValueError, OverflowError, mpmath.libmp.NoConvergence):
        return None


def _has_unit(tree: Tree) -> bool:
    return any(node == IMAGINARY_UNIT for node in tree.distinct())


def _settled(number: Any) -> Any:
    """Without a part that is rounding alone: on a branch cut it would choose a side by chance."""
    if not (mpmath.isfinite(number.real) and mpmath.isfinite(number.imag)):
        raise ZeroDivisionError
    size, rounding = abs(number), mpmath.mpf(10) ** (-ROUNDING * mpmath.mp.dps)
    if rounding**2 < size < rounding:
        return mpmath.mpc(0)
    if size and not 1 / MAX_MAGNITUDE < size < MAX_MAGNITUDE:
        raise OutOfRangeError
    parts = (number.real, number.imag)
    return mpmath.mpc(*(mpmath.mpf(0) if abs(part) < size * rounding else part for part in parts))


def same(left: Any, right: Any) -> bool:
    return bool(abs(left - right) <= SAME * max(1, abs(left), abs(right)))


def is_real(number: Any) -> bool:
    return bool(number.imag == 0)


def agrees(equation: Equation, variables: Mapping[str, Any], school: bool, real: bool) -> bool | None:
    """Whether the sides are the same at a point; None if both have no value, or with ``real`` no real one.

    False if one side alone has a value; None also if one is out of range.
    """
    found = None
    for digits in DIGITS:
        with mpmath.workdps(digits):
            found = _agrees(equation, variables, school, real)
        if found is not False:
            break
    return found


def _agrees(equation: Equation, variables: Mapping[str, Any], school: bool, real: bool) -> bool | None:
    try:
        sides = [value(side, variables, school) for side in equation]
    except OutOfRangeError:
        return None
    if real:
        sides = [side if side is not None and is_real(side) else None for side in sides]
    if None in sides:
        return None if sides == [None, None] else False
    return same(*sides)


def _applied(node: Tree, below: list[Any], variables: Mapping[str, Any], school: bool) -> Any:
    if not below:
        return _leaf(node, variables)
    name = node.function
    if name == "Add":
        return sum(below[1:], below[0])
    if name == "Mul":
        product = below[0]
        for factor in below[1:]:
            product = product * factor
        return product
    if name == "Pow":
        return _power(node, below[0], below[1], school)
    if name == "abs":
        return mpmath.mpc(abs(below[0]))
    if name == "log":
        if 0 in below:
            raise ZeroDivisionError
        logs = [mpmath.log(one) for one in below]
        return mpmath.mpc(logs[0] / logs[1] if len(logs) > 1 else logs[0])
    if name in _RECIPROCALS:
        return mpmath.mpc(getattr(mpmath, _RECIPROCALS[name])(1 / below[0]))
    if name in _FUNCTIONS:
        return mpmath.mpc(getattr(mpmath, name)(below[0]))
    raise ValueError(name)


def _leaf(node: Tree, variables: Mapping[str, Any]) -> Any:
    if node.function == "Symbol":
        return mpmath.mpc(variables[node.token or ""])
    if node.function in ("Pi", "Exp1"):
        return mpmath.mpc(mpmath.pi if node.function == "Pi" else mpmath.e)
    number = Fraction(node.token or "")
    return mpmath.mpc(number.numerator) / number.denominator


def _power(node: Tree, base: Any, exponent: Any, school: bool) -> Any:
    if base == 0:
        if not exponent.real > 0:
            raise ZeroDivisionError
        return base
    written = node.children[1]
    fraction = Fraction(written.token) if written.function == "Rational" and written.token else None
    if fraction is not None and fraction.denominator % 2 and school and base.real < 0 and is_real(base):
        root = mpmath.mpf(-base.real) ** (mpmath.mpf(fraction.numerator) / fraction.denominator)
        return mpmath.mpc(-root if fraction.numerator % 2 else root)
    if exponent.imag == 0 and exponent.real == int(exponent.real):
        return base ** int(exponent.real)
    return mpmath.mpc(base**exponent)
