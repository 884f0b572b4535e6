"""Where to cut the line: at zeros of the factors of what has a condition, a corner, or a difference. Floats will do."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from flint import fmpq

from dgltree.equations.truth.proofs.certificates import CellCut, end_of
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, enclosure
from dgltree.equations.truth.proofs.expression import (
    ONE,
    PI,
    Expression,
    Unsupported,
    X,
    at_number,
    domain,
    minus,
    negative,
    number,
    subexpressions,
)
from dgltree.equations.truth.proofs.fractions import Poly, Refused, ValueRing, product
from dgltree.equations.truth.proofs.place import CutPoint, values_at

MOST_ZEROS = 3
"""Zeros of one transcendental factor; more may be infinitely many."""
GRID = [s * 10 ** (k / 8) for k in range(-56, 60) for s in (1, -1)]
AROUND = [s * 10 ** (k / 4) for k in range(-36, 20) for s in (1, -1)]
"""Distances from an exact cut."""
WINDOW = [k / 8 + 1e-3 for k in range(-160, 161)]
"""Where zeros are hinted at that are too many to cut at; off the eighths, as a point of the grid without a value
would hide a change of sign."""
LARGEST_DEGREE = 60
MOST_ROOTS, LARGEST_NORM = 5, 60
"""Roots that are removed, and terms of a polynomial with roots."""
WIDTH = 3e-7
"""Width of a bracket, as a share."""

Function = Callable[[float], float]


class Zero(NamedTuple):
    """A cut, about where it is, and the number itself if that has an expression."""

    place: float
    cut: CellCut
    value: Expression | None = None


def targets(sides: Iterable[Expression]) -> Iterator[Expression]:
    """Expressions at whose zeros a sign or a rule changes."""
    for t in dict.fromkeys(u for side in sides for u in subexpressions(side)):
        yield from (condition for condition, _ in domain(t))
        match t:
            case ("abs" | "root" | "log" | "sqrt", a, *_):
                yield a
            case ("power", a, b) if 0 in enclosure(a, EVERYTHING).signs:
                yield b
            case ("asin", ("sin", a)):
                yield from (minus(a, _half_turns(1)), ("+", a, _half_turns(1)))
            case ("acos", ("cos", a)):
                yield from (a, minus(a, PI))
            case ("atan", ("*", ("sin", a), _)):
                yield from (minus(a, _half_turns(1)), ("+", a, _half_turns(1)))


def _half_turns(n: int) -> Expression:
    return ("*", number(Fraction(n, 2)), PI)


def zeros(ring: ValueRing, expressions: Iterable[Expression], hints: list[float]) -> list[Zero]:
    """Return zeros of the factors of expressions, in order; the checker accepts each.

    Args:
        hints: takes those of factors with too many zeros.
    """
    factors = []
    for t in expressions:
        try:
            factors += [factor for factor, _ in ring.factors(t)[1]]
        except Refused:
            continue
    candidates: list[Zero] = []
    later = []
    for factor in dict.fromkeys(factors):
        poly = ring.in_x(ring.quotient(factor).top)
        if poly is None:
            later.append(factor)
            candidates += _zeros_by_norm(ring, factor)
        elif poly.degree() <= LARGEST_DEGREE:
            candidates += _polynomial_zeros(factor, poly)
    exact = [zero.place for zero in candidates]
    for factor in later:
        candidates += _other_zeros(factor, exact, hints)
    return accept(ring, candidates)


def accept(ring: ValueRing, candidates: Iterable[Zero]) -> list[Zero]:
    """Return the zeros in order, each once: a rational number is preferred to a bracket around it."""
    kept: list[tuple[Zero, CutPoint]] = []
    for zero in sorted(candidates, key=lambda zero: (zero.place, zero.cut.zero_of is not None)):
        end = None
        for cut in (zero.cut, _narrow(zero)):
            with suppress(Refused, Unsupported, ArithmeticError):
                zero = zero._replace(cut=cut)
                end = end_of(ring, cut)
                break
        if end is None:
            continue
        if not kept or kept[-1][1].high < end.low:
            kept.append((zero, end))
        elif end.rational is not None and kept[-1][1].rational is None:
            kept[-1] = (zero, end)
    return [zero for zero, _ in kept]


def _polynomial_zeros(factor: Expression, poly: object) -> Iterator[Zero]:
    if poly.degree() == 1:  # type: ignore[attr-defined]
        root = Fraction(-int(poly[0]), int(poly[1]))  # type: ignore[index]
        yield rational_zero(root)
        return
    if poly.degree() > 1:  # type: ignore[attr-defined]
        for root, _ in poly.complex_roots():  # type: ignore[attr-defined]
            if root.imag.is_zero():
                middle = float(root.real.mid())
                yield Zero(middle, _bracket(factor, middle))


def rational_zero(q: Fraction) -> Zero:
    return Zero(float(q), CellCut(q, q), number(q))


def _zeros_by_norm(ring: ValueRing, factor: Expression) -> Iterator[Zero]:
    """Zeros of an expression with roots or absolute values of polynomials."""
    product_of_all = norm(ring, factor)
    if product_of_all is None:
        return
    f = compile_floats(factor)
    for zero in _of_polynomial(ring, product_of_all.value):
        y = value_or_none(f, zero.place)
        if y is not None and abs(y) < 1e-6 * (1 + abs(zero.place)):
            yield zero


def _of_polynomial(ring: ValueRing, p: Poly) -> Iterator[Zero]:
    for factor, _ in ring.factors(ring.expression(p))[1]:
        poly = ring.in_x(ring.quotient(factor).top)
        if poly is not None and 0 < poly.degree() <= LARGEST_DEGREE:
            yield from _polynomial_zeros(factor, poly)


class RootNorm(NamedTuple):
    """A polynomial in x, which is an expression's numerator times others."""

    value: Poly
    others: Expression


