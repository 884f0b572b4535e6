"""Elimination gives a few numbers among which all real zeros of an expression are.

The numerator of the expression is factored; roots and absolute values are removed from a factor by resultants, a
factor in one function is solved for that function, circular ones are rational in t = tan(x/2), and exponentials of
multiples of one exponent are powers of one of them. In the end all real roots of polynomials are isolated by Arb. A
number that is not a zero after all (the root of another branch, or where the expression has no real value) is
found out by its value: see :mod:`dgltree.equations.truth.solutions.solving`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from math import comb, lcm
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq, fmpq_poly

from dgltree.equations.truth.proofs.expression import (
    ONE,
    PI,
    Expression,
    X,
    minus,
    negative,
    number,
    subexpressions,
    to_text,
)
from dgltree.equations.truth.proofs.fractions import Poly, Refused, ValueRing, product, total
from dgltree.equations.truth.solutions.exact_roots import exact_roots, linear
from dgltree.equations.truth.solutions.normal_form import normal
from dgltree.equations.truth.solutions.solutions import (
    BITS,
    LARGEST_DEGREE,
    NARROW,
    Real,
    Unsolved,
    real_roots,
    real_roots_of_balls,
    whole_polynomial,
)

ROOTS = ("sqrt", "abs", "root")
MAX_SIMPLIFICATIONS, MAX_REASON_LENGTH = 8, 60
"""Times that a problem is made a simpler one, and characters of an expression in a reason."""
MOST_TURNS = 40
"""Largest multiple of the angle in a circular function, and of the exponent in an exponential."""

MOST_TERMS = 2000
"""Terms of a factor. The square of it bounds the terms of a resultant, which flint does not stop once it has begun."""

MAX_INTEGER = 10**9
"""Integers up to this size are found in balls."""

Functions = dict[int, Expression]
"""The functions in a polynomial, by the places of their generators."""


class ZeroCandidate(NamedTuple):
    """A number that may be a zero."""

    ball: Real
    polynomial: tuple[int, ...] = ()
    """Whole coefficients, the constant first, of an irreducible polynomial of which the number is a root."""
    period: Real | None = None
    """A number whose multiples, added to it, may be zeros as well."""


class ZeroCandidates(NamedTuple):
    """All zeros are among these numbers."""

    numbers: tuple[ZeroCandidate, ...]
    reasons: tuple[str, ...]
    """Why there are no others."""
    forms: tuple[Expression, ...] = ()
    """Exact expressions, some of which may be these numbers."""


class RealValue(NamedTuple):
    """A real number, and its expression if that is known."""

    ball: Real
    exact: Expression | None


def zeros(t: Expression, name: str) -> ZeroCandidates:
    """Return numbers among which the zeros of one factor are. Raises ``Unsolved``."""
    solver = _Solver(name)
    try:
        return ZeroCandidates(tuple(solver.zeros(t, 0)), tuple(dict.fromkeys(solver.reasons)), tuple(solver.forms))
    except (Refused, ArithmeticError, ValueError, RecursionError) as error:
        raise Unsolved(str(error)) from error


def factors(t: Expression) -> list[Expression]:
    """Irreducible polynomials in x and functions whose zeros are those of an expression where it is defined.

    Raises ``Unsolved``, also for an expression that is 0 wherever it has a value.
    """
    ring = ValueRing()
    try:
        t = normal(t)
        ring.prepare([t])
        top = ring.quotient(t).top
        if top.is_zero():
            raise Unsolved
        return [ring.expression(factor) for factor, _ in top.factor()[1]]
    except (Refused, ArithmeticError, ValueError, RecursionError) as error:
        raise Unsolved(str(error)) from error


def without_roots(t: Expression) -> list[Expression]:
    """Factors without roots and absolute values, among whose zeros those of a factor are; none if it has none of these.

    Raises ``Unsolved``.
    """
    ring = ValueRing()
    try:
        ring.prepare([t])
        p = ring.quotient(t).top
        before = None
        while p != before:
            before = p
            for k, degree in enumerate(p.degrees()):
                meaning = ring.meanings.get(k, X)
                if int(degree) and meaning[0] in ROOTS:
                    p = without_root(ring, p, k, meaning)
                    break
        return [] if p == ring.quotient(t).top else [ring.expression(factor) for factor, _ in p.factor()[1]]
    except (Refused, ArithmeticError, ValueError, RecursionError) as error:
        raise Unsolved(str(error)) from error


def polynomial(t: Expression) -> tuple[int, ...] | None:
    """Whole coefficients, the constant first, of a factor that is a polynomial in x; None of another one."""
    ring = ValueRing()
    found = ring.in_x(ring.quotient(t).top)
    return None if found is None else tuple(int(c) for c in found.coeffs())


class _Solver:
    """Eliminates functions one by one, and collects the reasons.

    Args:
        name: the unknown, as the reasons name it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reasons: list[str] = []
        self.forms: list[Expression] = []
        self.constants = Constants()

    def zeros(self, t: Expression, depth: int) -> Iterator[ZeroCandidate]:
        """Yield candidates for the zeros of an expression, in which constants of this solver may be."""
        ring = ValueRing()
        t = normal(t)
        ring.prepare([t])
        top = ring.quotient(t).top
        if top.is_zero() or depth > MAX_SIMPLIFICATIONS:
            raise Unsolved
        for factor, _ in top.factor()[1]:
            yield from self._of_factor(ring, factor, depth)

    def _of_factor(self, ring: ValueRing, p: Poly, depth: int) -> Iterator[ZeroCandidate]:
        if len(p) > MOST_TERMS or max(map(int, p.degrees())) > LARGEST_DEGREE or depth > MAX_SIMPLIFICATIONS:
            raise Unsolved
        places = [k for k, degree in enumerate(p.degrees()) if int(degree)]
        meanings = {k: ring.meanings[k] for k in places}
        varying = {k: t for k, t in meanings.items() if X in subexpressions(t)}
        functions = {k: t for k, t in varying.items() if t != X}
        if not varying:
            if self.constants.value(ring, p).contains(0):
                raise Unsolved
            return
        root = next((k for k, t in meanings.items() if t[0] in ROOTS), None)
        if root is not None:
            rest = without_root(ring, p, root, meanings[root])
            for factor, _ in rest.factor()[1]:
                yield from self._of_factor(ring, factor, depth + 1)
            return
        if not functions:
            yield from self._of_polynomial(ring, p)
            return
        if len(functions) < len(varying):
            raise Unsolved  # x is inside and outside of functions
        elif all(t[0] in ("sin", "cos") for t in functions.values()):
            yield from self._circular(ring, p, functions)
        elif all(t[0] == "exp" for t in functions.values()):
            yield from self._exponential(ring, p, functions, depth)
        elif all(t[0] == "log" for t in functions.values()) and is_linear(p, functions):
            yield from self._logarithmic(ring, p, functions, depth)
        elif len(functions) == 1:
            [(k, t)] = functions.items()
            values = self._roots_in(ring, p, k)
            self.reasons.append(f"{_some(len(values), 'value')} of {to_text(t, self.name)}")
            for value in values:
                yield from self._inverse(t, value, depth)
        else:
            raise Unsolved

    def _of_polynomial(self, ring: ValueRing, p: Poly) -> Iterator[ZeroCandidate]:
        """Yield the real roots of an irreducible polynomial in x, whose coefficients may be constants."""
        exact = ring.in_x(p)
        if exact is None:
            found = self._roots_in(ring, p, len(ring.context.gens()) - 1)
            self.forms += [root.exact for root in found if root.exact is not None]
            yield from (ZeroCandidate(root.ball) for root in found)
            return
        coefficients = tuple(int(c) for c in exact.coeffs())
        self.forms += exact_roots(coefficients)
        found = real_roots(exact)
        text = to_text(ring.expression(p), self.name)
        self.reasons.append(_counted(text, len(found), exact.degree()))
        yield from (ZeroCandidate(root, coefficients) for root in found)

    def _roots_in(self, ring: ValueRing, p: Poly, place: int) -> list[RealValue]:
        """The real values of one generator at which a polynomial is 0, the others being constants."""
        parts = [ring.context.constant(0)] * (int(p.degrees()[place]) + 1)
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            rest = tuple(0 if k == place else int(e) for k, e in enumerate(monomial))
            parts[int(monomial[place])] += ring.context.from_dict({rest: c})
        if all(part.is_constant() for part in parts):
            coefficients = whole_polynomial([part.leading_coefficient() if len(part) else fmpq(0) for part in parts])
            return self.constants.matched(
                real_roots(coefficients), exact_roots([int(c) for c in coefficients.coeffs()])
            )
        with ctx.workprec(BITS):
            balls = real_roots_of_balls([self.constants.value(ring, part) for part in parts])
        written = [t for part in parts if (t := self.constants.written(ring.expression(part))) is not None]
        known: list[Expression] = []
        if len(parts) == len(written) == 2:
            known = [linear(written[1], written[0])]
        if len(parts) == len(written) == 3:
            known = roots_of_quadratic(*written)
        return self.constants.matched(balls, known)

    def _inverse(self, t: Expression, value: RealValue, depth: int) -> Iterator[ZeroCandidate]:
        """Yield candidates for where a function has a value."""
        with ctx.workprec(BITS):
            argument = argument_at(t[0], value.ball)
        if argument is None:
            return
        exact = None if value.exact is None else exact_argument(t[0], value.exact)
        yield from self.zeros(minus(t[1], self.constants.named(RealValue(argument, exact))), depth + 1)

    def _exponential(self, ring: ValueRing, p: Poly, functions: Functions, depth: int) -> Iterator[ZeroCandidate]:
        """Solve a sum of exponentials: divided by its last term it is a polynomial in one of them, or a root of one."""
        exponents = [
            total([("*", number(int(m[k])), t[1]) for k, t in functions.items() if int(m[k])]) for m in p.monoms()
        ]
        *apart, base = [minus(a, exponents[-1]) for a in exponents[:-1]]
        times = multiples(ring, [base, *apart])
        shared = lcm(*(q.denominator for q in times))
        powers = [*(int(q * shared) for q in times[1:]), shared, 0]
        if max(map(abs, powers)) > MOST_TURNS:
            raise Unsolved
        values = self._roots_of_powers(ring, p, powers, functions)
        exponentials = " and ".join(to_text(t, self.name) for t in functions.values())
        self.reasons.append(f"{_some(len(values), 'value')} of {exponentials}")
        for root, exact in values:
            if root > 0:
                with ctx.workprec(BITS):
                    exponent = root.log() * shared
                log = None if exact is None else product([number(shared), ("log", exact)])
                yield from self.zeros(minus(base, self.constants.named(RealValue(exponent, log))), depth + 1)
            elif not root < 0:
                raise Unsolved

    def _roots_of_powers(self, ring: ValueRing, p: Poly, powers: list[int], functions: Functions) -> list[RealValue]:
        """The real roots of a polynomial in whole powers of one number, one for each term of p."""
        sums: dict[int, Any] = {}
        with ctx.workprec(BITS):
            for monomial, c, power in zip(p.monoms(), p.coeffs(), powers, strict=True):
                rest = tuple(0 if k in functions else int(e) for k, e in enumerate(monomial))
                factor = self.constants.value(ring, ring.context.from_dict({rest: c})) if any(rest) else c
                sums[power] = sums.get(power, fmpq(0)) + factor
        least = min(sums)
        values = [sums.get(k, fmpq(0)) for k in range(least, max(sums) + 1)]
        if all(isinstance(value, fmpq) for value in values):
            found = []
            for f, _ in whole_polynomial(values).factor()[1]:
                found += self.constants.matched(real_roots(f), exact_roots([int(c) for c in f.coeffs()]))
            return found
        return [RealValue(root, None) for root in real_roots_of_balls([arb(value) for value in values])]

    def _logarithmic(self, ring: ValueRing, p: Poly, functions: Functions, depth: int) -> Iterator[ZeroCandidate]:
        """Solve a sum of multiples of logarithms: where all are real, a product of powers is a constant."""
        rest = ring.context.constant(0)
        counts = dict.fromkeys(functions, Fraction(0))
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            place = next((k for k in functions if int(monomial[k])), None)
            if place is None:
                rest += ring.context.from_dict({tuple(map(int, monomial)): c})
            else:
                counts[place] += Fraction(int(c.p), int(c.q))
        shared = lcm(*(q.denominator for q in counts.values()))
        with ctx.workprec(BITS):
            constant = ("exp", self.constants.written(("*", number(-shared), ring.expression(rest))))
            exact = None if None in constant else constant
            size = (-shared * self.constants.value(ring, rest)).exp()
            value = ONE if rest.is_zero() else self.constants.named(RealValue(size, exact))
        left = ONE
        right = value
        for k, q in counts.items():
            n = int(q * shared)
            if abs(n) > MOST_TURNS:
                raise Unsolved
            if n > 0:
                left = ("*", left, ("^", functions[k][1], n))
            else:
                right = ("*", right, ("^", functions[k][1], -n))
        yield from self.zeros(minus(left, right), depth + 1)

    def _circular(self, ring: ValueRing, p: Poly, functions: Functions) -> Iterator[ZeroCandidate]:
        """Solve a polynomial in sines and cosines of multiples of one angle u, which is rational in t = tan(u/2)."""
        arguments = [t[1] for t in functions.values()]
        times = multiples(ring, arguments)
        shared = lcm(*(q.denominator for q in times))
        turns = dict(zip(functions, (int(q * shared) for q in times), strict=True))
        if max(map(abs, turns.values())) > MOST_TURNS:
            raise Unsolved
        if any(int(d) for k, d in enumerate(p.degrees()) if k not in functions):
            raise Unsolved
        slope, start = (self.constants.value(ring, part) for part in line_parts(ring, arguments[0]))
        parts = {k: by_half_angle(t[0], turns[k]) for k, t in functions.items()}
        weights = [sum(abs(turns[k]) * int(m[k]) for k in functions) for m in p.monoms()]
        found = fmpq_poly([0])
        for monomial, c, weight in zip(p.monoms(), p.coeffs(), weights, strict=True):
            term = fmpq_poly([c]) * fmpq_poly([1, 0, 1]) ** (max(weights) - weight)
            for k in functions:
                term *= parts[k] ** int(monomial[k])
            found += term
        if found == 0:
            raise Unsolved
        roots = [root for f, _ in whole_polynomial(found.coeffs()).factor()[1] for root in real_roots(f)]
        self._circular_forms(ring, p, functions)
        half = to_text(("*", number(Fraction(1, 2 * shared)), arguments[0]), self.name)
        self.reasons.append(f"{_some(len(roots), 'value')} of tan({half}) in a period")
        with ctx.workprec(BITS):
            turn = abs(2 * arb.pi() * shared / slope)
            yield from (ZeroCandidate((2 * root.atan() * shared - start) / slope, period=turn) for root in roots)
            if found.degree() < 2 * max(weights):  # at t = oo, u = pi
                yield ZeroCandidate((arb.pi() * shared - start) / slope, period=turn)

    def _circular_forms(self, ring: ValueRing, p: Poly, functions: Functions) -> None:
        """Keep roots by inverse functions, if it is a polynomial in a sine, a cosine or the tangent of one angle."""
        [argument, *others] = dict.fromkeys(t[1] for t in functions.values())
        degrees = {sum(map(int, m)) for m in p.monoms()}
        if others or (len(functions) > 1 and len(degrees) > 1):
            return
        place = next(k for k, t in functions.items() if t[0] == "sin" or len(functions) == 1)
        name = functions[place][0] if len(functions) == 1 else "tan"
        coefficients = [fmpq(0)] * (int(p.degrees()[place]) + 1)
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            coefficients[int(monomial[place])] += c
        slope, start = map(ring.expression, line_parts(ring, argument))
        for f, _ in whole_polynomial(coefficients).factor()[1]:
            for value in exact_roots([int(c) for c in f.coeffs()]):
                inverse: Expression = (f"a{name}", value)
                other = {"sin": minus(PI, inverse), "cos": negative(inverse), "tan": ("+", inverse, PI)}[name]
                for angle in (inverse, other, minus(other, ("*", number(2), PI)), minus(inverse, PI)):
                    shift = negative(angle) if start == number(0) else minus(start, angle)
                    self.forms.append(linear(slope, shift))


