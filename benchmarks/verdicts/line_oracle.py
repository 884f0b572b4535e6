"""Where on the real line a drawn equation holds, by mpmath at points between all sign changes and next to them.

A side has a value where every part of it is real; an odd root by a constant rational exponent is real for negative
numbers, too. Signs are looked for on a grid with floats; an outcome has 50 digits, or 600 where the first say "differ".
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import mpmath

from benchmarks.verdicts.shapes import Expression

DIGITS = (50, 150, 600)
SAME = mpmath.mpf(10) ** -40
"""Relative difference below which values are the same."""
ROUNDING = mpmath.mpf(10) ** -44
"""Share of its terms below which a sum is 0."""
WINDOW = 20
"""Half of the length of the line that is looked at evenly."""
GRID = sorted(
    {k / 4 + 0.0137 for k in range(-4 * WINDOW, 4 * WINDOW + 1)}
    | {sign * 10 ** (k / 3) for k in range(-21, 22) for sign in (1, -1)}
)
HALVED = 60
NEXT = (1e-3, 1e-8)
"""Distances from a change, as shares of the gap to the next one."""
MAX_CHANGES = 24
"""Changes that are looked at, those next to 0 first."""


class NoRealValueError(Exception):
    """A part is not real, or has no value."""


class BeyondRangeError(Exception):
    """A value beyond what is computed."""


HOLDS, DIFFER, ALONE, NONE = "holds", "differ", "alone", "none"


class Stretch(NamedTuple):
    """Points between two neighbouring changes, with the outcome at each."""

    low: float
    high: float
    outcomes: tuple[tuple[Any, str], ...]


def stretches(left: Expression, right: Expression) -> Iterator[Stretch]:
    """The line from left to right."""
    ends = [-1e9, *_changes(left, right), 1e9]
    for low, high in pairwise(ends):
        points = list(_between(low, high))
        outcomes = ((x, outcome(left, right, x)) for x in points)
        yield Stretch(low, high, tuple((x, found) for x, found in outcomes if found is not None))


def whole_numbers(left: Expression, right: Expression) -> Iterator[tuple[Any, str]]:
    """The outcomes at changes that are short rational numbers: there one side alone may have no value."""
    for x in _changes(left, right):
        near = Fraction(x).limit_denominator(64)
        if abs(float(near) - x) <= 1e-9 * max(1.0, abs(x)):
            at = (
                mpmath.mpf(near.numerator) / near.denominator
                if near.denominator & (near.denominator - 1) == 0
                else None
            )
            if at is not None and (found := outcome(left, right, at)) is not None:
                yield at, found


def outcome(left: Expression, right: Expression, x: Any) -> str | None:
    """How the sides compare at a point; None if a value is out of range."""
    found = None
    for digits in DIGITS:
        with mpmath.workdps(digits):
            try:
                found = _outcome(left, right, x)
            except (BeyondRangeError, OverflowError):
                found = None
        if found in (HOLDS, NONE):  # digits may have cancelled, or a value may be next to an edge
            break
    return found


def _outcome(left: Expression, right: Expression, x: Any) -> str:
    values = []
    for side in (left, right):
        try:
            values.append(value(side, x))
        except (NoRealValueError, ZeroDivisionError):
            values.append(None)
    if values == [None, None]:
        return NONE
    if None in values:
        return ALONE
    a, b = values
    return HOLDS if abs(a - b) <= SAME * max(abs(a), abs(b)) else DIFFER


def value(e: Expression, x: Any) -> Any:
    """A real number. Raises ``NoValueError``, ``OutOfRangeError``."""
    found = _value(e, x)
    if not mpmath.isfinite(found) or abs(found) > mpmath.mpf(10) ** 4000:
        raise BeyondRangeError
    return found


def _value(e: Expression, x: Any) -> Any:
    match e:
        case ("x",):
            return mpmath.mpf(x)
        case ("pi",):
            return +mpmath.pi
        case ("number", q):
            return mpmath.mpf(q.numerator) / q.denominator
        case ("+", a, b):
            first, second = value(a, x), value(b, x)
            total = first + second
            rounding = ROUNDING ** (mpmath.mp.dps // DIGITS[0])
            if 0 < min(abs(first), abs(second)) < rounding * abs(total):
                raise BeyondRangeError  # it would not be seen in the sum
            return total if abs(total) > rounding * max(abs(first), abs(second)) else mpmath.mpf(0)
        case ("*", a, b):
            return value(a, x) * value(b, x)
        case ("/", a, b):
            return value(a, x) / value(b, x)
        case ("^", a, ("number", q)):
            return _power(value(a, x), q)
        case ("^", a, b):
            base, exponent = value(a, x), value(b, x)
            if base > 0:
                return base**exponent
            if base < 0 and exponent == int(exponent):
                return base ** int(exponent)
            if base == 0 and exponent > 0:
                return base
            raise NoRealValueError
    return _function(e[0], value(e[1], x))


def _power(base: Any, q: Fraction) -> Any:
    if base == 0 and q <= 0:
        raise NoRealValueError
    if q.denominator == 1:
        return base ** int(q)
    if base < 0 and q.denominator % 2 == 0:
        raise NoRealValueError
    size = abs(base) ** (mpmath.mpf(q.numerator) / q.denominator)
    return -size if base < 0 and q.numerator % 2 else size


def _function(name: str, a: Any) -> Any:
    if name in ("log", "sqrt") and (a < 0 or (a == 0 and name == "log")):
        raise NoRealValueError
    if name in ("asin", "acos") and abs(a) > 1:
        raise NoRealValueError
    if (name == "atanh" and abs(a) >= 1) or (name == "acosh" and a < 1):
        raise NoRealValueError
    if name in ("exp", "sinh", "cosh") and abs(a) > 9000:
        raise BeyondRangeError
    if name in ("exp", "cos", "cosh") and 0 < abs(a) < ROUNDING ** (mpmath.mp.dps // DIGITS[0]):
        raise BeyondRangeError  # it would not be seen next to 1
    if name in ("sin", "cos", "tan") and abs(a) > 1e25:
        raise BeyondRangeError
    if name == "tanh" and abs(mpmath.tanh(a)) == 1:
        raise BeyondRangeError
    return abs(a) if name == "abs" else mpmath.re(getattr(mpmath, name)(a))


def _between(low: float, high: float) -> Iterator[Any]:
    start, stop = mpmath.mpf(low), mpmath.mpf(high)
    gap = stop - start
    if low <= -1e9 or high >= 1e9:
        end, way = (start, 1) if low > -1e9 else (stop, -1)
        if low <= -1e9 and high >= 1e9:
            yield from map(mpmath.mpf, ("-1234.5", "-7.3", "-1.01", "-0.37", "0.0123", "0.71", "2.9", "31.7", "5e5"))
        else:
            yield from (
                end + way * mpmath.mpf(step) for step in ("1e-8", "0.0101", "0.37", "1.83", "12.7", "411.3", "1e6")
            )
        return
    yield from (start + gap * share for share in (*NEXT, 0.21, 0.5003, 0.83, *(1 - near for near in NEXT)))


def _changes(left: Expression, right: Expression) -> list[float]:
    """About where a condition, a corner or the difference of the sides changes its sign."""
    found: set[float] = set()
    watched = [*_watched(left), *_watched(right), ("+", left, ("*", ("number", Fraction(-1)), right))]
    for e in dict.fromkeys(watched):
        seen = [(x, _float(e, x)) for x in GRID]
        known = [(x, y) for x, y in seen if y is not None]
        for (low, first), (high, last) in pairwise(known):
            if first == 0:
                found.add(low)
            elif first * last < 0:
                found.add(_halved(e, low, high, first))
        for (low, a), (high, b) in pairwise(seen):  # the end of where it has a value
            if (a is None) != (b is None):
                found.add(_edge(e, low, high, a is None))
    ends = sorted(found, key=abs)[:MAX_CHANGES]
    return [x for x, following in pairwise([*sorted(ends), math.inf]) if following - x > 1e-9 * (1e-9 + abs(x))]


def _watched(e: Expression) -> Iterator[Expression]:
    for part in e[1:]:
        if isinstance(part, tuple):
            yield from _watched(part)
    match e:
        case ("abs" | "sqrt" | "log" | "sinh", a) | ("^", a, _) | ("/", _, a):
            yield a
        case ("asin" | "acos" | "acosh" | "atanh", a):
            yield ("+", a, ("number", Fraction(1)))
            yield ("+", a, ("number", Fraction(-1)))
        case ("sin" | "cos" | "tan" | "x", *_):
            yield e


def _float(e: Expression, x: float) -> float | None:
    try:
        found = _fast(e, x)
    except (NoRealValueError, ZeroDivisionError, ValueError, OverflowError, BeyondRangeError):
        return None
    return found if math.isfinite(found) else None


def _fast(e: Expression, x: float) -> float:
    match e:
        case ("x",):
            return x
        case ("pi",):
            return math.pi
        case ("number", q):
            return float(q)
        case ("+", a, b):
            return _fast(a, x) + _fast(b, x)
        case ("*", a, b):
            return _fast(a, x) * _fast(b, x)
        case ("/", a, b):
            return _fast(a, x) / _fast(b, x)
        case ("^", a, ("number", q)):
            return _fast(a, x) ** int(q) if q.denominator == 1 else _real_power(_fast(a, x), q)
        case ("^", a, b):
            return math.exp(_fast(b, x) * math.log(_fast(a, x)))
    argument = _fast(e[1], x)
    return abs(argument) if e[0] == "abs" else float(getattr(math, e[0])(argument))


def _real_power(base: float, q: Fraction) -> float:
    if base < 0 and q.denominator % 2 == 0:
        raise NoRealValueError
    size = abs(base) ** float(q)
    return -size if base < 0 and q.numerator % 2 else size


def _halved(e: Expression, low: float, high: float, first: float) -> float:
    for _ in range(HALVED):
        middle = (low + high) / 2
        y = _float(e, middle)
        if y is None or y == 0:
            return middle
        low, high = (middle, high) if y * first > 0 else (low, middle)
    return (low + high) / 2


def _edge(e: Expression, low: float, high: float, low_is_outside: bool) -> float:
    for _ in range(HALVED):
        middle = (low + high) / 2
        outside = _float(e, middle) is None
        low, high = (middle, high) if outside == low_is_outside else (low, middle)
    return (low + high) / 2