def norm(ring: ValueRing, t: Expression) -> RootNorm | None:
    """Return the norm, without square roots and absolute values: a + b*sqrt(c) times a - b*sqrt(c)."""
    p = ring.quotient(t).top
    others: list[Expression] = []
    for _ in range(MOST_ROOTS):
        if ring.in_x(p) is not None:
            return RootNorm(p, product(others or [ONE]))
        split = ring.by_root(p)
        if split is None or len(p) > LARGEST_NORM:
            return None
        even, odd, square = split
        others.append(ring.expression(even - odd * square.generator))
        p = even**2 * square.bottom - odd**2 * square.top
    return None


def solutions(ring: ValueRing, sides: tuple[Expression, Expression], hints: list[float]) -> list[Zero]:
    """Where the sides may be equal, and the roots of the norm of their difference."""
    difference = minus(*sides)
    candidates = zeros(ring, [difference], hints)
    product_of_all = norm(ring, difference)
    if product_of_all is not None:
        candidates += _of_polynomial(ring, product_of_all.value)
    return candidates


def _narrow(zero: Zero) -> CellCut:
    """A smaller bracket, for a zero right next to the end of a domain."""
    return zero.cut if zero.cut.zero_of is None else _bracket(zero.cut.zero_of, zero.place, WIDTH**2)


def _bracket(factor: Expression, middle: float, width: float = WIDTH) -> CellCut:
    width = width * abs(middle) or width
    low, high = (Fraction(middle + way * width).limit_denominator(10**18) for way in (-1, 1))
    if not low < high:
        low, high = (Fraction(middle + way * width) for way in (-1, 1))
    return CellCut(low, high, factor)


def _other_zeros(factor: Expression, exact: list[float], hints: list[float]) -> list[Zero]:
    value = solve_once(factor)
    if value is not None:
        middle = float(value[1]) if value[0] == "number" else constant(value)
        return [] if middle is None else [_numbered(factor, middle, value)]
    grid = sorted({*GRID, *(x + step for x in exact[:4] for step in AROUND)})
    places = list(itertools.islice(sign_changes(compile_floats(factor), grid), MOST_ZEROS + 1))
    if len(places) <= MOST_ZEROS:
        return [_numbered(factor, x, None) for x in places]
    hints += sign_changes(compile_floats(factor), WINDOW)
    return []


