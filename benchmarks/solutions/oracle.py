"""Real roots of a drawn equation by a grid of floats and bisection with 40 digits and more; poles are cut out.

A root is a number at which every part of both sides is real and the sides agree. A sum that is as small as the rounding
of its terms at the bisected number counts as 0: a root of 0 is real, its logarithm and its reciprocal are not.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

from benchmarks.verdicts.shapes import DrawnEquation, Expression, minus

Array = NDArray[np.float64]
WINDOW = 30.0
DIGITS = 90
"""Of values; a number at which the difference is least, a double root, is known to half of them."""
ROUNDING = mpmath.mpf(10) ** -34
"""Share of its terms below which a sum is 0, and of the sides below which they are equal."""
HALVED = 150
FAR = 1e5
CIRCULAR = ("sin", "cos", "tan", "cot")
INTERVAL = 6
"""Neighbouring points of the grid at which the sides agree: an interval of solutions."""
GRID = np.unique(
    np.concatenate(
        [
            np.linspace(-WINDOW, WINDOW, 48_001) + 1.37e-4,
            *(sign * np.geomspace(1e-6, FAR, 2_000) for sign in (1, -1)),
        ]
    )
)


class NotRealError(Exception):
    """A part has no real value."""


class GridRoots(NamedTuple):
    """The roots that the grid shows."""

    numbers: tuple[Any, ...]
    has_interval: bool
    """Whether the sides agree on more than single numbers."""


def roots(drawn: DrawnEquation, low: float = -FAR, high: float = FAR) -> GridRoots:
    """The roots between two numbers, in order."""
    grid = GRID[(low <= GRID) & (high >= GRID)]
    difference = minus(drawn.left, drawn.right)
    with np.errstate(all="ignore"):
        seen = floats(difference, grid)
    found: list[Any] = []
    with mpmath.workdps(DIGITS):
        if _agree_often(drawn, grid, seen):
            return GridRoots((), True)
        for candidate in _candidates(drawn, difference, grid, seen):
            if is_root(drawn, candidate) and low <= candidate <= high and not any(same(candidate, x) for x in found):
                found.append(candidate)
    return GridRoots(tuple(sorted(found)), False)


def is_root(drawn: DrawnEquation, x: Any) -> bool:
    """Whether a number of many digits solves an equation: both sides are real, and agree."""
    with mpmath.workdps(DIGITS):
        try:
            left, right = (value(side, x) for side in (drawn.left, drawn.right))
        except (NotRealError, OverflowError):
            return False
        return bool(abs(left - right) <= ROUNDING * max(abs(left), abs(right)))


def same(a: Any, b: Any, digits: float = 1e-20) -> bool:
    return bool(abs(a - b) <= digits * max(1, abs(a)))


def near(drawn: DrawnEquation, x: float) -> Any | None:
    """The root next to a number of 12 digits; None if there is none."""
    with mpmath.workdps(DIGITS):
        if is_root(drawn, mpmath.mpf(x)):
            return mpmath.mpf(x)
        reach = 6e-12 * max(1e-9, abs(x))
        difference = minus(drawn.left, drawn.right)
        grid = np.linspace(x - reach, x + reach, 9)
        points = [mpmath.mpf(float(end)) for end in grid]
        values = [_try(difference, point) for point in points]
        found: list[Any] = []
        for (a, first), (b, last) in zip(
            zip(points, values, strict=True), list(zip(points, values, strict=True))[1:], strict=False
        ):
            if first is not None and last is not None and first * last <= 0:
                found.append(_bisected(difference, a, b, first))
            elif (first is None) != (last is None):
                found.append(_edge(difference, a, b, first is None))
        found.append(_least(difference, points[0], points[-1]))
        return next((root for root in found if is_root(drawn, root)), None)


def _agree_often(drawn: DrawnEquation, grid: Array, seen: Array) -> bool:
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(floats(drawn.left, grid)), np.abs(floats(drawn.right, grid)))
        close = np.isfinite(size) & (np.abs(seen) <= 1e-11 * size)
    run = np.convolve(close.astype(int), np.ones(INTERVAL, dtype=int), "valid") == INTERVAL
    places = np.flatnonzero(run)
    return any(is_root(drawn, mpmath.mpf(float(grid[place + 2])) + mpmath.mpf("1e-7")) for place in places[:20])


def _candidates(drawn: DrawnEquation, difference: Expression, grid: Array, seen: Array) -> Iterator[Any]:
    known = np.isfinite(seen)
    first, last = seen[:-1], seen[1:]
    both = known[:-1] & known[1:]
    for k in np.flatnonzero(both & (np.sign(first) * np.sign(last) <= 0)):
        a, b = mpmath.mpf(float(grid[k])), mpmath.mpf(float(grid[k + 1]))
        at = _try(difference, a)
        if at is not None:
            yield _bisected(difference, a, b, at)
    size = np.abs(seen)
    dip = known[:-2] & known[1:-1] & known[2:] & (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:])
    for k in np.flatnonzero(dip):
        if _falls_to_0(difference, float(grid[k]), float(grid[k + 2])):
            yield _least(difference, mpmath.mpf(float(grid[k])), mpmath.mpf(float(grid[k + 2])))
    for k in np.flatnonzero(known[:-1] != known[1:]):
        a, b = mpmath.mpf(float(grid[k])), mpmath.mpf(float(grid[k + 1]))
        yield _edge(difference, a, b, not known[k])
    yield from (mpmath.mpf(k) for k in range(-30, 31) if is_root(drawn, mpmath.mpf(k)))


def _falls_to_0(e: Expression, low: float, high: float) -> bool:
    """Whether a least size is much smaller than those around it, by floats on finer grids."""
    sizes: list[float] = []
    for _ in range(4):
        inner = np.linspace(low, high, 65)
        size = np.abs(floats(e, inner))
        if not np.isfinite(size).all():
            return True
        k = int(np.argmin(size))
        sizes += [float(size.max()), float(size[k])]
        low, high = float(inner[max(0, k - 1)]), float(inner[min(64, k + 1)])
    return sizes[-1] <= 1e-5 * sizes[0]


def _bisected(e: Expression, low: Any, high: Any, first: Any) -> Any:
    for _ in range(HALVED):
        middle = (low + high) / 2
        y = _try(e, middle, 0)
        if y is None or y == 0:
            return middle
        low, high = (middle, high) if y * first > 0 else (low, middle)
    return (low + high) / 2


def _edge(e: Expression, low: Any, high: Any, low_is_outside: bool) -> Any:
    for _ in range(HALVED):
        middle = (low + high) / 2
        if (_try(e, middle, 0) is None) == low_is_outside:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _least(e: Expression, low: Any, high: Any) -> Any:
    """Where the size is least, by thirds; given up where the middle is no candidate any more."""
    for step in range(2 * HALVED):
        third = (high - low) / 3
        values = [_try(e, x, 0) for x in (low + third, high - third)]
        sizes = [abs(y) for y in values if y is not None]
        if len(sizes) < 2:
            break
        low, high = (low, high - third) if sizes[0] <= sizes[1] else (low + third, high)
        if step == 40 and min(sizes) > 1e-9:
            break
    return (low + high) / 2


def _try(e: Expression, x: Any, rounding: Any = ROUNDING) -> Any | None:
    try:
        return value(e, x, rounding)
    except (NotRealError, OverflowError):
        return None


def value(e: Expression, x: Any, rounding: Any = ROUNDING) -> Any:
    """A real number; what is below ``rounding`` is 0. Raises ``NotRealError``."""
    match e:
        case ("x",):
            return mpmath.mpf(x) if abs(x) > rounding**2 else mpmath.mpf(0)
        case ("pi",):
            return +mpmath.pi
        case ("number", q):
            return mpmath.mpf(q.numerator) / q.denominator
        case ("+", a, b):
            first, second = value(a, x, rounding), value(b, x, rounding)
            total = first + second
            return total if abs(total) > rounding * max(abs(first), abs(second)) else mpmath.mpf(0)
        case ("*", a, b):
            return value(a, x, rounding) * value(b, x, rounding)
        case ("/", a, b):
            top, bottom = value(a, x, rounding), value(b, x, rounding)
            if bottom == 0:
                raise NotRealError
            return top / bottom
        case ("^", a, ("number", q)):
            return _power(value(a, x, rounding), q)
        case ("^", a, b):
            base, exponent = value(a, x, rounding), value(b, x, rounding)
            if base <= 0:
                raise NotRealError
            return base**exponent
    return _function(e[0], value(e[1], x, rounding), rounding)


def _power(base: Any, q: Fraction) -> Any:
    if base == 0:
        if q <= 0:
            raise NotRealError
        return mpmath.mpf(0)
    if q.denominator == 1:
        return base ** int(q)
    if base < 0 and q.denominator % 2 == 0:
        raise NotRealError
    size = abs(base) ** (mpmath.mpf(q.numerator) / q.denominator)
    return -size if base < 0 and q.numerator % 2 else size


def _function(name: str, a: Any, rounding: Any) -> Any:
    if name == "sqrt":
        return _power(a, Fraction(1, 2))
    if name == "log" and a <= 0:
        raise NotRealError
    if name in ("asin", "acos"):
        if abs(a) > 1 + rounding:
            raise NotRealError
        a = max(min(a, mpmath.mpf(1)), mpmath.mpf(-1))
    if name in ("exp", "cosh", "sinh") and abs(a) > 1e7:
        raise NotRealError
    if name in ("log", "acos") and abs(a - 1) <= rounding:
        return mpmath.mpf(0)
    small = rounding * max(1, abs(a))
    if name in ("tan", "sec") and abs(mpmath.cos(a)) <= small:
        raise NotRealError
    if name in ("cot", "csc") and abs(mpmath.sin(a)) <= small:
        raise NotRealError
    found = abs(a) if name == "abs" else mpmath.re(getattr(mpmath, name)(a))
    return mpmath.mpf(0) if name in CIRCULAR and abs(found) <= small else found


_FLOATS: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt, "log": np.log, "exp": np.exp, "abs": np.abs, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "sec": lambda a: 1 / np.cos(a), "csc": lambda a: 1 / np.sin(a), "cot": lambda a: 1 / np.tan(a),
}  # fmt: skip


def floats(e: Expression, x: Array) -> Array:
    """(P,) values at points; NaN where a part is not real."""
    match e:
        case ("x",):
            return x
        case ("pi",):
            return np.full_like(x, np.pi)
        case ("number", q):
            return np.full_like(x, float(q))
        case ("+", a, b):
            return floats(a, x) + floats(b, x)
        case ("*", a, b):
            return floats(a, x) * floats(b, x)
        case ("/", a, b):
            return floats(a, x) / floats(b, x)
        case ("^", a, ("number", q)):
            base = floats(a, x)
            if q.denominator % 2 == 0 or q.denominator == 1:
                return np.asarray(base ** float(q))
            size = np.abs(base) ** float(q)
            return np.where((base < 0) & (q.numerator % 2 == 1), -size, size)
        case ("^", a, b):
            return np.asarray(floats(a, x) ** floats(b, x))
    return np.asarray(_FLOATS[e[0]](floats(e[1], x)))
