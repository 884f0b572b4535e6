"""Generators for what is not a rational function: roots, exponentials, logarithms, absolute values.

Every rule here is true wherever the region's variables are: a root to its power is its radicand, exp(a + b) is exp a
times exp b, a positive factor comes out of a root, an absolute value or a logarithm, and what follows from signs.
Sines and cosines are sums of exp(iz) and exp(-iz); inverse functions are logarithms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

from flint import acb, arb, ctx, fmpz_poly

from dgltree.equations.truth.identities.rational_functions import (
    Poly,
    RationalFunction,
    Region,
    Relation,
    Ring,
    TooLarge,
)

MOST_UNITS = 24
"""The least common denominator of exponents, at most."""
MOST_TURNS = 240
"""The order of a root of unity, at most."""
SIGN_BITS = 400
"""Bits of the ball that decides a sign; one that contains 0 decides none, whatever its bits."""
LARGEST_PRIME = 2**64
"""Numbers below it are split into their primes; a larger one counts as one prime."""


class Again(Exception):  # noqa: N818 - no error: a unit has become smaller
    """The translation has to begin again, with the units that are noted."""


class Units:
    """The denominators of exponents that an equation needs, by what they are exponents of."""

    def __init__(self) -> None:
        self._units: dict[str, int] = {}

    def of(self, key: str) -> int:
        return self._units.get(key, 1)

    def ask(self, key: str, denominator: int, most: int = MOST_UNITS) -> int:
        """The unit for a key, which the denominator divides. Raises ``Again`` if it was another."""
        unit = self.of(key)
        if unit % denominator == 0:
            return unit
        self._units[key] = lcm(unit, denominator)
        if self._units[key] > most:
            raise TooLarge
        raise Again


@dataclass
class Generator:
    """The known properties of a generator."""

    value: Callable[[Sequence[Any]], Any]
    """A function that computes the generator's value from those of the generators before it, as ``acb``."""
    real: bool = False
    sign: int | None = None
    """2 for positive, 1 for not negative, None if that is open."""
    turning: bool = False
    """Whether its complex conjugate is its inverse."""
    varying: bool = False
    """Whether it depends on a variable."""
    analytic: bool = True
    """Whether it is analytic in the region."""
    unit: tuple[str, int] | None = None
    """Key and denominator of its exponent, if a root of it is such a kernel again."""
    power_of: tuple[RationalFunction, int] | None = None
    """The radicand and the degree of a root."""
    exponent: RationalFunction | None = None
    """The exponent of an exponential, if that is its principal logarithm."""
    log_of: RationalFunction | None = None
    """The argument of a logarithm."""


