"""Points at which sides differ, written with enough digits to see it."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.truth.compare import Comparison
from dgltree.equations.truth.sample_points import Angle
from dgltree.equations.truth.verdict import Counterexample

MIN_DIGITS, MAX_DIGITS = 4, 120
"""Digits."""


def counterexample(point: Mapping[str, Any], found: Comparison) -> Counterexample:
    """The text of a point."""
    with ctx.workprec(1100):
        digits = MIN_DIGITS
        while digits < MAX_DIGITS:
            left, right = (_side(side, digits) for side in (found.left, found.right))
            if not _is_same(left, right):
                break
            digits += 4
        else:
            if found.left is not None and found.right is not None:
                off = write_number(_difference(found.left, found.right), MIN_DIGITS)
                less = f"plus {off[1:]}" if off.startswith("-") else f"less {off}"
                left, right = _side(found.left, MIN_DIGITS), f"is that {less}"
        return Counterexample({name: _value(value) for name, value in point.items()}, left, right)


def _difference(left: Ball, right: Ball) -> Ball:
    return left - right if isinstance(left, fmpq) and isinstance(right, fmpq) else ball(left) - ball(right)


def _is_same(left: str, right: str) -> bool:
    """Whether two texts name one number: 0.25 and 1/4."""
    if "e" in left or "e" in right:  # of a power of ten a fraction may have very many digits
        return left == right
    try:
        return Fraction(left.removeprefix("is ")) == Fraction(right.removeprefix("is "))
    except ValueError:
        return left == right


def _side(side: Ball, digits: int) -> str:
    return "has no value" if side is None else f"is {write_number(side, digits)}"


def _value(value: Any) -> str:
    if isinstance(value, Angle):
        if value.offset != 0 or value.turned:
            return write_number(value(), 12)
        top, bottom = int(value.multiple.p), int(value.multiple.q)
        times = {1: "", -1: "-"}.get(top, str(top))
        return f"{times}pi" if bottom == 1 else f"{times}pi/{bottom}"
    return write_number(value, 12)


def write_number(value: Ball, digits: int) -> str:
    """A number with so many digits; a rational with few digits as it is."""
    if isinstance(value, fmpq):
        if value.q == 1 and len(str(value.p)) <= max(digits, 12):
            return str(value.p)
        if value.q != 1 and len(str(value.p)) + len(str(value.q)) <= 8:
            return f"{value.p}/{value.q}"
    real, imaginary = ball(value).real, ball(value).imag
    if imaginary.is_zero():
        return _number(real, digits)
    if real.is_zero() or (real.contains(0) and abs(real) < arb(2) ** -50):
        return f"{_number(imaginary, digits)}i"
    if imaginary.contains(0) and abs(imaginary) < arb(2) ** -50:
        return _number(real, digits)
    second = _number(imaginary, digits)
    return f"{_number(real, digits)} {'-' if second[0] == '-' else '+'} {second.lstrip('-')}i"


def _number(real: Any, digits: int) -> str:
    """A real number as ``%g`` writes it."""
    middle = real.mid().str(digits + 2, radius=False)
    short = digits <= 15 and arb(10) ** -305 < abs(real) < arb(10) ** 300
    text = f"{float(middle):.{digits}g}" if short else real.mid().str(digits, radius=False)
    return "0" if text in ("-0", "0.0") else text
