"""Real zeros of an expression by elimination: a few numbers among which all of them are.

The numerator of the expression is factored; roots and absolute values are removed from a factor by resultants, a
factor in one function is solved for that function, circular ones are rational in t = tan(x/2), and exponentials of
multiples of one exponent are powers of one of them. In the end all real roots of polynomials are isolated by Arb. A
number that is not a zero after all (the root of another branch, or where the expression has no real value) is told
from one by its value: see :mod:`dgltree.equations.truth.solutions.solutions`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from math import comb, lcm
from typing import Any, NamedTuple

from flint import acb_poly, arb, ctx, fmpq, fmpq_poly, fmpz_poly

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
from dgltree.equations.truth.solutions.exact import exact_roots, linear
from dgltree.equations.truth.solutions.normal import normal

BITS = 768
"""Of all numbers."""
NARROW = arb(2) ** -300
"""Largest radius of a number, as a share."""
LARGEST_DEGREE, MOST_TERMS, DEEPEST = 400, 2000, 8
MOST_TURNS = 40
"""Largest multiple of the angle in a circular function, and of the exponent in an exponential."""
Real = Any
"""An ``arb``."""


class Unsolved(Exception):  # noqa: N818 - an answer: this is not solved by elimination
    """An expression whose zeros elimination does not give."""


class Zero(NamedTuple):
    """A number that may be a zero."""

    ball: Real
    polynomial: tuple[int, ...] = ()
    """With whole coefficients, the constant first: irreducible, and the number is one of its roots."""
    period: Real | None = None
    """Whose multiples, added to it, may be zeros as well."""


class _Value(NamedTuple):
    """A real number, and its expression if that is known."""

    ball: Real
    exact: Expression | None


class Zeros(NamedTuple):
    """All zeros are among these numbers."""

    numbers: tuple[Zero, ...]
    reasons: tuple[str, ...]
    """Why there are no others."""
    forms: tuple[Expression, ...] = ()
    """Exact expressions, some of which may be these numbers."""


def zeros(t: Expression, name: str) -> Zeros:
    """Those of one factor. Raises ``Unsolved``."""
    solver = _Solver(name)
    try:
        return Zeros(tuple(solver.zeros(t, 0)), tuple(dict.fromkeys(solver.reasons)), tuple(solver.forms))
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


def polynomial(t: Expression) -> tuple[int, ...] | None:
    """Whole coefficients, the constant first, of a factor that is a polynomial in x; None of another one."""
    ring = ValueRing()
    found = ring.in_x(ring.quotient(t).top)
    return None if found is None else tuple(int(c) for c in found.coeffs())


class _Solver:
    """Collects reasons on its way.

    Args:
        name: of the unknown, in the reasons.
    """

    def __init__(self, name: str) -> None:
        self.name, self.reasons = name, list[str]()
        self.forms: list[Expression] = []
        self._constants: dict[str, Real] = {}
        self._exact: dict[str, Expression | None] = {}
        """The expression of each constant, if it is known."""

    def zeros(self, t: Expression, depth: int) -> Iterator[Zero]:
        """Of an expression with constants of this solver in it."""
        ring, t = ValueRing(), normal(t)
        ring.prepare([t])
        top = ring.quotient(t).top
        if top.is_zero() or depth > DEEPEST:
            raise Unsolved
        for factor, _ in top.factor()[1]:
            yield from self._of_factor(ring, factor, depth)

    def _of_factor(self, ring: ValueRing, p: Poly, depth: int) -> Iterator[Zero]:
        if len(p) > MOST_TERMS or max(map(int, p.degrees())) > LARGEST_DEGREE or depth > DEEPEST:
            raise Unsolved
        places = [k for k, degree in enumerate(p.degrees()) if int(degree)]
        meanings = {k: ring.meanings[str(ring.context.gens()[k])] for k in places}
        varying = {k: t for k, t in meanings.items() if X in subexpressions(t)}
        functions = {k: t for k, t in varying.items() if t != X}
        if not varying:
            if self._value(ring, p).contains(0):
                raise Unsolved
            return
        root = next((k for k, t in meanings.items() if t[0] in ("sqrt", "abs", "root")), None)
        if root is not None:
            rest = _without(ring, p, root, meanings[root])
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
        elif all(t[0] == "log" for t in functions.values()) and _is_linear(p, functions):
            yield from self._logarithmic(ring, p, functions, depth)
        elif len(functions) == 1:
            [(k, t)] = functions.items()
            values = self._roots_in(ring, p, k)
            self.reasons.append(f"{_some(len(values), 'value')} of {to_text(t, self.name)}")
            for value in values:
                yield from self._inverse(t, value, depth)
        else:
            raise Unsolved

    def _of_polynomial(self, ring: ValueRing, p: Poly) -> Iterator[Zero]:
        """The real roots of an irreducible polynomial in x, whose coefficients may be constants."""
        exact = ring.in_x(p)
        if exact is None:
            found = self._roots_in(ring, p, len(ring.context.gens()) - 1)
            self.forms += [root.exact for root in found if root.exact is not None]
            yield from (Zero(root.ball) for root in found)
            return
        coefficients = tuple(int(c) for c in exact.coeffs())
        self.forms += exact_roots(coefficients)
        found = real_roots(exact)
        text = to_text(ring.expression(p), self.name)
        self.reasons.append(_counted(text, len(found), exact.degree()))
        yield from (Zero(root, coefficients) for root in found)

    def _roots_in(self, ring: ValueRing, p: Poly, place: int) -> list["_Value"]:
        """The real values of one generator at which a polynomial is 0, the others being constants."""
        parts = [ring.context.constant(0)] * (int(p.degrees()[place]) + 1)
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            rest = tuple(0 if k == place else int(e) for k, e in enumerate(monomial))
            parts[int(monomial[place])] += ring.context.from_dict({rest: c})
        if all(part.is_constant() for part in parts):
            coefficients = _whole([part.leading_coefficient() if len(part) else fmpq(0) for part in parts])
            return self._matched(real_roots(coefficients), exact_roots([int(c) for c in coefficients.coeffs()]))
        with ctx.workprec(BITS):
            balls = real_roots_of_balls([self._value(ring, part) for part in parts])
        written = [t for part in parts if (t := self._written(ring.expression(part))) is not None]
        pool: list[Expression] = []
        if len(parts) == len(written) == 2:
            pool = [linear(written[1], written[0])]
        if len(parts) == len(written) == 3:
            pool = _roots_of_quadratic(*written)
        return self._matched(balls, pool)

    def _matched(self, balls: Sequence[Real], pool: Iterable[Expression]) -> list["_Value"]:
        """Each number with the first expression that agrees with it."""
        values = []
        for t in pool:
            with suppress(Unsolved, ArithmeticError, ValueError), ctx.workprec(BITS):
                values.append((self._number(t), t))
        found = []
        for ball in balls:
            with ctx.workprec(BITS):
                exact = next((t for value, t in values if value.overlaps(ball) and value.rad() < NARROW), None)
            found.append(_Value(ball, exact))
        return found

    def _written(self, t: Expression) -> Expression | None:
        """With the expressions of constants in place of their names; None if one has none."""
        if len(t) == 1 and t[0] in self._exact:
            return self._exact[t[0]]
        parts = [self._written(part) if isinstance(part, tuple) else part for part in t[1:]]
        return None if None in parts else (t[0], *parts)

    def _value(self, ring: ValueRing, p: Poly) -> Real:
        """Of a polynomial in constants."""
        with ctx.workprec(BITS):
            return self._number(ring.expression(p))

    def _number(self, t: Expression) -> Real:
        """The value of an expression without x."""
        match t:
            case ("number", q):
                return arb(fmpq(q.numerator, q.denominator))
            case ("pi",):
                return arb.pi()
            case (constant,):
                return self._constants[constant]
            case ("+", a, b):
                return self._number(a) + self._number(b)
            case ("*", a, b):
                return self._number(a) * self._number(b)
            case ("^", a, n):
                base = self._number(a)
                return base**n if n >= 0 else 1 / base**-n
            case ("root", a, n):
                base = self._number(a)
                return -((-base).root(n)) if base < 0 else base.root(n)
            case ("power", a, b):
                return (self._number(b) * self._number(a).log()).exp()
        if t[0] == "sqrt" and self._number(t[1]) < 0:
            raise Unsolved
        value = self._number(t[1])
        found = abs(value) if t[0] == "abs" else getattr(value, t[0])()
        if not found.is_finite():
            raise Unsolved
        return found

    def _inverse(self, t: Expression, value: "_Value", depth: int) -> Iterator[Zero]:
        """Where a function has a value."""
        with ctx.workprec(BITS):
            argument = _argument(t[0], value.ball)
        if argument is None:
            return
        exact = None if value.exact is None else _exact_argument(t[0], value.exact)
        yield from self.zeros(minus(t[1], self._named(_Value(argument, exact))), depth + 1)

    def _named(self, value: "_Value") -> Expression:
        """A constant; an integer within all digits is one."""
        near = value.ball.unique_fmpz() if value.ball.is_finite() and abs(value.ball) < 10**9 else None
        if near is not None and value.ball.rad() < NARROW:
            return number(int(near))
        name = f"c{len(self._constants)}"
        self._constants[name], self._exact[name] = value
        return (name,)

    def _exponential(self, ring: ValueRing, p: Poly, functions: dict[int, Expression], depth: int) -> Iterator[Zero]:
        """A sum of exponentials: divided by its last term, a polynomial in one of them, or in a root of one."""
        exponents = [
            total([("*", number(int(m[k])), t[1]) for k, t in functions.items() if int(m[k])]) for m in p.monoms()
        ]
        *apart, base = [minus(a, exponents[-1]) for a in exponents[:-1]]
        multiples = _multiples(ring, [base, *apart])
        shared = lcm(*(q.denominator for q in multiples))
        powers = [*(int(q * shared) for q in multiples[1:]), shared, 0]
        if max(map(abs, powers)) > MOST_TURNS:
            raise Unsolved
        values = self._roots_of_powers(ring, p, powers, functions)
        self.reasons.append(f"{_some(len(values), 'value')} of {_exponentials(functions, self.name)}")
        for root, exact in values:
            if root > 0:
                with ctx.workprec(BITS):
                    exponent = root.log() * shared
                log = None if exact is None else product([number(shared), ("log", exact)])
                yield from self.zeros(minus(base, self._named(_Value(exponent, log))), depth + 1)
            elif not root < 0:
                raise Unsolved

    def _roots_of_powers(
        self, ring: ValueRing, p: Poly, powers: list[int], functions: dict[int, Expression]
    ) -> list["_Value"]:
        """The real roots of a polynomial in whole powers of one number, one for each term of p."""
        sums: dict[int, Any] = {}
        with ctx.workprec(BITS):
            for monomial, c, power in zip(p.monoms(), p.coeffs(), powers, strict=True):
                rest = tuple(0 if k in functions else int(e) for k, e in enumerate(monomial))
                factor = self._value(ring, ring.context.from_dict({rest: c})) if any(rest) else c
                sums[power] = sums.get(power, fmpq(0)) + factor
        least = min(sums)
        values = [sums.get(k, fmpq(0)) for k in range(least, max(sums) + 1)]
        if all(isinstance(value, fmpq) for value in values):
            found = []
            for f, _ in _whole(values).factor()[1]:
                found += self._matched(real_roots(f), exact_roots([int(c) for c in f.coeffs()]))
            return found
        return [_Value(root, None) for root in real_roots_of_balls([arb(value) for value in values])]

    def _logarithmic(self, ring: ValueRing, p: Poly, functions: dict[int, Expression], depth: int) -> Iterator[Zero]:
        """A sum of multiples of logarithms and a constant: a product of powers is a constant where all are real."""
        rest, counts = ring.context.constant(0), dict.fromkeys(functions, Fraction(0))
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            place = next((k for k in functions if int(monomial[k])), None)
            if place is None:
                rest += ring.context.from_dict({tuple(map(int, monomial)): c})
            else:
                counts[place] += Fraction(int(c.p), int(c.q))
        shared = lcm(*(q.denominator for q in counts.values()))
        with ctx.workprec(BITS):
            constant = ("exp", self._written(("*", number(-shared), ring.expression(rest))))
            exact = None if None in constant else constant
            size = (-shared * self._value(ring, rest)).exp()
            value = ONE if rest.is_zero() else self._named(_Value(size, exact))
        left, right = ONE, value
        for k, q in counts.items():
            n = int(q * shared)
            if abs(n) > MOST_TURNS:
                raise Unsolved
            if n > 0:
                left = ("*", left, ("^", functions[k][1], n))
            else:
                right = ("*", right, ("^", functions[k][1], -n))
        yield from self.zeros(minus(left, right), depth + 1)

    def _circular(self, ring: ValueRing, p: Poly, functions: dict[int, Expression]) -> Iterator[Zero]:
        """A polynomial in sines and cosines of multiples of one angle u, which is rational in t = tan(u/2)."""
        arguments = [t[1] for t in functions.values()]
        multiples = _multiples(ring, arguments)
        shared = lcm(*(q.denominator for q in multiples))
        turns = dict(zip(functions, (int(q * shared) for q in multiples), strict=True))
        if max(map(abs, turns.values())) > MOST_TURNS:
            raise Unsolved
        if any(int(d) for k, d in enumerate(p.degrees()) if k not in functions):
            raise Unsolved
        slope, start = self._line(ring, arguments[0])
        parts = {k: _by_half_angle(t[0], turns[k]) for k, t in functions.items()}
        weights = [sum(abs(turns[k]) * int(m[k]) for k in functions) for m in p.monoms()]
        found = fmpq_poly([0])
        for monomial, c, weight in zip(p.monoms(), p.coeffs(), weights, strict=True):
            term = fmpq_poly([c]) * fmpq_poly([1, 0, 1]) ** (max(weights) - weight)
            for k in functions:
                term *= parts[k] ** int(monomial[k])
            found += term
        if found == 0:
            raise Unsolved
        roots = [root for f, _ in _whole(found.coeffs()).factor()[1] for root in real_roots(f)]
        self._circular_forms(ring, p, functions)
        half = to_text(("*", number(Fraction(1, 2 * shared)), arguments[0]), self.name)
        self.reasons.append(f"{_some(len(roots), 'value')} of tan({half}) in a period")
        with ctx.workprec(BITS):
            turn = abs(2 * arb.pi() * shared / slope)
            yield from (Zero((2 * root.atan() * shared - start) / slope, period=turn) for root in roots)
            yield Zero((arb.pi() * shared - start) / slope, period=turn)

    def _circular_forms(self, ring: ValueRing, p: Poly, functions: dict[int, Expression]) -> None:
        """Expressions by inverse functions, of a polynomial in a sine, a cosine, or the tangent of one angle."""
        [argument, *others] = dict.fromkeys(t[1] for t in functions.values())
        degrees = {sum(map(int, m)) for m in p.monoms()}
        if others or (len(functions) > 1 and len(degrees) > 1):
            return
        place = next(k for k, t in functions.items() if t[0] == "sin" or len(functions) == 1)
        name = functions[place][0] if len(functions) == 1 else "tan"
        coefficients = [fmpq(0)] * (int(p.degrees()[place]) + 1)
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            coefficients[int(monomial[place])] += c
        slope, start = map(ring.expression, _line_parts(ring, argument))
        for f, _ in _whole(coefficients).factor()[1]:
            for value in exact_roots([int(c) for c in f.coeffs()]):
                inverse: Expression = (f"a{name}", value)
                other = {"sin": minus(PI, inverse), "cos": negative(inverse), "tan": ("+", inverse, PI)}[name]
                for angle in (inverse, other, minus(other, ("*", number(2), PI)), minus(inverse, PI)):
                    shift = negative(angle) if start == number(0) else minus(start, angle)
                    self.forms.append(linear(slope, shift))

    def _line(self, ring: ValueRing, t: Expression) -> tuple[Real, Real]:
        """The slope and the value at 0 of an expression that is linear in x. Raises ``Unsolved``."""
        slope, start = _line_parts(ring, t)
        return self._value(ring, slope), self._value(ring, start)


def _line_parts(ring: ValueRing, t: Expression) -> tuple[Poly, Poly]:
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


def _counted(text: str, count: int, degree: int) -> str:
    if degree == 1:
        return f"{text} has one root"
    return f"{text} has {_some(count, 'real root')}, as all {degree} complex ones are isolated"


def _some(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'s' * (count != 1)}"


def _exponentials(functions: dict[int, Expression], name: str) -> str:
    return " and ".join(to_text(t, name) for t in functions.values())


def _is_linear(p: Poly, functions: dict[int, Expression]) -> bool:
    """Whether each term has one function at most, to the first power, with a rational factor."""
    return all(
        sum(int(m[k]) for k in functions) == 0 or (sum(int(m[k]) for k in functions) == 1 and sum(map(int, m)) == 1)
        for m in p.monoms()
    )


def _without(ring: ValueRing, p: Poly, place: int, meaning: Expression) -> Poly:
    """The resultant of a polynomial and the equation of a root or an absolute value in it."""
    g = ring.context.gens()[place]
    top, bottom = ring.quotient(meaning[1])
    n = meaning[2] if meaning[0] == "root" else 2
    if meaning[0] == "abs":
        top, bottom = top**2, bottom**2
    if int(p.degrees()[place]) * n > LARGEST_DEGREE or comb(len(p) + n, n) > MOST_TERMS**2:
        raise Unsolved
    found = p.resultant(bottom * g**n - top, place)
    if found.is_zero():
        raise Unsolved
    return found


def _multiples(ring: ValueRing, arguments: Sequence[Expression]) -> list[Fraction]:
    """How many times the first argument each one is. Raises ``Unsolved``."""
    tops = [ring.quotient(t) for t in arguments]
    found = []
    for top, bottom in tops:
        quotient = (top * tops[0].bottom, bottom * tops[0].top)
        common = quotient[0].gcd(quotient[1])
        a, b = quotient[0] / common, quotient[1] / common
        if not (a.is_constant() and b.is_constant()):
            raise Unsolved
        ratio = a.leading_coefficient() / b.leading_coefficient()
        found.append(Fraction(int(ratio.p), int(ratio.q)))
    return found


def _by_half_angle(function: str, n: int) -> Any:
    """(1 + t^2)^|n| times the sine or the cosine of n*u, a polynomial in t = tan(u/2)."""
    cosine, sine = [0] * (2 * abs(n) + 1), [0] * (2 * abs(n) + 1)
    for k in range(2 * abs(n) + 1):  # (1 + i t)^(2 |n|)
        (cosine, sine)[k % 2][k] = (-1) ** (k // 2) * comb(2 * abs(n), k)
    return fmpq_poly(cosine if function == "cos" else sine if n >= 0 else [-c for c in sine])


def _roots_of_quadratic(c: Expression, b: Expression, a: Expression) -> list[Expression]:
    """Of coefficients that are expressions of numbers."""
    square = minus(("^", b, 2), product([number(4), a, c]))
    below = ("^", product([number(2), a]), -1)
    return [("*", ("+", negative(b), product([number(sign), ("sqrt", square)])), below) for sign in (1, -1)]


def _exact_argument(function: str, value: Expression) -> Expression:
    match function, value:
        case "log", ("number", _):
            return ("exp", value)
        case "atan", _:
            return ("*", ("sin", value), ("^", ("cos", value), -1))
    return ({"exp": "log", "log": "exp", "asin": "sin", "acos": "cos"}[function], value)


def _argument(function: str, value: Real) -> Real | None:
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


_INVERSES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "exp": (lambda v: v.log(), lambda: arb(0), None),
    "log": (lambda v: v.exp(), None, None),
    "asin": (lambda v: v.sin(), lambda: -arb.pi() / 2, lambda: arb.pi() / 2),
    "acos": (lambda v: v.cos(), lambda: arb(0), lambda: arb.pi()),
    "atan": (lambda v: v.tan(), lambda: -arb.pi() / 2, lambda: arb.pi() / 2),
}
"""The inverse of a function, and between which values it is."""


def _whole(coefficients: Sequence[Any]) -> fmpz_poly:
    """With whole coefficients."""
    scale = lcm(*(int(fmpq(c).q) for c in coefficients))
    return fmpz_poly([int(fmpq(c).p) * (scale // int(fmpq(c).q)) for c in coefficients])


def real_roots(p: fmpz_poly) -> list[Real]:
    """All real roots of a polynomial, in order: Arb isolates each complex one, and tells which are real."""
    if p.degree() > LARGEST_DEGREE:
        raise Unsolved
    if p.degree() < 1:
        return []
    with ctx.workprec(BITS):
        if p.degree() == 1:
            return [arb(fmpq(-int(p[0]), int(p[1])))]
        roots: Any = p.complex_roots()
    return sorted((root.real for root, _ in roots if root.imag.is_zero()), key=lambda x: float(x.mid()))


def real_roots_of_balls(coefficients: Sequence[Real]) -> list[Real]:
    """All real roots of a polynomial whose coefficients are balls. Raises ``Unsolved`` if two are not told apart."""
    coefficients = list(coefficients)
    with ctx.workprec(BITS):
        while coefficients and coefficients[-1].is_zero():
            coefficients.pop()
        if len(coefficients) < 2:
            raise Unsolved
        if coefficients[-1].contains(0):
            raise Unsolved
        if len(coefficients) == 2:
            return [-coefficients[0] / coefficients[1]]
        try:
            p: Any = acb_poly(coefficients)
            found = p.roots()
        except ValueError as error:
            raise Unsolved from error
        real = [_polished(coefficients, z.real) for z in found if z.imag.contains(0)]
        return sorted(real, key=lambda x: float(x.mid()))


def _polished(coefficients: Sequence[Any], root: Any) -> Any:
    """A smaller ball around the one root in a ball, by Newton's method for intervals."""
    for _ in range(14):
        value, slope, middle = arb(0), arb(0), root.mid()
        for c in reversed(coefficients):
            value = value * middle + c
        for k in range(len(coefficients) - 1, 0, -1):
            slope = slope * root + k * coefficients[k]
        if slope.contains(0):
            raise Unsolved
        with suppress(ValueError):
            root = root.intersection(middle - value / slope)
        if root.rad() < NARROW:
            return root
    raise Unsolved
