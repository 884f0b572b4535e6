"""Exact expressions for roots of polynomials, where school has them: candidates, to be compared with the roots."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd, isqrt

from dgltree.equations.truth.proofs.expression import PI, Expression, at_number, minus, negative, number
from dgltree.equations.truth.proofs.fractions import total

MAX_INTEGER = 10**12
"""Up to which square factors are looked for, by trial division: a million steps."""
NINTHS = 18
"""The denominator of angles of which a root of a cubic polynomial may have the cosine: pi/9 and its multiples."""


def exact_roots(coefficients: Sequence[int]) -> Iterator[Expression]:
    """Expressions among which roots of an irreducible polynomial may be; the constant comes first."""
    degree = len(coefficients) - 1
    step = gcd(*(k for k, c in enumerate(coefficients) if c))
    if degree == 1:
        yield number(Fraction(-coefficients[0], coefficients[1]))
    elif step > 1 and degree // step <= 2:  # a polynomial in x^step
        for power in exact_roots(coefficients[::step]):
            yield from _roots_of(power, step)
    elif degree == 2:
        yield from quadratic(*map(Fraction, coefficients))
    elif degree == 3:
        yield from _cosines(coefficients)
    elif degree == 4:
        yield from _quartic(coefficients)


def quadratic(c: Fraction, b: Fraction, a: Fraction) -> Iterator[Expression]:
    """The real roots of a*x^2 + b*x + c."""
    inside = (b * b - 4 * a * c) / (4 * a * a)
    if inside >= 0:
        for sign in (1, -1):
            yield _sum(-b / (2 * a), sign, inside)


def square_root(q: Fraction) -> tuple[Fraction, int]:
    """The factor and the whole number without square factors of which the root is taken: sqrt(12) = 2*sqrt(3)."""
    inside = q.numerator * q.denominator
    outside = 1
    if inside > MAX_INTEGER:
        root = isqrt(inside)
        return (Fraction(root, q.denominator), 1) if root * root == inside else (Fraction(1, q.denominator), inside)
    k = 2
    while k * k <= inside:
        while inside % (k * k) == 0:
            inside = inside // (k * k)
            outside = outside * k
        k += 1
    return Fraction(outside, q.denominator), inside


def _sum(first: Fraction, sign: int, inside: Fraction) -> Expression:
    """``first ± sqrt(inside)`` over one denominator."""
    factor, n = square_root(inside)
    if n == 1:
        return number(first + sign * factor)
    below = first.denominator * factor.denominator // gcd(first.denominator, factor.denominator)
    top = first * below
    root = _times(sign * factor * below, ("sqrt", number(n)))
    whole = root if not top else ("+", number(top), root)
    return whole if below == 1 else ("*", whole, ("^", number(below), -1))


def _times(q: Fraction, t: Expression) -> Expression:
    if q == 1:
        return t
    return negative(t) if q == -1 else ("*", number(q), t)


def _roots_of(power: Expression, n: int) -> Iterator[Expression]:
    if n == 2:
        for root in square_roots(power):
            yield root
            yield negative(root)
    else:
        root = ("power", power, number(Fraction(1, n)))
        match power:
            case ("number", q) if q < 0:
                root = negative(("power", number(-q), number(Fraction(1, n))))
        yield root
        yield negative(root)


def square_roots(t: Expression) -> Iterator[Expression]:
    """Yield square roots of a number: a rational multiple of a root, a sum of two roots, or a root of a sum."""
    match _surd(t):
        case (a, b, d) if b == 0 and a >= 0:
            yield _sum(Fraction(0), 1, a)
        case (a, b, d) if b:
            norm = a * a - b * b * d
            if norm >= 0 and square_root(norm)[1] == 1:
                c = square_root(norm)[0] if norm else Fraction(0)
                parts = [(a + c) / 2, (a - c) / 2]
                if min(parts) >= 0:
                    first, second = (_sum(Fraction(0), 1, part) for part in parts)
                    yield ("+", first, second) if b > 0 else minus(first, second)
    yield ("sqrt", t)


def _surd(t: Expression) -> tuple[Fraction, Fraction, int] | None:
    """Return a, b and d of ``a + b*sqrt(d)``; None if it is not of this form."""
    match t:
        case ("number", q):
            return q, Fraction(0), 1
        case ("sqrt", ("number", q)) if q.denominator == 1:
            factor, n = square_root(q)
            return (factor, Fraction(0), 1) if n == 1 else (Fraction(0), factor, n)
        case ("^", ("number", q), -1):
            return 1 / q, Fraction(0), 1
        case ("+" | "*", a, b):
            first = _surd(a)
            second = _surd(b)
            if first is None or second is None:
                return None
            d = max(first[2], second[2])
            if min(first[2], second[2]) not in (1, d):
                return None
            if t[0] == "+":
                return first[0] + second[0], first[1] + second[1], d
            return first[0] * second[0] + first[1] * second[1] * d, first[0] * second[1] + first[1] * second[0], d
    return None


def _cosines(coefficients: Sequence[int]) -> Iterator[Expression]:
    """Three real roots as s + r*cos(k*pi/9), if they are: x^3 - 3*x + 1 has 2*cos(2*pi/9)."""
    d, c, b, a = map(Fraction, coefficients)
    shift = -b / (3 * a)
    p = (3 * a * c - b * b) / (3 * a * a)
    q = (2 * b**3 - 9 * a * b * c + 27 * a * a * d) / (27 * a**3)
    if p >= 0:
        return
    factor, n = square_root(-4 * p / 3)
    cosine = 3 * q / (p * factor) if n == 1 else None  # of three times the angle
    if cosine is None or abs(cosine) != Fraction(1, 2):
        return
    for k in range(1, NINTHS // 2):
        cos = ("cos", ("*", number(Fraction(k, NINTHS // 2)), PI))
        term = _times(factor, cos)
        yield total([number(shift), term]) if shift else term


def _quartic(coefficients: Sequence[int]) -> Iterator[Expression]:
    """Roots of a product of two quadratic polynomials over a quadratic field: x = s ± sqrt(..) around the mean."""
    e, d, c, b, a = map(Fraction, coefficients)
    shift = -b / (4 * a)
    # of y = x - shift: y^4 + p*y^2 + q*y + r, which is a polynomial in y^2 if q is 0
    p = (8 * a * c - 3 * b * b) / (8 * a * a)
    q = (b**3 - 4 * a * b * c + 8 * a * a * d) / (8 * a**3)
    r = (-3 * b**4 + 256 * a**3 * e - 64 * a * a * b * d + 16 * a * b * b * c) / (256 * a**4)
    if q or not shift:
        return
    for power in quadratic(r, p, Fraction(1)):
        for root in square_roots(power):
            yield ("+", number(shift), root)
            yield minus(number(shift), root)


def linear(slope: Expression, start: Expression) -> Expression:
    """Return where slope*x + start is 0."""
    return ("*", negative(start), ("^", slope, -1))


def tidy(t: Expression) -> Expression:
    """An expression of numbers, with rational parts worked out and as few minus signs as it takes."""
    return _tidied(at_number(t, Fraction(0)))


def _tidied(t: Expression) -> Expression:
    t = (t[0], *(_tidied(part) if isinstance(part, tuple) else part for part in t[1:]))
    match t:
        case ("+", ("number", q), b) | ("+", b, ("number", q)) if q == 0:
            return b
        case ("+", a, ("*", ("number", q), b)) if q < 0 and q != -1:
            return minus(a, ("*", number(-q), b))
        case ("+", ("*", ("number", q), a), b) | ("+", ("number", q) as a, b) if q < 0:
            return minus(b, opposite(a)) if len(a) == 2 and a[0] == "number" else minus(b, _times(-q, a))
        case ("*", a, ("^", b, -1)) if _is_negative(b):
            return _tidied(("*", opposite(a), ("^", opposite(b), -1)))
        case ("*", a, ("^", b, -1)) if _is_negative(a) and _is_difference(b):
            return _tidied(("*", opposite(a), ("^", opposite(b), -1)))
        case ("*", a, ("number", q)) if q < 0 and q != -1 and _is_difference(a):
            return ("*", opposite(a), number(-q))
        case ("*", ("number", q), a) | ("*", a, ("number", q)) if q in (1, -1):
            return a if q == 1 else opposite(a)
        case ("^", ("number", q), -1) if q:
            return number(1 / q)
        case ("log", ("number", q)) if 0 < q < 1 and q.numerator == 1:
            return negative(("log", number(1 / q)))
    return t


def _is_negative(t: Expression) -> bool:
    match t:
        case ("number", q) | ("*", ("number", q), _):
            return bool(q < 0)
        case ("*", a, ("^", _, -1)):
            return _is_negative(a)
        case ("+", a, b):
            return _is_negative(a) and _is_negative(b)
    return False


def _is_difference(t: Expression) -> bool:
    match t:
        case ("+", a, ("*", ("number", q), _)):
            return bool(q < 0) and not _is_negative(a)
    return False


def opposite(t: Expression) -> Expression:
    """The negative, with a minus sign less if there is one."""
    match t:
        case ("number", q):
            return number(-q)
        case ("+", a, ("*", ("number", q), b)) if q == -1:
            return minus(b, a)
        case ("+", a, b) if _is_negative(a) and _is_negative(b):
            return ("+", opposite(a), opposite(b))
        case ("*", ("number", q), a):
            return _times(-q, a)
        case ("*", a, ("^", _, -1) as b) if _is_negative(a):
            return ("*", opposite(a), b)
    return negative(t)