def _counted(text: str, count: int, degree: int) -> str:
    if degree == 1:
        return f"{text} has one root"
    text = text if len(text) <= MAX_REASON_LENGTH else f"a polynomial of degree {degree}"
    return f"{text} has {_some(count, 'real root')}, as all {degree} complex ones are isolated"


def _some(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'s' * (count != 1)}"


# Steps of an elimination: resultants, common multiples, half angles and inverse functions


def line_parts(ring: ValueRing, t: Expression) -> tuple[Poly, Poly]:
    """The slope and the value at 0, polynomials in constants, of what is linear in x. Raises ``Unsolved``."""
    top, bottom = ring.quotient(t)
    if int(top.degrees()[-1]) != 1 or not bottom.is_constant():
        raise Unsolved
    parts = [ring.context.constant(0), ring.context.constant(0)]
    for monomial, c in zip(top.monoms(), top.coeffs(), strict=True):
        rest = (*map(int, monomial[:-1]), 0)
        parts[int(monomial[-1])] += ring.context.from_dict({rest: c / bottom.leading_coefficient()})
    if any(X in subexpressions(ring.expression(part)) for part in parts):
        raise Unsolved
    return parts[1], parts[0]


def is_linear(p: Poly, functions: dict[int, Expression]) -> bool:
    """Whether each term has one function at most, to the first power, with a rational factor."""
    return all(
        sum(int(m[k]) for k in functions) == 0 or (sum(int(m[k]) for k in functions) == 1 and sum(map(int, m)) == 1)
        for m in p.monoms()
    )


