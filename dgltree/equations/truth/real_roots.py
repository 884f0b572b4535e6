"""Real roots of an equation in one variable as decimals, if no expression for them is known.

A root lies where the difference of the sides changes its sign, and balls show that it is continuous in between.
"""

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.truth.program import Program

DIGITS = 12
STEPS = 600
"""Points on either side of 0, up to some 900."""
BITS, FINE = 64, 160
HALVED, CONTINUOUS = 90, 12
"""Halvings of a bracket, and after how many of them the difference has to be continuous in it."""
MAX_ROOTS = 8


def real_roots(program: Program, name: str) -> list[str]:
    """Decimals of 12 digits: at most 8, those next to 0, and none beyond some 900."""
    half = [fmpq(k * k, 400) + fmpq(1, 997) for k in range(STEPS)]
    at = [-x for x in reversed(half)] + half
    signs = [(x, sign_at(program, name, x)) for x in at]
    brackets = [(low, high) for (low, a), (high, b) in pairwise(signs) if a * b < 0]
    roots: list[str] = []
    for low, high in sorted(brackets, key=_distance):
        root = _root(program, name, low, high)
        roots += [root] if root else []
        if len(roots) == MAX_ROOTS:
            break
    return sorted(roots, key=float)


def _distance(bracket: tuple[fmpq, fmpq]) -> float:
    return abs(float(Fraction(int(bracket[0].p), int(bracket[0].q))))


def sign_at(program: Program, name: str, x: fmpq) -> int:
    """The sign of the difference of the sides; 0 if it is open, or has no real value."""
    return _sign(_difference(program, name, x, BITS))


def may_be_0(program: Program, name: str, x: fmpq) -> bool:
    """Whether the difference of the sides may be 0."""
    value = _difference(program, name, x, FINE)
    return value is not None and bool(ball(value).contains(0))


def _root(program: Program, name: str, low: fmpq, high: fmpq) -> str:
    """The root in a bracket; nothing if the difference may jump."""
    sign = _sign(_difference(program, name, low, FINE))
    for step in range(HALVED):
        middle = (low + high) / 2
        value = _difference(program, name, middle, FINE)
        found = _sign(value)
        if step == CONTINUOUS and not _is_continuous(program, name, low, high):
            return ""
        if not found and (value is None or not value.is_zero()):
            return ""
        if not found:
            low = high = middle
            break
        low, high = (middle, high) if found == sign else (low, middle)
    with ctx.workprec(FINE):
        return str(arb((low + high) / 2).str(DIGITS, radius=False))


def bisect_root(program: Program, name: str, low: fmpq, high: fmpq) -> str:
    """The one root between two numbers at which the signs are opposite, of a continuous difference."""
    low, high = narrow(program, name, low, high)
    with ctx.workprec(FINE):
        middle = arb((low + high) / 2)
        return "0" if abs(middle) < arb(2) ** -(HALVED - 10) else str(middle.str(DIGITS, radius=False))


def narrow(program: Program, name: str, low: fmpq, high: fmpq) -> tuple[fmpq, fmpq]:
    """Two numbers much nearer to the one root between two."""
    sign = _sign(_difference(program, name, low, FINE))
    for _ in range(HALVED):
        middle = (low + high) / 2
        found = _sign(_difference(program, name, middle, FINE))
        if not found:  # it may be 0
            return middle, middle
        low, high = (middle, high) if found == sign else (low, middle)
    return low, high


def least(program: Program, name: str, low: fmpq, high: fmpq) -> fmpq:
    """Where the size of the difference is least between two numbers, if it falls and rises once."""
    for _ in range(HALVED):
        third = (high - low) / 3
        sizes = [_size(_difference(program, name, x, FINE)) for x in (low + third, high - third)]
        low, high = (low, high - third) if sizes[0] <= sizes[1] else (low + third, high)
    return (low + high) / 2


def _size(value: Ball) -> float:
    return inf if value is None or not ball(value).is_finite() else float(abs(ball(value)).mid())


def _is_continuous(program: Program, name: str, low: fmpq, high: fmpq) -> bool:
    """Whether every value in a bracket is finite, those on the way, too."""
    with ctx.workprec(FINE):
        between = acb(arb((low + high) / 2, arb((high - low) / 2)))
    return all(value is not None and bool(ball(value).is_finite()) for value in program.values({name: between}, FINE))


def _difference(program: Program, name: str, x: fmpq, bits: int) -> Ball:
    left, right = program.at({name: x}, bits)
    with ctx.workprec(bits):
        return None if left is None or right is None else ball(left) - ball(right)


def _sign(value: Any) -> int:
    """0 if there is no real value, or it is open."""
    if value is None or not value.imag.is_zero():
        return 0
    return 1 if value.real > 0 else -1 if value.real < 0 else 0
