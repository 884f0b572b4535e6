"""Points and open cells of the real line, and the signs that an expression surely has there.

A sample shows no sign: a sign comes from exact roots of polynomials, from the structure, from balls around all values,
or from a derivative and a zero at an end.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from flint import arb, fmpq, fmpz_poly

from dgltree.equations.truth.proofs.enclosure import INFINITY, Range, around, enclosure, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    ANY,
    NEGATIVE,
    NONZERO,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    PI,
    POSITIVE,
    ZERO,
    Condition,
    Expression,
    Signs,
    Unsupported,
    X,
    at_number,
    derivative,
    domain,
    last_conditions,
    minus,
    negative,
    number,
    subexpressions,
)
from dgltree.equations.truth.proofs.fractions import MOST_SIGNS, Quotient, Refused, ValueRing, require, vanishes
from dgltree.equations.truth.proofs.work import spend
from dgltree.support.lazy import cached_property

BITS = 256
"""Bits of all balls of a proof. More bits decide more signs, and no ball decides a sign wrongly."""
HALVED = 120
"""Times that the bracket of a zero is halved."""
LARGEST_DEGREE = 80
"""Degree of a polynomial whose roots decide a sign; one of a higher degree is refused."""
SIGNS = 10
"""Units of work that the signs of an expression take, next to enclosures."""
MOST_TERMS = 16
"""Terms of a sum that is factored for its sign."""


class CutPoint:
    """A rational number, or the only zero of an expression between two rationals, which is shown here."""

    def __init__(self, ring: ValueRing, zero_of: Expression, low: Fraction, high: Fraction) -> None:
        self.expression = zero_of
        self.low, self.high = (fmpq(q.numerator, q.denominator) for q in (low, high))
        if low == high:
            require(zero_of == minus(X, number(low)), "an end that is another number")
            return
        require(self.low < self.high, "a bracket that ends before it begins")
        bracket = Range(arb(self.low).lower(), arb(self.high).upper(), False)
        inside = Place(ring, None, None, bracket)
        require(inside.defines(zero_of), "a zero of what may have no value")
        require(inside.defines(derivative(zero_of)), "a zero of what may have no slope")
        first = self._signs(self.low)
        last = self._signs(self.high)
        require(signs_by_balls(derivative(zero_of), bracket) in (POSITIVE, NEGATIVE), "a slope of either sign")
        require({first, last} == {POSITIVE, NEGATIVE}, "a bracket without a change of sign")
        for _ in range(HALVED):
            middle = (self.low + self.high) / 2
            there = self._signs(middle)
            if there not in (POSITIVE, NEGATIVE):
                break
            self.low, self.high = (middle, self.high) if there == first else (self.low, middle)

    @classmethod
    def at(cls, ring: ValueRing, q: Fraction) -> "CutPoint":
        return cls(ring, minus(X, number(q)), q, q)

    @property
    def rational(self) -> fmpq | None:
        return self.low if self.low == self.high else None

    def _signs(self, q: fmpq) -> Signs:
        return values_at(self.expression, q).signs


class Place:
    """An open cell between two ends, or the point that is both; with signs that are assumed."""

    def __init__(self, ring: ValueRing, low: CutPoint | None, high: CutPoint | None, hull: Range | None = None) -> None:
        self.ring = ring
        self.low = low
        self.high = high
        self.is_point = low is high is not None
        if hull is None:
            a = arb(low.low).lower() if low else -INFINITY
            b = arb(high.high).upper() if high else INFINITY
            beyond = a > 0 or b < 0 or (not self.is_point and (a == 0 or b == 0))
            hull = Range(a, b, bool(beyond))
        self.hull = hull
        self.assumed: tuple[tuple[Quotient, Signs], ...] = ()
        self.uses_ends = True
        self._seen: dict[Expression, Signs] = {}
        self._plain_places: dict[tuple[CutPoint | None, CutPoint | None], Place] = {}

    @cached_property
    def rational(self) -> Fraction | None:
        """The number that a point is, if it is rational."""
        q = self.low.rational if self.is_point and self.low is not None else None
        return None if q is None else to_fraction(q)

    def assuming(self, conditions: tuple[Condition, ...]) -> "Place":
        """Return the place, in which these conditions are assumed to hold."""
        if not conditions:
            return self
        require(all(self.signs(t) & signs for t, signs in conditions), "conditions that contradict the signs")
        other = self._copy()
        other.assumed = self.assumed + tuple((self.ring.quotient(t), s) for t, s in conditions)
        return other

    def _copy(self) -> "Place":
        other = Place(self.ring, self.low, self.high, self.hull)
        other.assumed = self.assumed
        other.uses_ends = self.uses_ends
        return other

    def defines(self, t: Expression) -> bool:
        """Whether it is shown that an expression has a real value."""
        return all(self.signs(u) <= s for u, s in domain(t))

    def denies(self, t: Expression, except_points: bool = True) -> bool:
        """Whether it is shown that an expression has no real value; with ``except_points``, but at isolated points."""
        return any(self._denies(u, except_points) for u in subexpressions(t))

    def _denies(self, t: Expression, except_points: bool) -> bool:
        if t[0] == "power":  # of 0 with a positive exponent, and of a negative number with a whole one, it has a value
            base = self.signs(t[1])
            if base == NEGATIVE:  # only where exponents vary are whole ones isolated
                return except_points and not self.is_point and self.exponent_varies(t)
            return base == ZERO and self.signs(t[2]) <= NOT_POSITIVE
        return any(not self.signs(u) & s for u, s in last_conditions(t))

    def exponent_varies(self, t: Expression) -> bool:
        """Whether the exponent of a power is shown not to be constant: a rational function of x, and not a number."""
        top, bottom = (self.ring.in_x(p) for p in self.ring.quotient(t[2]))
        return top is not None and bottom is not None and max(top.degree(), bottom.degree()) > 0

    def signs(self, t: Expression) -> Signs:
        """The signs that an expression may have where it has a value."""
        if t not in self._seen:
            self._seen[t] = self._signs(t if self.rational is None else at_number(t, self.rational))
        return self._seen[t]

    def _signs(self, t: Expression) -> Signs:
        spend(SIGNS)
        self.ring.signs += 1
        require(self.ring.signs <= MOST_SIGNS, "too many signs")
        there = ANY
        for way in self._ways(t):
            try:
                there &= way(t)
            except (Refused, Unsupported):
                continue
            require(there, "signs that contradict each other")
            if len(there) == 1:
                break
        return there

    def _ways(self, t: Expression) -> Iterator[Callable[[Expression], Signs]]:
        """Yield ways to the signs, from cheap to expensive.

        In a cell the isolated roots of a rational function of x say all that balls could.
        """
        yield from (self._by_assumptions, self._exact, self._by_parts)
        if self.assumed:
            yield self._by_ratio
        # A bracket is a hull without ends: exact roots are those of the whole line there, so balls may say more.
        is_cell = not self.is_point and (self.low or self.high or self.hull.low == -INFINITY)
        if not is_cell or any(self.ring.in_x(p) is None for p in self.ring.quotient(t)):
            yield from (self._by_balls, self._from_end, self._by_factors)

    def _by_balls(self, t: Expression) -> Signs:
        return signs_by_balls(t, self.hull)

    def _by_assumptions(self, t: Expression) -> Signs:
        there = ANY
        value = self.ring.quotient(t)
        for known, signs in self.assumed:
            if known == value:
                there &= signs
            elif 0 not in signs and not value.top.is_zero() and divmod(known.top, value.top)[1].is_zero():
                there &= NONZERO  # a factor of what is not 0
        return there

    def _by_ratio(self, t: Expression) -> Signs:
        """Return the signs of r*u, where the sign of u is assumed, and that of r is shown without assumptions."""
        there = ANY
        value = self.ring.quotient(t)
        if not self.assumed or value.top.is_zero():
            return there
        for known, signs in self.assumed:
            if known.top.is_zero() or signs == NONZERO:
                continue
            common = value.top.gcd(known.top)
            below = value.bottom.gcd(known.bottom)
            sign = 1
            for p in (value.top / common, known.top / common, known.bottom / below, value.bottom / below):
                alone = self._bare.signs(self.ring.expression(p))
                sign *= min(alone) if alone in (POSITIVE, NEGATIVE) else 0
            if sign:
                there &= frozenset(sign * s for s in signs)
        return there

    @cached_property
    def _bare(self) -> "Place":
        """Return the place without its assumptions."""
        other = Place(self.ring, self.low, self.high, self.hull)
        other.uses_ends = self.uses_ends
        return other

    def _by_parts(self, t: Expression) -> Signs:
        match t:
            case ("number", q):
                return frozenset({(q > 0) - (q < 0)})
            case ("exp", _) | ("pi",) | ("power", _, _):
                return POSITIVE
            case ("root", a, _):
                return self.signs(a)
            case ("^", a, n):
                if n % 2:
                    return self.signs(a)
                return frozenset(map(abs, self.signs(a))) if n else POSITIVE
            case ("abs", a):
                return frozenset(map(abs, self.signs(a)))
            case ("sqrt", a):
                return frozenset(max(s, 0) for s in self.signs(a))
            case ("*", a, b):
                if a == b:
                    return frozenset(map(abs, self.signs(a)))
                return frozenset(u * v for u in self.signs(a) for v in self.signs(b))
            case ("cos", ("atan", _)):
                return POSITIVE
            case ("cos", ("asin", _)) | ("sin", ("acos", _)):
                return NOT_NEGATIVE
            case ("cos", a):
                return self._of_half_turn(a, Fraction(-1, 2))
            case ("sin", a):
                return self._of_half_turn(a, Fraction(0))
            case ("+", (("exp" | "log" | "sqrt"), a), ("number", q)):
                return self._of_rising(t[1][0], a, -q) or self._of_sum(t[1], t[2])
            case ("+", a, b):
                return self._of_sum(a, b)
        return ANY

    def _by_factors(self, t: Expression) -> Signs:
        """Return the signs of a product that is written as a sum."""
        if t[0] != "+" or len(self.ring.quotient(t).top) > MOST_TERMS:
            return ANY
        content, factors = self.ring.factors(t)
        if len(factors) == 1 and factors[0][1] == 1:
            return ANY
        there = frozenset({(content > 0) - (content < 0)})
        for factor, n in factors:
            signs = self.signs(factor) if n % 2 else frozenset(map(abs, self.signs(factor)))
            there = frozenset(u * v for u in there for v in signs)
        return there

    def _of_half_turn(self, a: Expression, start: Fraction) -> Signs:
        """Return the signs of a sine or cosine, which is above 0 between two of its zeros."""
        if self.is_point:
            return ANY
        low, high = (("*", number(turn), PI) for turn in (start, start + 1))
        inside = self.signs(minus(a, low)) == POSITIVE and self.signs(minus(high, a)) == POSITIVE
        return POSITIVE if inside else ANY

    def _of_rising(self, name: str, a: Expression, q: Fraction) -> Signs:
        """Return the signs of f(a) - q with a rising f: of a less the number at which f is q; none if there is none."""
        match name:
            case "exp" if q > 0:
                return self.signs(minus(a, number(0) if q == 1 else ("log", number(q))))
            case "log":
                return self.signs(minus(a, number(1) if q == 0 else ("exp", number(q))))
            case "sqrt" if q >= 0:
                return self.signs(minus(a, number(q**2)))
        return frozenset()

    def _of_sum(self, a: Expression, b: Expression) -> Signs:
        """Return the signs of a sum: if those of the terms differ, the one with the larger square decides."""
        pairs = {(u, v) for u in self.signs(a) for v in self.signs(b)}
        there = {u or v for u, v in pairs if u * v >= 0}
        if not there >= ANY and pairs & {(1, -1), (-1, 1)}:
            first = _square(a)
            second = _square(b)
            if first is None or second is None:
                return ANY
            larger = self._exact(minus(first, second))
            there |= {way * s for way in (1, -1) if (way, -way) in pairs for s in larger}
        return frozenset(there)

    def _exact(self, t: Expression) -> Signs:
        """Return the signs of a rational function of x, by the isolated roots of numerator and denominator."""
        top, bottom = (self.ring.in_x(p) for p in self.ring.quotient(t))
        if top is None or bottom is None:
            return self._zero_at_point(t)
        return frozenset(u * v for u in self._of_polynomial(top) for v in self._of_polynomial(bottom))

    def _zero_at_point(self, t: Expression) -> Signs:
        """Return the sign 0 at a point that is a zero of one of its factors, if the expression has a value there."""
        return ZERO if self.is_point and self.low is not None and self._has_factor(t, self.low) else ANY

    def _has_factor(self, t: Expression, end: CutPoint) -> bool:
        top = self.ring.quotient(t).top
        factor = self.ring.quotient(end.expression).top
        return not top.is_zero() and vanishes(top, [factor])

    def _of_polynomial(self, p: fmpz_poly) -> Signs:
        if p.degree() <= 0:
            return frozenset({(p[0] > 0) - (p[0] < 0)})
        require(p.degree() < LARGEST_DEGREE, "a polynomial of a high degree")
        low = self.low
        high = self.high
        if low is not None and low is high:
            return ZERO if self._is_root(p, low) else _signs_of(p(arb(low.low).union(arb(low.high))))
        for root in _possible_roots(p):
            require(root.imag.is_zero(), "a root that may be real")
            if not self._outside(p, root.real):
                return ANY
        return _signs_of(p(arb(self._middle())))

    def _outside(self, p: fmpz_poly, root: Any) -> bool:
        for end, beyond in ((self.low, lambda e: root < e.low), (self.high, lambda e: root > e.high)):
            if end is not None and (beyond(end) or (root.overlaps(_bracket(end)) and self._is_root(p, end))):
                return True
        return False

    def _is_root(self, p: fmpz_poly, end: CutPoint) -> bool:
        """Whether an end is a root of p, and the only one in its bracket."""
        own = self.ring.in_x(self.ring.quotient(end.expression).top)
        if own is None:
            return False
        near = []
        for q in (own, p.gcd(own), p):
            near.append([r for r in _possible_roots(q) if r.real.overlaps(_bracket(end))])
        return [len(roots) for roots in near] == [1, 1, 1]

    def _middle(self) -> fmpq:
        if self.low is None or self.high is None:
            if self.low:
                return self.low.high + 1
            return self.high.low - 1 if self.high else fmpq(0)
        return (self.low.high + self.high.low) / 2

    def _from_end(self, t: Expression) -> Signs:
        """Return the sign of what is 0 at an end of the cell, and rises or falls all over it.

        Across a pole that would be false, so the expression and its slope must have values.
        """
        if self.is_point or not self.uses_ends:
            return ANY
        inside = self._plain(self.low, self.high)
        both = ((self.low, 1), (self.high, -1))
        ends = [(end, way) for end, way in both if end is not None and self._is_zero_at(t, end)]
        t = inside.without_corners(t) if ends else t
        if len(ends) == 2:  # above 0 if it is concave, and below 0 if it is convex
            parts = (t, derivative(t), derivative(derivative(t)))
            bend = signs_by_balls(parts[2], self.hull)
            return frozenset({-min(bend)}) if bend in (POSITIVE, NEGATIVE) and all(map(inside.defines, parts)) else ANY
        for _, way in ends:
            slope = signs_by_balls(derivative(t), self.hull)
            slope = slope if slope in (POSITIVE, NEGATIVE) else inside.signs(derivative(t))
            if slope in (POSITIVE, NEGATIVE) and inside.defines(t) and inside.defines(derivative(t)):
                return frozenset({way * min(slope)})
        return ANY

    def without_corners(self, t: Expression) -> Expression:
        """Return ``t`` as it is in the cell, with a or -a for an absolute value whose sign is clear."""
        if len(t) == 1 or t[0] == "number":
            return t
        t = (t[0], *(self.without_corners(part) if isinstance(part, tuple) else part for part in t[1:]))
        signs = self.signs(t[1]) if t[0] == "abs" else ANY
        if signs <= NOT_NEGATIVE:
            return t[1]
        return negative(t[1]) if signs == NEGATIVE else t

    def _is_zero_at(self, t: Expression, end: CutPoint) -> bool:
        """Whether an expression has a value at an end of the cell, and that is 0."""
        exactly = end.rational is not None and values_at(t, end.rational).signs == ZERO
        return (exactly or self._has_factor(t, end)) and self._plain(end, end).defines(t)

    def _plain(self, low: CutPoint | None, high: CutPoint | None) -> "Place":
        """Return a place without this rule, which would ask for itself."""
        if (low, high) not in self._plain_places:
            self._plain_places[low, high] = Place(self.ring, low, high)
            self._plain_places[low, high].uses_ends = False
        return self._plain_places[low, high]

    def has_isolated_zeros(self, t: Expression) -> bool:
        """Whether a numerator of t is analytic in the whole cell, and not 0 at one point: its zeros are isolated."""
        top = self.ring.expression(self.ring.quotient(t).top)
        if self.is_point or not self._is_analytic(top):
            return False
        return any(values_at(top, q).signs in (POSITIVE, NEGATIVE) for q in self._samples())

    def _samples(self) -> list[fmpq]:
        middle = self._middle()
        if self.low is None or self.high is None:
            way = -1 if self.low is None and self.high is not None else 1
            return [middle, middle + way * fmpq(1, 3), middle + way * fmpq(12, 7)]
        return [middle, middle + (self.high.low - middle) * fmpq(1, 3), middle + (self.high.low - middle) * fmpq(5, 7)]

    def _is_analytic(self, t: Expression) -> bool:
        bends = [u[1] for u in subexpressions(t) if u[0] in ("abs", "sqrt", "root")]
        bends += [
            edge
            for u in subexpressions(t)
            if u[0] in ("asin", "acos")
            for edge in (("+", u[1], number(1)), minus(number(1), u[1]))
        ]
        return self.defines(t) and all(self.signs(u) <= NONZERO for u in bends)


def to_fraction(q: fmpq) -> Fraction:
    return Fraction(int(q.p), int(q.q))


def to_fmpq(q: Fraction) -> fmpq:
    return fmpq(q.numerator, q.denominator)


def values_at(t: Expression, q: fmpq) -> Range:
    """Around the value at a rational number."""
    return enclosure(at_number(t, to_fraction(q)), around(q))


def _square(t: Expression) -> Expression | None:
    """The square without the root or the absolute value around it; None if there is none."""
    match t:
        case ("sqrt", a):
            return a
        case ("*", a, b):
            first = _square(a)
            second = _square(b)
            return None if first is None or second is None else ("*", first, second)
        case ("^", a, n):
            base = _square(a)
            return None if base is None else ("^", base, n)
        case ("abs", a) | a:
            return ("^", a, 2)


def _possible_roots(p: fmpz_poly) -> list[Any]:
    """The complex roots that may be real."""
    roots: Any = p.complex_roots() if p.degree() > 0 else []
    return [root for root, _ in roots if root.imag.contains(0)]


def _bracket(end: CutPoint) -> Any:
    return arb(end.low).union(arb(end.high))


def _signs_of(v: Any) -> Signs:
    if v > 0:
        return POSITIVE
    return NEGATIVE if v < 0 else ANY