def without_root(ring: ValueRing, p: Poly, place: int, meaning: Expression) -> Poly:
    """The resultant of a polynomial and the equation of a root or an absolute value in it."""
    g = ring.context.gens()[place]
    top, bottom = ring.quotient(meaning[1])
    n = meaning[2] if meaning[0] == "root" else 2
    if meaning[0] == "abs":
        top = top**2
        bottom = bottom**2
    if int(p.degrees()[place]) * n > LARGEST_DEGREE or comb(len(p) + n, n) > MOST_TERMS**2:
        raise Unsolved
    found = p.resultant(bottom * g**n - top, place)
    if found.is_zero():
        raise Unsolved
    return found


def multiples(ring: ValueRing, arguments: Sequence[Expression]) -> list[Fraction]:
    """How many times the first argument each one is. Raises ``Unsolved``."""
    tops = [ring.quotient(t) for t in arguments]
    found = []
    for top, bottom in tops:
        quotient = (top * tops[0].bottom, bottom * tops[0].top)
        common = quotient[0].gcd(quotient[1])
        a = quotient[0] / common
        b = quotient[1] / common
        if not (a.is_constant() and b.is_constant()):
            raise Unsolved
        ratio = a.leading_coefficient() / b.leading_coefficient()
        found.append(Fraction(int(ratio.p), int(ratio.q)))
    return found