class FieldExtension:
    """The generators of one proof.

    Args:
        names: of the variables.
        region: what values they have.
        units: of exponents; noted in it as they are met.
    """

    def __init__(self, names: Sequence[str], region: Region, units: Units) -> None:
        self.ring = Ring()
        self.region = region
        self.units = units
        self.kernels: list[Generator] = []
        self._made: dict[str, int] = {}
        self.variables: dict[str, RationalFunction] = {}
        for name in names:
            self._variable(name)
        self.turn_order = units.ask("turn", 4, MOST_TURNS) if units.of("turn") >= 4 else self._first_turns()
        self.turn = self._unity()
        self.i = self.ring.of(self.turn, self.turn_order // 4)
        self.pi = self.new("pi", lambda _: acb(arb.pi()), real=True, sign=2)

    def _first_turns(self) -> int:
        try:
            return self.units.ask("turn", 4, MOST_TURNS)
        except Again:
            return 4

    def new(self, key: str, value: Callable[[Sequence[Any]], Any], **known: Any) -> RationalFunction:
        """The generator for a key, made if it is new."""
        if key not in self._made:
            self._made[key] = self.ring.generator()
            self.kernels.append(Generator(value, **known))
        return self.ring.of(self._made[key])

    def _variable(self, name: str) -> None:
        """A positive variable is a power of its generator, so that its roots need no relation."""
        region = self.region
        key = f"variable {name}"
        positive = region.kind == "positive"
        unit = self.units.of(key) if positive else 1

        def value(_: Sequence[Any]) -> Any:
            raise AssertionError("a variable's value is given")

        known = {"sign": 2, "unit": (key, unit)} if positive else {}
        generator = self.new(key, value, real=region.is_real, varying=True, **known)
        self.variables[name] = self.ring.power(generator, unit)

    def _unity(self) -> int:
        order = self.turn_order
        self.new(f"turn {order}", lambda _: (acb(0, 2) * arb.pi() / order).exp(), turning=True)
        number = len(self.kernels) - 1
        lower = fmpz_poly.cyclotomic(order).coeffs()
        if len(lower) - 1 <= order // 4:
            raise TooLarge  # i would be no power of the generator
        generator = self.ring.generators[number]
        rest = self.ring.context.constant(0)
        for power, coefficient in enumerate(lower[:-1]):
            rest -= generator**power * int(coefficient)
        self.ring.relations.append(Relation(number, len(lower) - 1, rest))
        return number

    # values, conjugates, signs

    def values(self, at: Sequence[Any]) -> list[Any]:
        """Balls of all generators, computed from those of the variables."""
        found = list(at)
        for kernel in self.kernels[len(found) :]:
            found.append(kernel.value(found))
        return found

    def evaluated(self, poly: Poly, values: Sequence[Any]) -> Any:
        total = acb(0)
        for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):
            term = acb(coefficient)
            for generator, exponent in enumerate(monomial):
                if exponent:
                    term *= values[generator] ** int(exponent)
            total += term
        return total

    def ball(self, a: RationalFunction, values: Sequence[Any]) -> Any:
        return self.evaluated(a.num, values) / self.evaluated(a.den, values)

    def is_constant(self, *polys: Poly) -> bool:
        """Whether no variable is in it, not even inside a kernel."""
        return not any(self.kernels[k].varying for k in self.ring.involved(*polys))

    def is_analytic(self, *polys: Poly) -> bool:
        """Whether all that is in it is analytic in the region."""
        return all(self.kernels[k].analytic for k in self.ring.involved(*polys))

    def is_smooth(self, a: RationalFunction) -> bool:
        """Whether a fraction is analytic in the region, and has no pole there."""
        if not self.is_analytic(*a):
            return False
        if self.is_constant(a.den):
            return True
        below = RationalFunction(a.den, self.ring.one_poly)
        conjugate = self.conjugate(below)
        return conjugate is not None and self.sign(self.ring.mul(below, conjugate)) == 2

    def constant_ball(self, a: RationalFunction) -> Any:
        """The value of a constant."""
        return self.ball(a, self.values([acb(1)] * len(self.variables)))

    def conjugate(self, a: RationalFunction) -> RationalFunction | None:
        """The complex conjugate, None if it is not known."""
        turning = []
        for k in self.ring.involved(a.num, a.den):
            kernel = self.kernels[k]
            if kernel.turning:
                turning.append(k)
            elif not kernel.real:
                return None
        if not turning:
            return a
        return self.ring.div(self._turned(a.num, turning), self._turned(a.den, turning))

    def _turned(self, poly: Poly, turning: Sequence[int]) -> RationalFunction:
        degrees = poly.degrees()
        shift = {k: int(degrees[k]) for k in turning}
        terms = {}
        for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):
            terms[tuple(shift[k] - int(e) if k in shift else int(e) for k, e in enumerate(monomial))] = coefficient
        below = self.ring.one_poly
        for k, power in shift.items():
            below = below * self.ring.generators[k] ** power
        return self.ring.fraction(self.ring.context.from_dict(terms), below)

    def is_real(self, a: RationalFunction) -> bool:
        """Whether a value is real for sure."""
        conjugate = self.conjugate(a)
        return conjugate is not None and (conjugate == a or self.ring.sub(conjugate, a).num.is_zero())

    def sign(self, a: RationalFunction) -> int | None:
        """2 for positive, 1 for not negative, and the same below 0; 0 for zero; None if that is open."""
        signs = [self.poly_sign(part) for part in a]
        if None in signs:
            if self.is_constant(*a) and self.is_real(a):
                return self._ball_sign(a)
            return None
        top, bottom = signs
        assert top is not None and bottom is not None
        return 0 if not top else (1 if (top > 0) == (bottom > 0) else -1) * abs(top)

    def _ball_sign(self, a: RationalFunction) -> int | None:
        with ctx.workprec(SIGN_BITS):
            real = self.constant_ball(a).real
        if real > 0:
            return 2
        return -2 if real < 0 else None

    def poly_sign(self, poly: Poly) -> int | None:
        if poly.is_zero():
            return 0
        return self._by_terms(poly)

    def _by_terms(self, poly: Poly) -> int | None:
        """Where all terms have one sign."""
        found: set[int] = set()
        strict = False
        for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):
            sure = True
            for generator, exponent in enumerate(monomial):
                if not exponent:
                    continue
                kernel = self.kernels[generator]
                if not kernel.real or (kernel.sign is None and exponent % 2):
                    return None
                sure &= kernel.sign == 2
            found.add(1 if coefficient > 0 else -1)
            strict |= sure
        return found.pop() * (2 if strict else 1) if len(found) == 1 else None
