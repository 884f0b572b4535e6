"""Rational functions of generators with rational coefficients, some of which have a relation: r^2 = x, say.

Everything is bounded: ``TooLarge`` is raised before a polynomial has too many terms.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from flint import fmpq, fmpq_mpoly_ctx

MOST_GENERATORS = 20
MOST_TERMS = 400
"""Terms of a polynomial; one with more is not worked out."""
MOST_WORK = 40_000
"""Terms of one polynomial times those of the other, if they are multiplied."""
MOST_BITS = 4000
"""Bits of a power of a number."""

Poly = Any
"""A polynomial with rational coefficients, ``fmpq_mpoly``."""


class TooLarge(ValueError):  # noqa: N818 - a reason to give up a proof
    """A polynomial of too many terms, too many generators, or too large a number."""


class NoValue(ValueError):  # noqa: N818
    """A denominator that is 0 wherever it has a value."""


class Region(NamedTuple):
    """The values that the variables may take while an identity is proved."""

    kind: str
    """``complex``, ``real`` or ``positive``; odd roots of real numbers are real unless it is complex."""

    @property
    def is_real(self) -> bool:
        return self.kind != "complex"

    @property
    def connected(self) -> bool:
        """Whether functions that are analytic in the region, and whose product is 0, are 0 themselves, one of them."""
        return self.kind in ("positive", "complex")


class Relation(NamedTuple):
    """``generator^degree = rest``, where ``rest`` has lower powers of it and generators made earlier."""

    generator: int
    degree: int
    rest: Poly


class RationalFunction(NamedTuple):
    """``num/den``, reduced by the relations."""

    num: Poly
    den: Poly


class Ring:
    """The polynomials, their relations, and arithmetic with fractions of them."""

    def __init__(self) -> None:
        self.context = fmpq_mpoly_ctx.get([f"g{k}" for k in range(MOST_GENERATORS)], "lex")
        self.generators: Sequence[Poly] = self.context.gens()
        self.relations: list[Relation] = []
        self.used = 0
        self.one_poly = self.context.constant(1)
        self.one, self.zero = self.number(1), self.number(0)

    def generator(self) -> int:
        """The number of a new generator."""
        if self.used == MOST_GENERATORS:
            raise TooLarge
        self.used += 1
        return self.used - 1

    def number(self, value: Any) -> RationalFunction:
        return RationalFunction(self.context.constant(value), self.one_poly)

    def of(self, generator: int, power: int = 1) -> RationalFunction:
        """A generator, or a power of it."""
        if power < 0:
            return self.fraction(self.one_poly, self.generators[generator] ** -power)
        return RationalFunction(self.reduce(self.generators[generator] ** power), self.one_poly)

    def fraction(self, num: Poly, den: Poly) -> RationalFunction:
        """Return a fraction in lowest terms, as far as the relations let that be found."""
        num = self.reduce(num)
        den = self.reduce(den)
        if den.is_zero():
            raise NoValue
        if num.is_zero():
            return RationalFunction(num, self.one_poly)
        if not den.is_constant():
            common = num.gcd(den)
            if not common.is_constant():
                num = num / common
                den = den / common
        lead = den.leading_coefficient()
        return RationalFunction(num / lead, den / lead)

    def add(self, a: RationalFunction, b: RationalFunction) -> RationalFunction:
        if a.den == b.den:
            return (
                self.fraction(a.num + b.num, a.den)
                if not a.den.is_constant()
                else RationalFunction(a.num + b.num, a.den)
            )
        return self.fraction(self._times(a.num, b.den) + self._times(b.num, a.den), self._times(a.den, b.den))

    def sub(self, a: RationalFunction, b: RationalFunction) -> RationalFunction:
        return self.add(a, self.neg(b))

    def neg(self, a: RationalFunction) -> RationalFunction:
        return RationalFunction(-a.num, a.den)

    def mul(self, *factors: RationalFunction) -> RationalFunction:
        product = factors[0]
        for factor in factors[1:]:
            num = self._times(product.num, factor.num)
            den = self._times(product.den, factor.den)
            product = self.fraction(num, den)
        return product

    def div(self, a: RationalFunction, b: RationalFunction) -> RationalFunction:
        if b.num.is_zero():
            raise NoValue
        return self.fraction(self._times(a.num, b.den), self._times(a.den, b.num))

    def power(self, base: RationalFunction, exponent: int) -> RationalFunction:
        if exponent < 0:
            return self.power(self.div(self.one, base), -exponent)
        self._check_power(base, exponent)
        found = self.one
        for digit in bin(exponent)[2:]:
            found = self.mul(found, found)
            if digit == "1":
                found = self.mul(found, base)
        return found

    def _check_power(self, base: RationalFunction, exponent: int) -> None:
        # The bits of a power of a number are the exponent times its own; those of a sum's power grow with its terms,
        # which are bounded next. So bits are counted of one or two terms alone, and 8 stand for the rest.
        bits = max(_bits(base.num), _bits(base.den))
        if exponent > 10**6 or exponent * bits > MOST_BITS * 4:
            raise TooLarge
        terms = max(len(base.num), len(base.den))
        if terms > 1 and exponent * (terms - 1) > MOST_TERMS:
            raise TooLarge

    def _times(self, a: Poly, b: Poly) -> Poly:
        if len(a) * len(b) > MOST_WORK:
            raise TooLarge
        product = a * b
        return self.reduce(product)

    def reduce(self, poly: Poly) -> Poly:
        """The remainder by the relations, those of the latest generators first."""
        if len(poly) > MOST_TERMS * 4:
            raise TooLarge
        for relation in reversed(self.relations):
            while int(poly.degrees()[relation.generator]) >= relation.degree:
                poly = self._replaced(poly, relation)
                if len(poly) > MOST_TERMS * 4:
                    raise TooLarge
        return poly

    def _replaced(self, poly: Poly, relation: Relation) -> Poly:
        """``poly`` with the powers that the relation reaches taken down as often as they can be."""
        generator, degree, rest = relation
        pure = int(rest.degrees()[generator]) == 0
        kept: dict[tuple[int, ...], Any] = {}
        parts: dict[int, dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):
            exponent = int(monomial[generator])
            if exponent < degree:
                kept[monomial] = coefficient
                continue
            times = exponent // degree if pure else 1
            lower = list(map(int, monomial))
            lower[generator] = exponent - times * degree
            parts.setdefault(times, {})[tuple(lower)] = coefficient
        found = self.context.from_dict(kept)
        for times, part in parts.items():
            raised = rest**times if len(rest) ** min(times, 8) <= MOST_WORK else None
            if raised is None:
                raise TooLarge
            found += self.context.from_dict(part) * raised
        return found

    def coefficients(self, poly: Poly, generator: int) -> dict[int, Poly]:
        """Return the coefficients of the powers of one generator."""
        parts: dict[int, dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):
            exponent = int(monomial[generator])
            rest = tuple(0 if k == generator else int(e) for k, e in enumerate(monomial))
            parts.setdefault(exponent, {})[rest] = coefficient
        return {exponent: self.context.from_dict(part) for exponent, part in parts.items()}

    def constant(self, a: RationalFunction) -> fmpq | None:
        """The number that a fraction is, None if it is none."""
        if a.num.is_zero():
            return fmpq(0)
        if not (a.num.is_constant() and a.den.is_constant()):
            return None
        return a.num.leading_coefficient() / a.den.leading_coefficient()

    def involved(self, *polys: Poly) -> list[int]:
        """Numbers of the generators that occur."""
        degrees = [poly.degrees() for poly in polys]
        return [k for k in range(self.used) if any(int(each[k]) > 0 for each in degrees)]


def _bits(poly: Poly) -> int:
    numbers = poly.coeffs()
    return max((max(abs(c.p).bit_length(), c.q.bit_length()) for c in numbers), default=0) if len(numbers) < 3 else 8
