"""Powers, exponentials, logarithms and absolute values of rational functions of kernels."""

from collections.abc import Sequence
from fractions import Fraction as Number
from typing import Any

from flint import fmpq

from dgltree.equations.truth.factoring import Factoring, factor_polynomial
from dgltree.equations.truth.field_extension import FieldExtension
from dgltree.equations.truth.rational_functions import NoValue, Poly, RationalFunction, TooLarge
from dgltree.equations.truth.roots import Roots


class Functions:
    """The values of functions in a region."""

    def __init__(self, kernels: FieldExtension) -> None:
        self.kernels, self.ring, self.region = kernels, kernels.ring, kernels.region
        self.factoring = Factoring(kernels)
        self.roots = Roots(self.factoring)

    def power(self, base: RationalFunction, exponent: RationalFunction) -> RationalFunction:
        number = self.ring.constant(exponent)
        if base.num.is_zero():
            if number is None:
                raise TooLarge  # if the exponent is positive, it is 0
            if number <= 0:
                raise NoValue
            return base
        if number is None:
            return self.exp(self.ring.mul(exponent, self.log(base)))
        return self.roots.rational_power(base, Number(int(number.p), int(number.q)))

    def abs(self, a: RationalFunction) -> RationalFunction:
        if a.num.is_zero():
            return a
        _, positive, rest = self.factoring.parts(a)
        found = self.ring.one
        for factor, times in positive:
            found = self.ring.mul(found, self.ring.power(factor, times))
        conjugate = self.kernels.conjugate(rest)
        if conjugate is not None and any(self.kernels.kernels[k].turning for k in self.ring.involved(*rest)):
            return self.ring.mul(found, self.roots.rational_power(self.ring.mul(rest, conjugate), Number(1, 2)))
        for poly, way in ((rest.num, 1), (rest.den, -1)):
            content, factors = factor_polynomial(poly)
            found = self.ring.mul(found, self.ring.power(self.ring.number(abs(fmpq(content))), way))
            for factor, times in factors:
                size = self.factoring.abs_kernel(RationalFunction(factor, self.ring.one_poly))
                found = self.ring.mul(found, self.ring.power(size, times * way))
        return found

    def log(self, a: RationalFunction) -> RationalFunction:
        negative, positive, rest = self.factoring.parts(a)
        found = self.ring.zero
        for factor, times in positive:
            found = self.ring.add(found, self.ring.mul(self.ring.number(times), self._log_positive(factor)))
        if rest != self.ring.one:
            return self.ring.add(found, self._log_rest(self.ring.neg(rest) if negative else rest))
        if negative:
            found = self.ring.add(found, self.ring.mul(self.kernels.i, self.kernels.pi))
        return found

    def _log_positive(self, f: RationalFunction) -> RationalFunction:
        single = self.factoring.single(f)
        kernel = None if single is None else self.kernels.kernels[single]
        if kernel is not None and kernel.exponent is not None:
            return kernel.exponent
        if kernel is not None and kernel.power_of is not None and kernel.power_of[0].den.is_one():
            base, degree = kernel.power_of
            return self.ring.mul(self.ring.number(fmpq(1, degree)), self._log_positive(base))
        constant = self.ring.constant(f)
        strict = self.kernels.sign(f) == 2
        sign = 2 if constant is not None and constant > 1 else None
        return self._log_kernel(f, real=True, sign=sign, analytic=strict and self.kernels.is_smooth(f))

    def _log_rest(self, rest: RationalFunction) -> RationalFunction:
        turns = self.factoring.turns(rest)
        if turns is not None:
            angle = self.ring.mul(self.ring.number(fmpq(2 * turns.numerator, turns.denominator)), self.kernels.pi)
            return self.ring.mul(self.kernels.i, angle)
        single = self.factoring.single_power(rest)
        if single is not None:
            kernel = self.kernels.kernels[single[0]]
            if kernel.power_of is not None and kernel.power_of[0].den.is_one():
                base, degree = kernel.power_of
                return self.ring.mul(self.ring.number(fmpq(single[1], degree)), self._log_rest(base))
        analytic = self.kernels.is_constant(*rest) or (self.region.is_real and self._off_cut(rest))
        return self._log_kernel(rest, analytic=analytic and self.kernels.is_smooth(rest))

    def _off_cut(self, a: RationalFunction) -> bool:
        """Whether a value is never real and at most 0."""
        conjugate = self.kernels.conjugate(a)
        if conjugate is None:
            return False
        real, imaginary = self.ring.add(a, conjugate), self.ring.mul(self.kernels.i, self.ring.sub(a, conjugate))
        return self.kernels.sign(real) == 2 or self.kernels.sign(imaginary) in (2, -2)

    def _log_kernel(self, f: RationalFunction, **known: Any) -> RationalFunction:
        def value(values: Sequence[Any]) -> Any:
            return self.kernels.ball(f, values).log()

        varying = not self.kernels.is_constant(*f)
        return self.kernels.new(f"log {f.num}/{f.den}", value, varying=varying, log_of=f, **known)

    def exp(self, a: RationalFunction) -> RationalFunction:
        """The product of the exponentials of the terms."""
        den = a.den
        if self.kernels.turn in self.ring.involved(den):
            conjugate = self.kernels.conjugate(RationalFunction(den, self.ring.one_poly))
            if conjugate is None:
                raise TooLarge
            over = self.ring.mul(RationalFunction(a.num, self.ring.one_poly), conjugate)
            a = self.ring.div(over, self.ring.mul(RationalFunction(den, self.ring.one_poly), conjugate))
            den = a.den
            if self.kernels.turn in self.ring.involved(den):
                raise TooLarge
        found = self.ring.one
        for monomial, coefficient in zip(a.num.monoms(), a.num.coeffs(), strict=True):
            exponents = list(map(int, monomial))
            turn, exponents[self.kernels.turn] = exponents[self.kernels.turn], 0
            term = self.ring.context.from_dict({tuple(exponents): 1})
            number = Number(int(coefficient.p), int(coefficient.q))
            found = self.ring.mul(found, self._exp_term(term, den, turn, number))
        return found

    def _exp_term(self, term: Poly, den: Poly, turn: int, number: Number) -> RationalFunction:
        """exp(number * term/den * (a power of the root of unity))."""
        kernels = self.kernels
        imaginary = turn == kernels.turn_order // 4
        single = self.factoring.single(RationalFunction(term, den))
        if single is not None and imaginary and RationalFunction(term, den) == kernels.pi:
            return self.factoring.turned(number / 2)
        if single is not None and not turn and (base := kernels.kernels[single].log_of) is not None:
            return self.roots.rational_power(base, number)
        exponent = self.ring.fraction(term, den)
        real = kernels.is_real(exponent)
        key = f"exp {turn} of {kernels.turn_order if turn and not imaginary else 'i'} {exponent.num}/{exponent.den}"
        if imaginary:
            key = f"exp i {exponent.num}/{exponent.den}"
        unit = kernels.units.ask(key, number.denominator)
        whole = self.ring.mul(exponent, self.ring.number(fmpq(1, unit)), self.ring.of(kernels.turn, turn))

        def value(values: Sequence[Any]) -> Any:
            return kernels.ball(whole, values).exp()

        known: dict[str, Any] = {}
        if real and not turn:
            known = {"real": True, "sign": 2, "exponent": whole, "unit": (key, unit)}
        elif real and imaginary:
            known = {"turning": True}
        analytic = kernels.is_smooth(exponent)
        varying = not kernels.is_constant(*exponent)
        root = kernels.new(key, value, varying=varying, analytic=analytic, **known)
        return self.ring.power(root, int(number * unit))