def _numbered(factor: Expression, middle: float, value: Expression | None) -> Zero:
    """Return a zero, as a rational number if it is one with a small denominator."""
    near = Fraction(middle).limit_denominator(1000)
    if abs(float(near) - middle) <= 1e-9 * max(1.0, abs(middle)):
        values = values_at(factor, fmpq(near.numerator, near.denominator))
        if values.low == values.high == 0:
            return rational_zero(near)
    return Zero(middle, _bracket(factor, middle), value)


def sign_changes(f: Function, grid: Iterable[float]) -> Iterator[float]:
    """Where a function changes its sign between neighbours at which it has a value."""
    last = None
    for x in grid:
        y = value_or_none(f, x)
        if y == 0:
            yield x
        elif y is not None and last is not None and last[1] * y < 0:
            yield _halved(f, last[0], x, last[1])
        last = None if y is None or y == 0 else (x, y)


def _halved(f: Function, low: float, high: float, first: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        y = value_or_none(f, middle)
        if y is None or y == 0:
            return middle
        low, high = (middle, high) if y * first > 0 else (low, middle)
    return (low + high) / 2


def value_or_none(f: Function, x: float) -> float | None:
    try:
        y = f(x)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return y if math.isfinite(y) else None


def compile_floats(t: Expression) -> Function:
    """The expression as a function of floats."""
    match t:
        case ("x",):
            return lambda x: x
        case ("pi",):
            return lambda x: math.pi
        case ("number", q):
            value = float(q)
            return lambda x: value
        case ("+", a, b):
            f = compile_floats(a)
            g = compile_floats(b)
            return lambda x: f(x) + g(x)
        case ("*", a, b):
            f = compile_floats(a)
            g = compile_floats(b)
            return lambda x: f(x) * g(x)
        case ("^", a, n):
            f = compile_floats(a)
            return lambda x: f(x) ** n
        case ("root", a, n):
            f = compile_floats(a)
            return lambda x: math.copysign(abs(f(x)) ** (1 / n), f(x))
        case ("power", a, b):
            f = compile_floats(a)
            g = compile_floats(b)
            return lambda x: math.exp(g(x) * math.log(f(x)))
    inner = compile_floats(t[1])
    outer = abs if t[0] == "abs" else getattr(math, t[0])
    return lambda x: outer(inner(x))


_INVERSES = {"log": "exp", "exp": "log", "asin": "sin", "acos": "cos"}


def solve_once(t: Expression) -> Expression | None:
    """The number x at which an expression is 0 that has x once, by going back along its operations."""
    if sum(u == X for u in subexpressions(t)) != 1:
        return None
    value: Expression = number(0)
    while t != X:
        match t:
            case ("+", a, b):
                t, other = (a, b) if _has_x(a) else (b, a)
                value = negative(other) if value == number(0) else minus(value, other)
            case ("*", a, b):
                t, other = (a, b) if _has_x(a) else (b, a)
                value = (
                    ("*", value, ("number", 1 / other[1])) if other[0] == "number" else ("*", value, ("^", other, -1))
                )
            case ("atan", a):
                t = a
                value = ("*", ("sin", value), ("^", ("cos", value), -1))
            case (name, a) if name in _INVERSES:
                t = a
                value = (_INVERSES[name], value)
            case ("sqrt", a):
                t = a
                value = ("^", value, 2)
            case ("root", a, n):
                t = a
                value = ("^", value, n)
            case _:
                return None
    return simplify(value)


def simplify(t: Expression) -> Expression:
    """Return ``t`` with sums and products of numbers worked out."""
    t = at_number(t, Fraction(0))
    ring = ValueRing()
    try:
        top, bottom = ring.quotient(t)
    except Refused:
        return t
    return ring.expression(top) if bottom.is_one() else t


def _has_x(t: Expression) -> bool:
    return any(u == X for u in subexpressions(t))


def constant(t: Expression) -> float | None:
    values = enclosure(t, EVERYTHING)
    middle = float(((values.low + values.high) / 2).mid()) if values.high - values.low < 1 else math.nan
    return middle if math.isfinite(middle) else None
