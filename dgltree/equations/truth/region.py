"""Which values the variables take while something is proved, and the signs that follow from that."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq, fmpz_poly

from dgltree.equations.truth.balls import whole

REFINED = 640
"""Bits to which roots of polynomials are known."""
SAMPLES = 4
LARGEST_DEGREE = 60
LONGEST = 2000
"""Bits of a coefficient."""


class Root(NamedTuple):
    """A real root of an irreducible polynomial with whole coefficients."""

    value: Any
    """``arb``"""
    coefficients: tuple[int, ...]
    place: int
    """Among the real roots of the polynomial, from 0."""

    @property
    def rational(self) -> fmpq | None:
        if len(self.coefficients) > 2:
            return None
        return fmpq(-self.coefficients[0], self.coefficients[1])


class Split(Exception):  # noqa: N818 - no error: a cell has to be cut
    """A cell in which a sign changes."""

    def __init__(self, roots: list[Root]) -> None:
        super().__init__()
        self.roots = roots


class Region(NamedTuple):
    """Of the variables.

    In a cell of the line the variable is ``side * t^n`` for a ``t`` from ``low`` to ``high``, both at least 0.
    """

    kind: str
    """``complex``, ``real``, ``positive`` or ``cell``"""
    school: bool = True
    """Whether odd roots of negative numbers are real."""
    side: int = 1
    low: Root | None = None
    """None: 0"""
    high: Root | None = None
    """None: without end"""

    @property
    def is_real(self) -> bool:
        return self.kind != "complex"

    @property
    def connected(self) -> bool:
        """Whether functions that are analytic in the region, and whose product is 0, are 0 themselves, one of them."""
        return self.kind in ("positive", "cell", "complex")

    def sample(self) -> fmpq:
        """A value of ``t`` in a cell."""
        with ctx.workprec(REFINED):
            return between(self.low, self.high)

    def samples(self) -> Iterator[fmpq]:
        """Ever larger values of ``t`` in a cell."""
        found = self.sample()
        for turn in range(SAMPLES):
            yield found
            with ctx.workprec(REFINED):
                found = found + turn + fmpq(9, 4) if self.high is None else simplest(arb(found), self.high.value)

    def sign_of(self, poly: fmpz_poly) -> int:
        """The sign of a polynomial of ``t`` in a cell. Raises ``Split`` if it changes."""
        inside = [root for root in positive_roots(poly) if self.holds(root)]
        if inside:
            raise Split(inside)
        value = _evaluated(poly, self.sample())
        return 1 if value > 0 else -1

    def holds(self, root: Root) -> bool:
        """Whether a root is inside the cell."""
        above = self.low is None or (not _same(root, self.low) and bool(root.value > self.low.value))
        below = self.high is None or (not _same(root, self.high) and bool(root.value < self.high.value))
        return above and below


def between(low: Root | None, high: Root | None) -> fmpq:
    """A short rational number between two roots."""
    a: Any = arb(0) if low is None else low.value
    if high is None:
        return fmpq(_floor(a.upper()) + 1)
    return simplest(a, high.value)


def simplest(low: Any, high: Any) -> fmpq:
    """A number with a small denominator that is surely between two balls."""
    for power in range(REFINED):
        scale = 2**power
        middle = _floor(((low + high) / 2 * scale).mid())
        for candidate in (fmpq(middle, scale), fmpq(middle + 1, scale)):
            if low < candidate < high:
                return candidate
    raise ArithmeticError("no number between two roots")


def _floor(value: Any) -> int:
    """The integer below a number without a radius; ``ArithmeticError`` for one that is too large."""
    found = whole(value.floor())
    if found is None:
        raise ArithmeticError("a number that is too large")
    return found


def positive_roots(poly: fmpz_poly) -> list[Root]:
    """The real roots above 0 of a polynomial of whole coefficients, in order."""
    if poly.degree() > LARGEST_DEGREE or any(int(c).bit_length() > LONGEST for c in poly.coeffs()):
        raise ArithmeticError("a polynomial of too high a degree")
    found = []
    with ctx.workprec(REFINED):
        factors: Any = poly.factor()[1]
        for factor, _ in factors:
            coefficients = tuple(int(c) for c in factor.coeffs())
            if len(coefficients) == 2:
                roots = [arb(fmpq(-coefficients[0], coefficients[1]))]
            elif len(coefficients) > 2:
                roots = [root.real for root, _ in factor.complex_roots() if root.imag.is_zero()]
            else:
                continue
            for index, value in enumerate(sorted(roots, key=float)):
                if value > 0:
                    found.append(Root(value, coefficients, index))
    return sorted(found, key=lambda root: float(root.value))


def _same(a: Root, b: Root) -> bool:
    return (a.coefficients, a.place) == (b.coefficients, b.place)


def _evaluated(poly: fmpz_poly, at: fmpq) -> fmpq:
    value = fmpq(0)
    for coefficient in reversed(poly.coeffs()):
        value = value * at + coefficient
    return value
