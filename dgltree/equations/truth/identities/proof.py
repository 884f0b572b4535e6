"""Proofs that the difference of two sides is 0 in a region."""

from collections.abc import Sequence
from math import lcm
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.identities.field_extension import Again, FieldExtension, Units
from dgltree.equations.truth.identities.rational_functions import NoValue, Poly, RationalFunction, Region, TooLarge
from dgltree.equations.truth.identities.translation import Translator
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

ROUNDS = 12
"""Translations with ever smaller units, at most."""
BITS = 400
LARGEST_POWER = 10**5
"""An exponent beyond which a power of a number is not worked out."""
MOST_NORMED = 60
"""Terms of a polynomial of which a norm is taken."""
LARGEST_ROOT = 4
"""Degree of a root that is eliminated."""


class ReducedDifference(NamedTuple):
    """Left less right."""

    kernels: FieldExtension
    value: RationalFunction
    translation: Translator


def prove(equation: Equation, names: Sequence[str], region: Region) -> bool:
    """Whether the sides are proved to be equal in a region, wherever both have a value.

    Raises ``NoValue`` if one of them has none anywhere.
    """
    units = Units()
    for _ in range(ROUNDS):
        try:
            return is_zero(difference(equation, names, region, units))
        except Again:
            continue
        except TooLarge:
            return False
    return False


def gap(equation: Equation) -> int | None:
    """The sign of left less right, of constants that are real; None if it is open.

    Powers that are too large to be worked out are letters: a - (a + 1) is -1 whatever a is.
    """
    equation, names = _with_letters(equation)
    units = Units()
    for _ in range(ROUNDS):
        try:
            found = difference(equation, names, Region("real"), units)
            if is_zero(found):
                return 0
            sign = found.kernels.sign(found.value)
            return sign // 2 if sign in (2, -2) and (not names or found.kernels.is_constant(*found.value)) else None
        except Again:
            continue
        except (TooLarge, NoValue, ArithmeticError, OverflowError):
            return None
    return None


def _with_letters(equation: Equation) -> tuple[Equation, list[str]]:
    large = [node for side in equation for node in side.distinct() if _is_large_power(node)]
    letters = {node: Tree("Symbol", token=f"large_{k}") for k, node in enumerate(dict.fromkeys(large))}

    def replaced(node: Tree, parts: list[Tree]) -> Tree:
        return letters.get(node) or node.replace(children=parts)

    return Equation(*(side.fold(replaced) for side in equation)), [letter.token or "" for letter in letters.values()]


def _is_large_power(node: Tree) -> bool:
    if node.function != "Pow":
        return False
    exponent = exact_value(node.children[1])
    return bool(node.children[1].children) if exponent is None else abs(exponent) > LARGEST_POWER


def difference(equation: Equation, names: Sequence[str], region: Region, units: Units) -> ReducedDifference:
    """Translate both sides. Raises ``TooLarge``, ``NoValue`` and ``Again``."""
    try:
        translation = Translator(FieldExtension(names, region, units))
        left, right = map(translation.of, equation)
        return ReducedDifference(translation.kernels, translation.ring.sub(left, right), translation)
    except (ArithmeticError, OverflowError) as error:
        raise TooLarge from error


def is_zero(found: ReducedDifference) -> bool:
    """Whether a difference is proved to be 0. Raises ``Again``."""
    num = found.value.num
    if num.is_zero():
        return True
    try:
        return _by_norm(found.kernels, num) or _by_exponential(found)
    except (TooLarge, NoValue, ArithmeticError, OverflowError):
        return False


def sample(kernels: FieldExtension) -> list[Any]:
    """Values of the variables' generators inside the region."""
    region = kernels.region
    count = len(kernels.variables)
    if region.kind == "complex":
        return [acb(fmpq(5 + 2 * k, 7), fmpq(3 + k, 11)) for k in range(count)]
    return [acb(fmpq(7 + 3 * k, 5 + k)) for k in range(count)]


def _by_norm(kernels: FieldExtension, poly: Poly) -> bool:
    """Roots are eliminated: a product over all values of a root is 0, and all other factors than ours are not.

    Of functions that are analytic in a connected region, one factor of a product that is 0 is 0 itself.
    """
    if not kernels.is_analytic(poly) or not (kernels.region.connected or kernels.is_constant(poly)):
        return False
    norm = remove_roots(kernels, poly)
    if norm is None or not norm.poly.is_zero():
        return False
    with ctx.workprec(BITS):
        return norm.is_ours(kernels, kernels.values(sample(kernels)))


class Norm(NamedTuple):
    """A polynomial without roots, and those that it was made from: its zeros have the zeros of the first."""

    poly: Poly
    chain: list[tuple[Poly, int, int]]
    """(polynomial, generator that was eliminated, degree of the root)"""

    def is_ours(self, kernels: FieldExtension, values: list[Any]) -> bool:
        """Whether a zero of the norm is one of the first polynomial, because no other factor is 0 there."""
        return all(_others_differ(kernels, *link, values) for link in self.chain)


def remove_roots(kernels: FieldExtension, poly: Poly) -> Norm | None:
    """Return the norm of a polynomial, without the roots in it; None if that is too much work."""
    ring = kernels.ring
    relations = {r.generator: r for r in ring.relations if r.generator != kernels.turn}
    chain: list[tuple[Poly, int, int]] = []
    while not poly.is_zero():
        there = [k for k in ring.involved(poly) if k in relations]
        if not there:
            return Norm(poly, chain)
        generator, degree, rest = relations[there[-1]]
        if degree > LARGEST_ROOT or len(poly) > MOST_NORMED or len(chain) == LARGEST_ROOT:
            return None
        chain.append((poly, generator, degree))
        poly = ring.reduce(poly.resultant(ring.generators[generator] ** degree - rest, generator))
    return Norm(poly, chain)


def _others_differ(kernels: FieldExtension, poly: Poly, generator: int, degree: int, values: list[Any]) -> bool:
    turn = (acb(0, 2) * arb.pi() / degree).exp()
    for k in range(1, degree):
        changed = list(values)
        changed[generator] = values[generator] * turn**k
        if kernels.evaluated(poly, changed).contains(0):
            return False
    return True


def _by_exponential(found: ReducedDifference) -> bool:
    """A difference of logarithms: exp(k * difference) is 1 everywhere, and the difference is near 0 at one point."""
    kernels = found.kernels
    value = found.value
    ring = kernels.ring
    logs = [k for k in ring.involved(value.num) if kernels.kernels[k].log_of is not None]
    constant = kernels.is_constant(*value)
    if not logs or not value.den.is_constant() or not (constant or kernels.region.connected):
        return False
    if not constant and not kernels.is_analytic(value.num):
        return False
    times = lcm(*(int(c.q) for c in value.num.coeffs()))
    if times > 60:
        return False
    if not any(_is_one(found, ring.mul(ring.number(times), factor, value)) for factor in (ring.one, kernels.i)):
        return False
    with ctx.workprec(BITS):
        near = kernels.ball(value, kernels.values(sample(kernels)))
        return bool(near.contains(0) and abs(near) < fmpq(1, times))


def _is_one(found: ReducedDifference, exponent: RationalFunction) -> bool:
    """Whether an exponential is 1 in the whole region."""
    ring = found.kernels.ring
    less = ring.sub(found.translation.functions.exp(exponent), ring.one)
    return bool(less.num.is_zero()) or _by_norm(found.kernels, less.num)
