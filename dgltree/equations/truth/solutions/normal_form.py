"""Expressions with fewer different functions in them, equal wherever all parts of both are real.

Elimination sees that 4^x is the square of 2^x, and sin(x + pi/3) a sum of multiples of sin(x) and cos(x), if they are
written so.
"""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction

from dgltree.equations.truth.proofs.expression import Expression, X, minus, number, subexpressions
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing, product, raise_to, total

LARGEST_PRIME = 1000
LARGEST_NUMBER = 10**12
LARGEST_POWER = 60
"""Larger ones stay as they are written: ``log(2^89 - 1)`` is a constant of its own, not a sum of logarithms."""


def normal(t: Expression) -> Expression:
    """The expression, with logarithms of primes, one exponential per term, and no angles that are parts of pi."""
    t = (t[0], *(normal(part) if isinstance(part, tuple) else part for part in t[1:]))
    match t:
        case ("power", a, b):
            return normal(("exp", ("*", b, ("log", a))))
        case ("log", a):
            return _log(a)
        case ("^", ("exp", a), n):
            return ("exp", ("*", number(n), a))
        case ("exp", a):
            return product([_exp(term) for term in terms(a)])
        case ("sin" | "cos", a):
            return _circular(t[0], a)
    return t


def terms(t: Expression) -> list[Expression]:
    """Return the terms of which an expression is the sum: multiplied out, if it is a polynomial in x and functions."""
    ring = ValueRing()
    with suppress(Refused):
        top, bottom = ring.quotient(t)
        if bottom.is_constant():
            top = top / bottom.leading_coefficient()
            pairs = zip(top.monoms(), top.coeffs(), strict=True)
            return [ring.expression(ring.context.from_dict({tuple(map(int, m)): c})) for m, c in pairs]
    return [t]


def _log(a: Expression) -> Expression:
    match a:
        case ("number", q) if q > 0:
            return total([("*", number(n), ("log", number(p))) for p, n in _primes(q)])
        case ("*", ("number", q), b) | ("*", b, ("number", q)) if q > 0 and q != 1:
            return ("+", _log(number(q)), _log(b))
        case ("^", b, n) if n % 2:
            return ("*", number(n), _log(b))
        case ("sqrt", b):
            return ("*", number(Fraction(1, 2)), _log(b))
        case ("root", b, n):
            return ("*", number(Fraction(1, n)), _log(b))
        case ("exp", b):
            return b
    return ("log", a)


def _primes(q: Fraction) -> Iterator[tuple[int, int]]:
    """The prime factors of a positive number with their exponents; a large one is left as it is."""
    for part, sign in ((q.numerator, 1), (q.denominator, -1)):
        p = 2
        while p * p <= part and p <= LARGEST_PRIME and part <= LARGEST_NUMBER:
            count = 0
            while part % p == 0:
                part = part // p
                count += 1
            if count:
                yield p, sign * count
            p += 1
        if part > 1:
            yield part, sign


def _exp(term: Expression) -> Expression:
    """Return the exponential of one term: a power of a number for a whole multiple of its logarithm."""
    match term:
        case ("log", a):
            return a
        case ("*", ("number", n), ("log", ("number", _) as a)) if n.denominator == 1 and abs(n) <= LARGEST_POWER:
            return raise_to(a, int(n))
        case ("number", q) if q == 0:
            return number(1)
    return ("exp", term)


def _circular(name: str, a: Expression) -> Expression:
    """Return a circular function without a twelfth part of a turn in the argument, or several."""
    rest = []
    twelfths = Fraction(0)
    for term in terms(a):
        match term:
            case ("pi",):
                twelfths += 12
            case ("*", ("number", q), ("pi",)):
                twelfths += 12 * q
            case _:
                rest.append(term)
    if not twelfths or twelfths.denominator > 1 or not any(X in subexpressions(term) for term in rest):
        return (name, a)
    argument = total(rest)
    sine = exact_sine(int(twelfths))
    cosine = exact_sine(int(twelfths) + 6)
    if name == "sin":
        return ("+", ("*", ("sin", argument), cosine), ("*", ("cos", argument), sine))
    return minus(("*", ("cos", argument), cosine), ("*", ("sin", argument), sine))


def exact_sine(twelfths: int) -> Expression:
    """The sine of so many times pi/12."""
    k = twelfths % 24
    sign = -1 if k > 12 else 1
    k = k % 12 if k % 12 <= 6 else 12 - k % 12
    half = number(Fraction(sign, 2))
    quarter = number(Fraction(sign, 4))
    roots = {n: ("sqrt", number(n)) for n in (2, 3, 6)}
    values = {
        0: number(0),
        1: ("*", quarter, minus(roots[6], roots[2])),
        2: half,
        3: ("*", half, roots[2]),
        4: ("*", half, roots[3]),
        5: ("*", quarter, ("+", roots[6], roots[2])),
        6: number(sign),
    }
    return values[k]
