"""Trees are translated into rational functions of kernels: of variables, roots, exponentials and logarithms.

``Translator`` goes through a tree; ``Functions`` has the values of functions in a region, ``Roots`` their rational
powers, and ``Factoring`` takes values apart into what is sure to be positive, roots of unity and the rest.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from flint import acb, fmpq, fmpz

from dgltree.equations.expressions.definitions import X, expression
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.identities.field_extension import LARGEST_PRIME, MOST_TURNS, FieldExtension
from dgltree.equations.truth.identities.rational_functions import NoValue, Poly, RationalFunction, Relation, TooLarge
from dgltree.read.functions import BY_NAME
from dgltree.trees.tree import Tree

MOST_FACTORED = 60
"""Terms of a polynomial, beyond which it is not factored."""

_UNIT = Tree("Symbol", token="i")
"""The imaginary unit in the table of functions."""


class Translator:
    """Makes values of trees.

    Raises ``TooLarge`` and ``NoValue`` as the ring does, and ``Again`` for another unit.
    """

    def __init__(self, kernels: FieldExtension) -> None:
        self.kernels = kernels
        self.ring = kernels.ring
        self.functions = Functions(kernels)
        self._known: dict[Tree, RationalFunction] = {}

    def of(self, tree: Tree) -> RationalFunction:
        return self._of(tree, self._known)

    def _of(self, tree: Tree, known: dict[Tree, RationalFunction]) -> RationalFunction:
        for node in tree.distinct():
            if node not in known:
                known[node] = self._value(node, [known[child] for child in node.children])
        return known[tree]

    def _value(self, node: Tree, below: list[RationalFunction]) -> RationalFunction:
        name = node.function
        if not below:
            return self._leaf(node)
        if name == "Add":
            total = below[0]
            for term in below[1:]:
                total = self.ring.add(total, term)
            return total
        if name == "Mul":
            return self.ring.mul(*below)
        if name == "Pow" and len(below) == 2:
            return self.functions.power(*below)
        if name == "log" and len(below) <= 2:
            logs = [self.functions.log(one) for one in below]
            return self.ring.div(*logs) if len(logs) == 2 else logs[0]
        record = BY_NAME.get(name)
        text = "" if record is None or len(below) != 1 else record.exponential or record.definition
        if name in ("exp", "abs") and len(below) == 1:
            return self.functions.exp(below[0]) if name == "exp" else self.functions.abs(below[0])
        if not text:
            raise TooLarge
        return self._of(expression(text), {X: below[0], _UNIT: self.kernels.i})

    def _leaf(self, leaf: Tree) -> RationalFunction:
        if leaf.function == "Symbol" and leaf.token in self.kernels.variables:
            return self.kernels.variables[leaf.token]
        if leaf.function == "Pi":
            return self.kernels.pi
        if leaf.function == "Exp1":
            return self.functions.exp(self.ring.one)
        number = exact(leaf)
        if number is None:
            raise TooLarge
        return self.ring.number(fmpq(number.numerator, number.denominator))


class Functions:
    """The values of functions in a region."""

    def __init__(self, kernels: FieldExtension) -> None:
        self.kernels = kernels
        self.ring = kernels.ring
        self.region = kernels.region
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
        return self.roots.rational_power(base, Fraction(int(number.p), int(number.q)))

    def abs(self, a: RationalFunction) -> RationalFunction:
        if a.num.is_zero():
            return a
        _, positive, rest = self.factoring.parts(a)
        found = self.ring.one
        for factor, times in positive:
            found = self.ring.mul(found, self.ring.power(factor, times))
        conjugate = self.kernels.conjugate(rest)
        if conjugate is not None and any(self.kernels.kernels[k].turning for k in self.ring.involved(*rest)):
            return self.ring.mul(found, self.roots.rational_power(self.ring.mul(rest, conjugate), Fraction(1, 2)))
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
        real = self.ring.add(a, conjugate)
        imaginary = self.ring.mul(self.kernels.i, self.ring.sub(a, conjugate))
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
            turn = exponents[self.kernels.turn]
            exponents[self.kernels.turn] = 0
            term = self.ring.context.from_dict({tuple(exponents): 1})
            number = Fraction(int(coefficient.p), int(coefficient.q))
            found = self.ring.mul(found, self._exp_term(term, den, turn, number))
        return found

    def _exp_term(self, term: Poly, den: Poly, turn: int, number: Fraction) -> RationalFunction:
        """Return exp(number * term/den * (a power of the root of unity))."""
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


class Roots:
    """Takes roots of values, in a region."""

    def __init__(self, factoring: "Factoring") -> None:
        self.factoring = factoring
        self.kernels = factoring.kernels
        self.ring = factoring.ring
        self.region = factoring.region

    def rational_power(self, base: RationalFunction, exponent: Fraction) -> RationalFunction:
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

    def _positive_power(self, base: RationalFunction, exponent: Fraction) -> RationalFunction:
        if exponent.denominator == 1:
            return self.ring.power(base, exponent.numerator)
        single = self.factoring.single(base)
        if single is not None and (unit := self.kernels.kernels[single].unit) is not None:
            self.kernels.units.ask(unit[0], unit[1] * exponent.denominator)  # raises Again
        strict = self.kernels.sign(base) == 2
        return self._root(base, exponent, real=True, sign=2 if strict else 1, analytic=strict)

    def _root(self, base: RationalFunction, exponent: Fraction, **known: Any) -> RationalFunction:
        """Return a power of the kernel ``den * base^(1/unit)``, whose power ``unit`` is a polynomial."""
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

    def _odd_root(self, base: RationalFunction, exponent: Fraction) -> RationalFunction:
        """Return the real root of what is real: the product of those of its factors."""
        found = self.ring.one
        negative = False
        for poly, way in ((base.num, 1), (base.den, -1)):
            content, factors = factor_polynomial(poly)
            negative ^= content < 0
            for prime, times in self.factoring.primes(abs(fmpq(content))):
                found = self.ring.mul(found, self._positive_power(prime, exponent * times * way))
            for factor, times in factors:
                f = RationalFunction(factor, self.ring.one_poly)
                power = exponent * times * way
                sign = self.kernels.sign(f)
                if sign:
                    f, negative = (f, negative) if sign > 0 else (self.ring.neg(f), negative ^ (times % 2 == 1))
                    found = self.ring.mul(found, self._positive_power(f, power))
                elif power.denominator == 1 or self.kernels.is_real(f):
                    found = self.ring.mul(found, self._real_root(f, power))
                else:
                    raise TooLarge  # factors of what is real, such as sin(x), may have no real root
        return self.ring.neg(found) if negative and exponent.numerator % 2 else found

    def _real_root(self, base: RationalFunction, exponent: Fraction) -> RationalFunction:
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

    def _rest_power(self, base: RationalFunction, exponent: Fraction) -> RationalFunction:
        turns = self.factoring.turns(base)
        if turns is not None:
            return self.factoring.turned(turns * exponent)
        single = self.factoring.single_power(base)
        if single is not None:
            kernel = self.kernels.kernels[single[0]]
            if kernel.power_of is not None and kernel.power_of[0].den.is_one():
                return self._rest_power(kernel.power_of[0], exponent * single[1] / kernel.power_of[1])
        return self._root(base, exponent, analytic=self.kernels.is_constant(*base))


class Parts(NamedTuple):
    """A value as ``sign * product of positive^e * rest``."""

    negative: bool
    positive: list[tuple[RationalFunction, int]]
    rest: RationalFunction


class Factoring:
    """Takes values apart, in the region of their kernels."""

    def __init__(self, kernels: FieldExtension) -> None:
        self.kernels = kernels
        self.ring = kernels.ring
        self.region = kernels.region

    def parts(self, a: RationalFunction) -> Parts:
        """The factors that are surely positive, or at least not negative, and the rest. Raises ``NoValue`` for 0."""
        if a.num.is_zero():
            raise NoValue
        negative = False
        positive = []
        rest = self.ring.one
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
            negative = not negative
            constant = -constant
        return Parts(negative, self.primes(constant) + positive, rest)

    def _sure(
        self, f: RationalFunction, exponent: int
    ) -> tuple[list[tuple[RationalFunction, int]], RationalFunction, bool]:
        """Return of a factor the positive ones, the rest, and whether the sign changes."""
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
        """Return |f| as a generator, of what is real or not."""
        real = self.region.is_real and self.kernels.is_real(f)

        def value(values: Sequence[Any]) -> Any:
            return acb(abs(self.kernels.ball(f, values)))

        before = self.ring.used
        varying = not self.kernels.is_constant(*f)
        found = self.kernels.new(f"abs {f.num}/{f.den}", value, real=True, sign=1, varying=varying, analytic=False)
        if self.ring.used > before and real and f.den.is_one():
            self.ring.relations.append(Relation(before, 2, self.ring.reduce(f.num * f.num)))
        return found

    def turned(self, turns: Fraction) -> RationalFunction:
        """Return exp(2 pi i turns)."""
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

    def turns(self, a: RationalFunction) -> Fraction | None:
        """Return the angle of a root of unity that is one power of the generator, from -1/2 to 1/2 turns."""
        power = self.single_power(a)
        sign = Fraction(0)
        if power is None:
            power = self.single_power(self.ring.neg(a))
            sign = Fraction(1, 2)
        if power is None or power[0] != self.kernels.turn:
            return None
        turns = (Fraction(power[1], self.kernels.turn_order) + sign) % 1
        return turns - 1 if turns > Fraction(1, 2) else turns


def factor_polynomial(poly: Poly) -> tuple[Any, list[tuple[Poly, int]]]:
    """A number and irreducible factors with their exponents; a long polynomial is left as one factor."""
    if len(poly) > MOST_FACTORED:
        lead = poly.leading_coefficient()
        return lead, [(poly / lead, 1)]
    content, factors = poly.factor()
    return content, [(factor, int(exponent)) for factor, exponent in factors]
