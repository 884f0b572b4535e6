"""Numbers by their values: which fraction, multiple of pi, root, or logarithm is it?"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dgltree.equations.search import written_operations
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.elementary import Array
from dgltree.read.notation import CONSTANTS, EXP1, HALF, IMAGINARY_UNIT, number
from dgltree.trees.tree import Tree

PI = CONSTANTS["pi"]
PRECISE = 1e-11  # relative error of a value
LARGEST_PART = 5000  # of a fraction's numerator and denominator, for values that are not whole numbers
SMALL_PART = 60  # the same after pi or a root


def constant(values: Array) -> float | None:
    """The real number that all values (P,) are, None if they differ."""
    first = values.flat[0]
    if not np.isfinite(values).all() or abs(np.imag(first)) > PRECISE * max(1.0, abs(first)):
        return None
    same = np.abs(values - first) <= 1e-10 * max(abs(first), 1e-3)
    return float(np.real(np.median(values.real))) if same.all() else None


def complex_constant(values: Array) -> complex | None:
    """The number that all values (P,) are, None if they differ or it is real."""
    first = complex(values.flat[0])
    same = np.abs(values - first) <= 1e-10 * max(abs(first), 1e-3)
    return first if same.all() and abs(first.imag) > 1e-9 * abs(first) else None


def ratio(x: float, largest: int = LARGEST_PART) -> Fraction | None:
    """The fraction of small parts that ``x`` is, None for another number."""
    if not math.isfinite(x) or abs(x) > 1e15:
        return None
    found = Fraction(x).limit_denominator(largest)
    if abs(found.numerator) > largest and found.denominator > 1000:
        return None
    close = abs(float(found) - x) <= PRECISE * max(abs(x), 1e-9)
    return found if close else None


def name_number(x: float) -> Iterator[Tree]:
    """Ways to write a number, the plainest first; nothing for a number without a name."""
    exact = ratio(x)
    if exact is not None:
        yield fraction(exact)
        return
    factor = ratio(x / math.pi, SMALL_PART)
    if factor is not None:
        yield from multiples(factor, PI)
    factor = ratio(x / math.e, SMALL_PART)
    if factor is not None:
        yield from multiples(factor, EXP1)
    square = ratio(x * x, LARGEST_PART)
    if square is not None and square > 0:
        yield from _root(square, x < 0)
    if x > 0 and (exponent := ratio(math.log(x), SMALL_PART)) is not None:
        yield Tree("exp", (fraction(exponent),))
    if abs(x) < 30 and (power := ratio(math.exp(x), LARGEST_PART)) is not None:
        yield Tree("log", (fraction(power), EXP1))


def name_angle(x: float) -> Iterator[Tree]:
    """Ways to write a number from -pi to pi of which a circular function is a fraction: ``acos(4/5)``."""
    for inverse, value in (("acos", math.cos(x)), ("asin", math.sin(x)), ("atan", math.tan(x))):
        part = ratio(value, SMALL_PART)
        if part is None:
            continue
        angle = Tree(inverse, (fraction(part),))
        if inverse == "acos":
            yield written_operations.negate(angle) if x < 0 else angle
        elif abs(x) <= math.pi / 2:
            yield angle
        elif inverse == "asin":
            yield written_operations.subtract(PI if x > 0 else written_operations.negate(PI), angle)
        else:
            yield written_operations.add(angle, PI) if x > 0 else written_operations.subtract(angle, PI)


def name_complex(z: complex) -> Iterator[Tree]:
    """Ways to write a number that is not real: ``2*i``, ``1/2 - 1/2*i``."""
    for size in name_number(abs(z.imag)):
        imaginary = written_operations.multiply(size, IMAGINARY_UNIT)
        if abs(z.real) <= 1e-9 * abs(z):
            yield written_operations.negate(imaginary) if z.imag < 0 else imaginary
        else:
            join = written_operations.subtract if z.imag < 0 else written_operations.add
            yield from (join(real, imaginary) for real in name_number(z.real))


def multiples(factor: Fraction, unit: Tree) -> Iterator[Tree]:
    """``factor*unit`` as it is written: pi/4, 3*pi/4, 3/4*pi."""
    sign = factor < 0
    top = abs(factor.numerator)
    bottom = factor.denominator
    for whole in (
        written_operations.divide(written_operations.multiply(fraction(top), unit), fraction(bottom)),
        written_operations.multiply(fraction(abs(factor)), unit),
    ):
        yield written_operations.negate(whole) if sign else whole


def decimal(x: float) -> Tree | None:
    """``x`` as a decimal of a few digits, None if it needs more."""
    text = f"{x:.6f}".rstrip("0")
    return number(text) if "." in text and not text.endswith(".") and abs(float(text) - x) < 1e-12 else None


def _root(square: Fraction, negative: bool) -> Iterator[Tree]:
    """The root of a fraction: sqrt(2)/2, 2*sqrt(3), sqrt(5/3)."""
    top = square.numerator * square.denominator  # sqrt(p/q) = sqrt(p*q)/q
    bottom = square.denominator
    outside = max(k for k in range(1, math.isqrt(top) + 1) if top % (k * k) == 0) if top < 10**6 else 1
    factor = Fraction(outside, bottom)
    root = Tree("Pow", (fraction(top // (outside * outside)), HALF))
    ways = list(multiples(factor, root))
    if square.denominator > 1 and square.numerator == 1:
        ways.append(
            written_operations.divide(written_operations.ONE, Tree("Pow", (fraction(square.denominator), HALF)))
        )
    yield from map(written_operations.negate, ways) if negative else ways