def by_half_angle(function: str, n: int) -> Any:
    """(1 + t^2)^|n| times the sine or the cosine of n*u, a polynomial in t = tan(u/2)."""
    cosine = [0] * (2 * abs(n) + 1)
    sine = [0] * (2 * abs(n) + 1)
    for k in range(2 * abs(n) + 1):  # (1 + i t)^(2 |n|)
        (cosine, sine)[k % 2][k] = (-1) ** (k // 2) * comb(2 * abs(n), k)
    return fmpq_poly(cosine if function == "cos" else sine if n >= 0 else [-c for c in sine])


def roots_of_quadratic(c: Expression, b: Expression, a: Expression) -> list[Expression]:
    """Return the two roots for coefficients that are expressions of numbers."""
    square = minus(("^", b, 2), product([number(4), a, c]))
    below = ("^", product([number(2), a]), -1)
    return [("*", ("+", negative(b), product([number(sign), ("sqrt", square)])), below) for sign in (1, -1)]


def exact_argument(function: str, value: Expression) -> Expression:
    """Return where a function has an exact value, by its inverse function."""
    match function, value:
        case "log", ("number", _):
            return ("exp", value)
        case "atan", _:
            return ("*", ("sin", value), ("^", ("cos", value), -1))
    return ({"exp": "log", "log": "exp", "asin": "sin", "acos": "cos"}[function], value)


_INVERSES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "exp": (lambda v: v.log(), lambda: arb(0), None),
    "log": (lambda v: v.exp(), None, None),
    "asin": (lambda v: v.sin(), lambda: -arb.pi() / 2, lambda: arb.pi() / 2),
    "acos": (lambda v: v.cos(), lambda: arb(0), lambda: arb.pi()),
    "atan": (lambda v: v.tan(), lambda: -arb.pi() / 2, lambda: arb.pi() / 2),
}
"""The inverse of a function, and between which values it is."""


