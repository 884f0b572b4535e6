"""Real roots of an equation in one variable between numbers at which the difference of the sides has opposite signs."""

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.truth.program import Program

STEPS = 600
"""Points on either side of 0, up to some 900."""
BITS, FINE = 64, 160
HALVED, CONTINUOUS = 90, 12
"""Halvings of a bracket, and after how many of them the difference has to be continuous in it."""
MAX_ROOTS = 8
"""Sign changes that are followed."""
Bracket = tuple[fmpq, fmpq]


def sign_changes(program: Program, name: str) -> list[Bracket]:
    """Brackets around roots that a grid shows: at most 8, those next to 0, and none beyond some 900."""
    half = [fmpq(k * k, 400) + fmpq(1, 997) for k in range(STEPS)]
    at = [-x for x in reversed(half)] + half
    signs = [(x, sign_at(program, name, x)) for x in at]
    brackets = [(low, high) for (low, a), (high, b) in pairwise(signs) if a * b < 0]
    found: list[Bracket] = []
    for bracket in sorted(brackets, key=_distance):
        closer = _halved(program, name, *bracket, CONTINUOUS)
        if _is_continuous(program, name, *closer):
            found.append(closer)
        if len(found) == MAX_ROOTS:
            break
    return found


def _distance(bracket: Bracket) -> float:
    return abs(float(Fraction(int(bracket[0].p), int(bracket[0].q))))


def sign_at(program: Program, name: str, x: fmpq) -> int:
    """The sign of the difference of the sides; 0 if it is open, or has no real value."""
    return _sign(_difference(program, name, x, BITS))


def may_be_0(program: Program, name: str, x: fmpq) -> bool:
    """Whether the difference of the sides may be 0."""
    value = _difference(program, name, x, FINE)
    return value is not None and bool(ball(value).contains(0))


def _halved(program: Program, name: str, low: fmpq, high: fmpq, times: int) -> Bracket:
    sign = _sign(_difference(program, name, low, FINE))
    for _ in range(times):
        middle = (low + high) / 2
        found = _sign(_difference(program, name, middle, FINE))
        if not found:  # it may be 0
            return middle, middle
        low, high = (middle, high) if found == sign else (low, middle)
    return low, high


def narrow(program: Program, name: str, low: fmpq, high: fmpq, bits: int) -> Any:
    """A ball around the one root between two numbers, of about half as many bits.

    A secant guesses a bracket that is 2^n times as narrow, with n twice as large after each guess that was right.
    """
    with ctx.workprec(bits):
        a, b = arb(low).mid(), arb(high).mid()
        first, last = (_real(_difference(program, name, acb(x), bits)) for x in (a, b))
        shrink = 4
        for _ in range(bits):
            if first is None or last is None or (b - a).abs_upper() < arb(2) ** (-bits // 2) * (1 + abs(a)):
                break
            guess = ((a * last - b * first) / (last - first)).mid()
            half = ((b - a) * arb(2) ** -shrink).mid()
            inner = [x for x in ((guess - half).mid(), (guess + half).mid()) if a < x < b]
            closer = False
            for x in [*inner, ((a + b) / 2).mid()]:
                if not a < x < b:
                    continue
                y = _real(_difference(program, name, acb(x), bits))
                if y is None or y.contains(0):
                    return x if y is not None and y.is_zero() else a.union(b)
                if bool(y > 0) == bool(first > 0):
                    a, first = x, y
                else:
                    b, last = x, y
                closer = len(inner) == 2 and bool((b - a) <= 3 * half)
                if closer:
                    break
            shrink = min(2 * shrink, bits // 4) if closer else max(4, shrink // 2)
        return a.union(b)


def _real(value: Ball) -> Any | None:
    found = None if value is None else ball(value)
    return found.real if found is not None and found.is_finite() and found.imag.is_zero() else None


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


def _difference(program: Program, name: str, x: Ball, bits: int) -> Ball:
    left, right = program.at({name: x}, bits)
    with ctx.workprec(bits):
        return None if left is None or right is None else ball(left) - ball(right)


def _sign(value: Any) -> int:
    """0 if there is no real value, or it is open."""
    if value is None or not value.imag.is_zero():
        return 0
    return 1 if value.real > 0 else -1 if value.real < 0 else 0
