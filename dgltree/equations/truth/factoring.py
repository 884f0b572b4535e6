"""Values taken apart: what is sure to be positive in a region, roots of unity, single generators."""

from collections.abc import Sequence
from fractions import Fraction as Number
from math import lcm
from typing import Any, NamedTuple

from flint import acb, fmpq, fmpz

from dgltree.equations.truth.field_extension import LARGEST_PRIME, MOST_TURNS, FieldExtension
from dgltree.equations.truth.rational_functions import NoValue, Poly, RationalFunction, Relation

MOST_FACTORED = 60
"""Terms of a polynomial that is factored."""


class Parts(NamedTuple):
    """A value as ``sign * product of positive^e * rest``."""

    negative: bool
    positive: list[tuple[RationalFunction, int]]
    rest: RationalFunction


class Factoring:
    """Takes values apart, in the region of their kernels."""

    def __init__(self, kernels: FieldExtension) -> None:
        self.kernels, self.ring, self.region = kernels, kernels.ring, kernels.region

    def parts(self, a: RationalFunction) -> Parts:
        """The factors that are surely positive, or at least not negative, and the rest. Raises ``NoValue`` for 0."""
        if a.num.is_zero():
            raise NoValue
        negative, positive, rest = False, [], self.ring.one
        constant = fmpq(1)
        for poly, way in ((a.num, 1), (a.den, -1)):
            content, factors = factor_polynomial(poly)
            constant *= fmpq(content) ** way
            for factor, exponent in factors:
                sure, odd, turned = self._sure(RationalFunction(factor, self.ring.one_poly), exponent * way)
                positive += sure
                negative ^= turned
                rest = self.ring.mul(rest, odd)
        if constant < 0:
            negative, constant = not negative, -constant
        return Parts(negative, self.primes(constant) + positive, rest)

    def _sure(
        self, f: RationalFunction, exponent: int
    ) -> tuple[list[tuple[RationalFunction, int]], RationalFunction, bool]:
        """Of a factor: positive ones, the rest, and whether the sign changes."""
        sign = self.kernels.sign(f)
        if sign:
            positive = f if sign > 0 else self.ring.neg(f)
            return [(positive, exponent)], self.ring.one, sign < 0 and exponent % 2 == 1
        if self.region.is_real and abs(exponent) > 1 and self.kernels.is_real(f):
            odd = (1 if exponent > 0 else -1) if exponent % 2 else 0
            return [(self.abs_kernel(f), exponent - odd)], self.ring.power(f, odd), False
        return [], self.ring.power(f, exponent), False

    def primes(self, constant: fmpq) -> list[tuple[RationalFunction, int]]:
        found = []
        for number, way in ((fmpz(constant.p), 1), (fmpz(constant.q), -1)):
            if number == 1:
                continue
            factors = number.factor() if number < LARGEST_PRIME else [(number, 1)]
            found += [(self.ring.number(int(prime)), int(exponent) * way) for prime, exponent in factors]
        return found

    def abs_kernel(self, f: RationalFunction) -> RationalFunction:
        """|f| as a generator, of what is real or not."""
        real = self.region.is_real and self.kernels.is_real(f)

        def value(values: Sequence[Any]) -> Any:
            return acb(abs(self.kernels.ball(f, values)))

        before = self.ring.used
        varying = not self.kernels.is_constant(*f)
        found = self.kernels.new(f"abs {f.num}/{f.den}", value, real=True, sign=1, varying=varying, analytic=False)
        if self.ring.used > before and real and f.den.is_one():
            self.ring.relations.append(Relation(before, 2, self.ring.reduce(f.num * f.num)))
        return found

    def turned(self, turns: Number) -> RationalFunction:
        """exp(2 pi i turns)."""
        order = self.kernels.units.ask("turn", lcm(4, turns.denominator), MOST_TURNS)
        return self.ring.of(self.kernels.turn, int(turns * order) % order)

    def single(self, a: RationalFunction) -> int | None:
        """The number of the generator that a value is."""
        found = self.single_power(a)
        return found[0] if found is not None and found[1] == 1 else None

    def single_power(self, a: RationalFunction) -> tuple[int, int] | None:
        """The generator and the exponent, if a value is a power of one below its unit."""
        if len(a.num) != 1 or not a.den.is_one() or a.num.leading_coefficient() != 1:
            return None
        involved = self.ring.involved(a.num)
        return (involved[0], int(a.num.degrees()[involved[0]])) if len(involved) == 1 else None

    def turns(self, a: RationalFunction) -> Number | None:
        """Of a root of unity that is one power of the generator: its angle, from -1/2 to 1/2."""
        power = self.single_power(a)
        sign = Number(0)
        if power is None:
            power, sign = self.single_power(self.ring.neg(a)), Number(1, 2)
        if power is None or power[0] != self.kernels.turn:
            return None
        turns = (Number(power[1], self.kernels.turn_order) + sign) % 1
        return turns - 1 if turns > Number(1, 2) else turns


def factor_polynomial(poly: Poly) -> tuple[Any, list[tuple[Poly, int]]]:
    """A number and irreducible factors with their exponents; a long polynomial is left as one factor."""
    if len(poly) > MOST_FACTORED:
        lead = poly.leading_coefficient()
        return lead, [(poly / lead, 1)]
    content, factors = poly.factor()
    return content, [(factor, int(exponent)) for factor, exponent in factors]
