"""Expressions as fractions of polynomials in x, pi and one generator per value of a function (FLINT)."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from math import comb, lcm
from typing import Any, NamedTuple

from flint import fmpq, fmpq_mpoly_ctx, fmpz_poly

from dgltree.equations.truth.proofs.expression import LARGEST_POWER, ONE, Expression, X, minus, number, subexpressions
from dgltree.equations.truth.proofs.work import spend

MAX_GENERATORS = 48
"""Generators."""
ROUNDS = 12
"""Divisions by all relations; a remainder that still changes is refused, which never makes a claim."""
LARGEST_FACTORED, LARGEST_DEGREE = 40, 40
"""Terms and degrees of a polynomial in several generators that is factored."""
MAX_DEGREE = 1000
"""Degree of a polynomial."""
MOST_SIGNS = 1500
"""Signs that are worked out with a ring, at most."""
DIVISIONS, TERMS = 4, 20
"""Divisions, and terms of products and remainders, that take as long as a unit of work."""
LARGEST_PRODUCT = 4000
"""Terms of a power or a relation, at most; a product may have ten times as many pairs of terms."""

Poly = Any
"""A FLINT polynomial in several variables with rational coefficients."""


class Refused(Exception):  # noqa: N818 - no error: what the checker says
    """The reason why a certificate is not accepted."""


def require(condition: object, reason: str) -> None:
    if not condition:
        raise Refused(reason)


class Quotient(NamedTuple):
    """A quotient in lowest terms; a factor that is divided out is 0 nowhere where the written denominator is not."""

    top: Poly
    bottom: Poly


class Square(NamedTuple):
    """A generator whose square is a fraction."""

    generator: Poly
    top: Poly
    bottom: Poly


class ValueRing:
    """Generators that are made later are larger: a relation gives the value of one by those before it."""

    def __init__(self) -> None:
        self.context = fmpq_mpoly_ctx.get([f"g{k}" for k in range(MAX_GENERATORS)], "lex")
        self.one = self.context.constant(1)
        *rest, self.x = self.context.gens()
        self._free = list(enumerate(rest))
        self._made: dict[Any, Poly] = {X: self.x}
        self._quotients: dict[Expression, Quotient] = {}
        self.signs = 0
        """Signs that were worked out."""
        self.meanings: dict[int, Expression] = {MAX_GENERATORS - 1: X}
        """An expression for each generator, by its place: python-flint never frees the text of a polynomial."""

    @property
    def is_fresh(self) -> bool:
        """Whether there are generators and work left for another place."""
        return 2 * len(self._free) > MAX_GENERATORS and 4 * self.signs < MOST_SIGNS

    def prepare(self, expressions: Iterable[Expression]) -> None:
        """Make the generators of simple expressions first, so that others are reduced to these."""
        inside = dict.fromkeys(u for t in expressions for u in subexpressions(t))
        for t in sorted(inside, key=_size):
            with suppress(Refused):  # of a division by 0; it has no value then
                self.quotient(t)

    def quotient(self, t: Expression) -> Quotient:
        if t not in self._quotients:
            top, bottom = self._quotient(t)
            require(max(map(int, top.degrees() + bottom.degrees()), default=0) <= MAX_DEGREE, "a high degree")
            self._quotients[t] = Quotient(top, bottom)
        return self._quotients[t]

    def difference(self, a: Expression, b: Expression) -> Quotient:
        return self.quotient(minus(a, b))

    def _quotient(self, t: Expression) -> Quotient:
        match t:
            case ("number", q):
                return Quotient(self.context.constant(fmpq(q.numerator, q.denominator)), self.one)
            case ("x",) | ("pi",):
                return Quotient(self._generator(t, t), self.one)
            case ("+", a, b):
                p, q = self.quotient(a)
                r, s = self.quotient(b)
                return self._lowest(_times(p, s) + _times(r, q), _times(q, s))
            case ("*", a, b):
                p, q = self.quotient(a)
                r, s = self.quotient(b)
                return self._lowest(_times(p, r), _times(q, s))
            case ("^", a, n):
                return self._power(self.quotient(a), n)
            case ("power", a, b):
                return self.quotient(("exp", ("*", b, ("log", a))))
        keys = [tuple(map(_terms, self.quotient(part))) if isinstance(part, tuple) else part for part in t[1:]]
        return Quotient(self._generator((t[0], *keys), t), self.one)

    def _power(self, base: Quotient, n: int) -> Quotient:
        terms = max(comb(len(p) - 1 + abs(n), abs(n)) for p in base if len(p))
        require(abs(n) <= LARGEST_POWER and terms <= LARGEST_PRODUCT, "a large power")
        p, q = base
        if n < 0:
            require(not p.is_zero(), "a division by 0")
            p, q = q, p
        return self._lowest(p ** abs(n), q ** abs(n))

    def _generator(self, key: Any, meaning: Expression) -> Poly:
        if key not in self._made:
            require(self._free, "too many functions")
            place, self._made[key] = self._free.pop()
            self.meanings[place] = meaning
        return self._made[key]

    def _lowest(self, p: Poly, q: Poly) -> Quotient:
        if p.is_zero():
            return Quotient(p, self.one)
        common = p.gcd(q)
        p = p / common
        q = q / common
        return Quotient(p / q.leading_coefficient(), q / q.leading_coefficient())

    def expression(self, p: Poly) -> Expression:
        """A polynomial as a sum of products."""
        terms = []
        spend(1 + len(p))
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            powers = [(self.meanings[place], int(e)) for place, e in enumerate(monomial) if e]
            terms.append(product([number(Fraction(int(c.p), int(c.q))), *(raise_to(t, e) for t, e in powers)]))
        return total(terms)

    def factors(self, t: Expression) -> tuple[Fraction, list[tuple[Expression, int]]]:
        """A number, and irreducible polynomials with their powers, of which an expression is the product."""
        top, bottom = self.quotient(t)
        if top.is_zero():
            return Fraction(0), []
        for p in (top, bottom):
            small = len(p) <= LARGEST_FACTORED and sum(map(int, p.degrees())) <= LARGEST_DEGREE
            require(small or self.in_x(p) is not None, "a polynomial that is not factored")
        c, above = top.factor()
        d, below = bottom.factor()
        powers = [(self.expression(f), int(e)) for f, e in above] + [(self.expression(f), -int(e)) for f, e in below]
        scale = c / d
        return Fraction(int(scale.p), int(scale.q)), powers

    def by_root(self, p: Poly) -> tuple[Poly, Poly, Square] | None:
        """Polynomials a and b with p = a + b*g, for the last generator g in p that is a root or an absolute value."""
        for k, square in self._squares(p):
            return (*self._halves(p, k, square.top), square) if square.bottom.is_constant() else None
        return None

    def without_squares(self, t: Expression) -> Expression:
        """Return ``t`` with what is known of the squares of roots and absolute values in it."""
        top, bottom = self.quotient(t)
        for k, square in list(self._squares(top)):
            if square.bottom.is_constant():
                even, odd = self._halves(top, k, square.top)
                top = even + odd * square.generator
        return (
            self.expression(top) if bottom.is_one() else ("*", self.expression(top), ("^", self.expression(bottom), -1))
        )

    def _squares(self, p: Poly) -> Iterator[tuple[int, Square]]:
        """The generators in p of which the square is a fraction."""
        degrees = [int(d) for d in p.degrees()]
        for k, g in enumerate(self.context.gens()):
            meaning = self.meanings.get(k, X)
            if degrees[k] > 0 and meaning[0] in ("sqrt", "abs"):
                yield k, Square(g, *self.quotient(meaning[1] if meaning[0] == "sqrt" else raise_to(meaning[1], 2)))

    def _halves(self, p: Poly, k: int, square: Poly) -> tuple[Poly, Poly]:
        halves = [self.context.constant(0), self.context.constant(0)]
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            n = int(monomial[k])
            rest = tuple(0 if place == k else int(e) for place, e in enumerate(monomial))
            halves[n % 2] += self.context.from_dict({rest: c}) * square ** (n // 2)
        return halves[0], halves[1]

    def in_x(self, p: Poly) -> fmpz_poly | None:
        """A multiple of a polynomial in x alone, with whole coefficients; None if another generator is in it."""
        if p.is_zero():
            return fmpz_poly([])
        *others, degree = map(int, p.degrees())
        if any(others):
            return None
        scale = lcm(*(int(c.q) for c in p.coeffs()))
        coefficients = [0] * (degree + 1)
        for monomial, c in zip(p.monoms(), p.coeffs(), strict=True):
            coefficients[int(monomial[-1])] = int(c.p) * (scale // int(c.q))
        return fmpz_poly(coefficients)


def _terms(p: Poly) -> tuple[tuple[Any, ...], ...]:
    """The terms of a polynomial, which is no key itself."""
    return (*map(tuple, p.monoms()), tuple(p.coeffs()))


def _size(t: Expression) -> int:
    return sum(1 for _ in subexpressions(t))


def product(factors: Sequence[Expression]) -> Expression:
    """Return the product, without factors that are 1."""
    whole = ONE
    for factor in factors:
        whole = factor if whole == ONE else whole if factor == ONE else ("*", whole, factor)
    return whole


def total(terms: Sequence[Expression]) -> Expression:
    whole = terms[0] if terms else number(0)
    for term in terms[1:]:
        whole = ("+", whole, term)
    return whole


def raise_to(t: Expression, n: int) -> Expression:
    return t if n == 1 else ("^", t, n)


def _times(p: Poly, q: Poly) -> Poly:
    require(len(p) * len(q) <= LARGEST_PRODUCT * 10, "a long product")
    spend(1 + len(p) * len(q) // TERMS)
    return p * q


def vanishes(p: Poly, relations: Sequence[Poly]) -> bool:
    """Whether division by relations leaves 0: then p is in their ideal. A bad order of generators only refuses.

    A Gröbner basis would decide it for every order, in doubly exponential time at worst (Mayr and Meyer 1982).
    """
    for divisors in (relations, interreduce(relations)) if not p.is_zero() else ():
        for _ in range(ROUNDS):
            before = p
            p = remainder(p, divisors)
            if p.is_zero() or p == before:
                break
        if p.is_zero():
            break
    return bool(p.is_zero())


def interreduce(relations: Sequence[Poly]) -> list[Poly]:
    """Each relation by the others, as long as that changes one: all stay in the ideal."""
    closed: list[Poly] = []
    for r in relations:
        r = remainder(r, closed)
        if not r.is_zero():
            require(len(r) <= LARGEST_PRODUCT, "a long relation")
            closed = [s for s in (divmod(s, r)[1] for s in closed) if not s.is_zero()] + [r]
    for _ in range(ROUNDS):
        before = list(closed)
        for k in range(len(closed)):
            closed[k] = remainder(closed[k], closed[:k] + closed[k + 1 :])
        closed = [r for r in closed if not r.is_zero()]
        if closed == before:
            break
    return closed


def remainder(p: Poly, divisors: Sequence[Poly]) -> Poly:
    if p.is_zero():
        return p
    spend(1 + len(divisors) // DIVISIONS + len(p) // TERMS)
    for r in divisors:
        if not p.is_zero() and not r.is_zero():
            p = divmod(p, r)[1]
    return p
