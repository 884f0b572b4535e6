"""Roots and rational powers of rational functions of kernels."""

from collections.abc import Sequence
from fractions import Fraction as Number
from typing import Any

from flint import acb, fmpq

from dgltree.equations.truth.factoring import Factoring, factor_polynomial
from dgltree.equations.truth.rational_functions import NoValue, RationalFunction, Relation, TooLarge


class Roots:
    """Takes roots of values, in a region."""

    def __init__(self, factoring: Factoring) -> None:
        self.factoring, self.kernels = factoring, factoring.kernels
        self.ring, self.region = factoring.ring, factoring.region

    def rational_power(self, base: RationalFunction, exponent: Number) -> RationalFunction:
        if exponent.denominator == 1:
            return self.ring.power(base, exponent.numerator)
        if base.num.is_zero():
            if exponent < 0:
                raise NoValue
            return base
        school = self.region.is_real and exponent.denominator % 2 == 1
        if school and self.kernels.is_real(base):
            return self._odd_root(base, exponent)
        negative, positive, rest = self.factoring.parts(base)
        found = self.ring.one
        for factor, times in positive:
            found = self.ring.mul(found, self._positive_power(factor, times * exponent))
        if rest == self.ring.one:
            if not negative:
                return found
            return self.ring.mul(found, self.factoring.turned(exponent / 2))
        if school:
            raise TooLarge  # whether the real root or the principal value is meant depends on the point
        return self.ring.mul(found, self._rest_power(self.ring.neg(rest) if negative else rest, exponent))

    def _positive_power(self, base: RationalFunction, exponent: Number) -> RationalFunction:
        if exponent.denominator == 1:
            return self.ring.power(base, exponent.numerator)
        single = self.factoring.single(base)
        if single is not None and (unit := self.kernels.kernels[single].unit) is not None:
            self.kernels.units.ask(unit[0], unit[1] * exponent.denominator)  # raises Again
        strict = self.kernels.sign(base) == 2
        return self._root(base, exponent, real=True, sign=2 if strict else 1, analytic=strict)

    def _root(self, base: RationalFunction, exponent: Number, **known: Any) -> RationalFunction:
        """A kernel to a power: of ``den * base^(1/unit)``, whose power is a polynomial."""
        key = f"root {base.num}/{base.den}"
        unit = self.kernels.units.ask(key, exponent.denominator)
        analytic = known.pop("analytic") and self.kernels.is_smooth(base)

        def value(values: Sequence[Any]) -> Any:
            under = self.kernels.ball(base, values)
            return self.kernels.evaluated(base.den, values) * (under.log() / unit).exp()

        before = self.ring.used
        root = self.kernels.new(
            key,
            value,
            **known,
            analytic=analytic,
            varying=not self.kernels.is_constant(*base),
            unit=(key, unit),
            power_of=(base, unit),
        )
        if self.ring.used > before:
            rest = self.ring.reduce(base.num * base.den ** (unit - 1))
            self.ring.relations.append(Relation(before, unit, rest))
        taken = self.ring.div(root, RationalFunction(base.den, self.ring.one_poly))
        return self.ring.power(taken, int(exponent * unit))

    def _odd_root(self, base: RationalFunction, exponent: Number) -> RationalFunction:
        """The real root of what is real, of each factor by itself."""
        found, negative = self.ring.one, False
        for poly, way in ((base.num, 1), (base.den, -1)):
            content, factors = factor_polynomial(poly)
            negative ^= content < 0
            for prime, times in self.factoring.primes(abs(fmpq(content))):
                found = self.ring.mul(found, self._positive_power(prime, exponent * times * way))
            for factor, times in factors:
                f = RationalFunction(factor, self.ring.one_poly)
                sign = self.kernels.sign(f)
                if sign:
                    f, negative = (f, negative) if sign > 0 else (self.ring.neg(f), negative ^ (times % 2 == 1))
                    found = self.ring.mul(found, self._positive_power(f, exponent * times * way))
                else:
                    found = self.ring.mul(found, self._real_root(f, exponent * times * way))
        return self.ring.neg(found) if negative and exponent.numerator % 2 else found

    def _real_root(self, base: RationalFunction, exponent: Number) -> RationalFunction:
        if exponent.denominator == 1:
            return self.ring.power(base, exponent.numerator)
        key = f"odd root {base.num}"
        unit = self.kernels.units.ask(key, exponent.denominator)

        def value(values: Sequence[Any]) -> Any:
            under = self.kernels.ball(base, values).real
            return acb(-((-under).log() / unit).exp() if under < 0 else (under.log() / unit).exp())

        before = self.ring.used
        root = self.kernels.new(
            key, value, real=True, varying=not self.kernels.is_constant(*base), analytic=False, unit=None
        )
        if self.ring.used > before:
            self.ring.relations.append(Relation(before, unit, base.num))
        return self.ring.power(root, int(exponent * unit))

    def _rest_power(self, base: RationalFunction, exponent: Number) -> RationalFunction:
        turns = self.factoring.turns(base)
        if turns is not None:
            return self.factoring.turned(turns * exponent)
        single = self.factoring.single_power(base)
        if single is not None:
            kernel = self.kernels.kernels[single[0]]
            if kernel.power_of is not None and kernel.power_of[0].den.is_one():
                return self._rest_power(kernel.power_of[0], exponent * single[1] / kernel.power_of[1])
        return self._root(base, exponent, analytic=self.kernels.is_constant(*base))