def argument_at(function: str, value: Real) -> Real | None:
    """Where a function that rises or falls all the way has a value; None if nowhere. Raises ``Unsolved``."""
    inverse, low, high = _INVERSES.get(function, (None, None, None))
    if inverse is None:
        raise Unsolved
    for end, sign in ((low, 1), (high, -1)):
        if end is None:
            continue
        beyond = sign * (value - end())
        if beyond < 0:
            return None
        if not beyond > 0:
            if function in ("asin", "acos") and abs(beyond) < NARROW:
                continue
            raise Unsolved
    return inverse(value)


# Numbers that occur in the course of an elimination


class Constants:
    """Balls with names by which they are generators of a ring, each with its expression if that is known."""

    def __init__(self) -> None:
        self._balls: dict[str, Real] = {}
        self._exact: dict[str, Expression | None] = {}

    def named(self, value: RealValue) -> Expression:
        """Return a constant for a value; a ball that is an integer within all digits is that integer."""
        near = value.ball.unique_fmpz() if value.ball.is_finite() and abs(value.ball) < MAX_INTEGER else None
        if near is not None and value.ball.rad() < NARROW:
            return number(int(near))
        name = f"c{len(self._balls)}"
        self._balls[name], self._exact[name] = value
        return (name,)

    def value(self, ring: ValueRing, p: Poly) -> Real:
        """Return the value of a polynomial in constants."""
        with ctx.workprec(BITS):
            return self.number_of(ring.expression(p))

    def number_of(self, t: Expression) -> Real:
        """The value of an expression without x."""
        match t:
            case ("number", q):
                return arb(fmpq(q.numerator, q.denominator))
            case ("pi",):
                return arb.pi()
            case (constant,):
                return self._balls[constant]
            case ("+", a, b):
                return self.number_of(a) + self.number_of(b)
            case ("*", a, b):
                return self.number_of(a) * self.number_of(b)
            case ("^", a, n):
                base = self.number_of(a)
                return base**n if n >= 0 else 1 / base**-n
            case ("root", a, n):
                base = self.number_of(a)
                return -((-base).root(n)) if base < 0 else base.root(n)
            case ("power", a, b):
                return (self.number_of(b) * self.number_of(a).log()).exp()
        if t[0] == "sqrt" and self.number_of(t[1]) < 0:
            raise Unsolved
        value = self.number_of(t[1])
        found = abs(value) if t[0] == "abs" else getattr(value, t[0])()
        if not found.is_finite():
            raise Unsolved
        return found

    def written(self, t: Expression) -> Expression | None:
        """Return ``t`` with the expressions of constants in place of their names; None if one has none."""
        if len(t) == 1 and t[0] in self._exact:
            return self._exact[t[0]]
        parts = [self.written(part) if isinstance(part, tuple) else part for part in t[1:]]
        return None if None in parts else (t[0], *parts)

    def matched(self, balls: Sequence[Real], pool: Iterable[Expression]) -> list[RealValue]:
        """Return each number with the first expression that agrees with it."""
        values = []
        for t in pool:
            with suppress(Unsolved, ArithmeticError, ValueError), ctx.workprec(BITS):
                values.append((self.number_of(t), t))
        found = []
        for ball in balls:
            with ctx.workprec(BITS):
                near = (t for v, t in values if v.overlaps(ball) and v.rad() < NARROW * (1 + abs(v)))
                found.append(RealValue(ball, next(near, None)))
        return found
