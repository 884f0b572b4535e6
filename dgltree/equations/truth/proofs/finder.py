"""The finder makes a certificate: where to cut, and which rules show what of each cell. Nothing here is trusted.

It also tells whether two sides have real values at the same points, in any number of variables.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import ctx

from dgltree.equations.truth.proofs.certificates import (
    CellClaim,
    CellState,
    Certificate,
    LemmaStep,
    Sides,
    at_place,
    cells_and_points,
    end_of,
    relation,
    show,
    unchecked_relation,
)
from dgltree.equations.truth.proofs.cuts import (
    Zero,
    accept,
    compile_floats,
    norm,
    solutions,
    targets,
    value_or_none,
    zeros,
)
from dgltree.equations.truth.proofs.expression import (
    ONE,
    Condition,
    Expression,
    Unsupported,
    derivative,
    domain,
    from_tree,
    minus,
    number,
)
from dgltree.equations.truth.proofs.fractions import Poly, Refused, ValueRing, vanishes
from dgltree.equations.truth.proofs.place import BITS, CutPoint, Place, to_fraction
from dgltree.equations.truth.proofs.steps import Offers
from dgltree.equations.truth.proofs.work import TooMuchWork
from dgltree.trees.equation import Equation

MOST_CELLS = 24
"""Cuts of the line that are kept: beyond them a part is larger than it had to be, and is not proved then."""
ROUNDS = 3
"""Times that refused relations are tried again after others were accepted, which they may rest on."""
REFUSALS = (Refused, Unsupported, ArithmeticError, ValueError, KeyError, TypeError, IndexError)
_SMALL_ROOTS = [("sqrt", number(2)), ("sqrt", number(3))]
"""Made before the sines and cosines of pi/4 and pi/6, which are larger then: a rule reduces these to roots."""


class Proof(NamedTuple):
    """A certificate that is still to be checked, and the cuts with their values."""

    certificate: Certificate
    zeros: tuple[Zero, ...]
    hints: tuple[float, ...]
    """Where signs change that change too often for cuts."""


def find(sides: Sides) -> Proof:
    """A certificate; a cell or a point of which nothing is shown is open in it."""
    with ctx.workprec(BITS):
        ring = _ring(sides)
        hints: list[float] = []
        cuts = zeros(ring, targets(sides), hints)[:MOST_CELLS]
        claims = _claims(ring, cuts, sides)
        more = _solutions(ring, cuts, claims, sides)
        if more:
            cuts = accept(ring, [*cuts, *more])[:MOST_CELLS]
            claims = _claims(ring, cuts, sides)
        certificate = Certificate(tuple(zero.cut for zero in cuts), tuple(claims))
        return Proof(certificate, tuple(cuts), tuple(sorted(hints)))


def _claims(ring: ValueRing, cuts: Sequence[Zero], sides: Sides) -> list[CellClaim]:
    places = cells_and_points([end_of(ring, zero.cut) for zero in cuts])
    claims = []
    for low, high in places:
        try:
            ring = ring if ring.is_fresh else _ring(sides)
            claims.append(_claim(Place(ring, low, high), sides))
        except TooMuchWork:
            claims.append(CellClaim(CellState.OPEN))
    return claims


def _solutions(ring: ValueRing, cuts: Sequence[Zero], claims: Sequence[CellClaim], sides: Sides) -> list[Zero]:
    """Zeros of the difference in cells in which it has some, as single solutions."""
    if not any(claim.state in (CellState.FAILS, CellState.OPEN) for claim in claims[::2]):
        return []
    try:
        return solutions(ring, sides, [])
    except REFUSALS:
        return []


def _ring(sides: Sides) -> ValueRing:
    ring = ValueRing()
    ring.prepare([*sides, *_SMALL_ROOTS])
    return ring


def _claim(place: Place, sides: Sides) -> CellClaim:
    sides = at_place(place, sides)
    for where, trial in _trials(place, sides):
        try:
            show(where, sides, trial)
        except REFUSALS:
            continue
        return trial
    return CellClaim(CellState.OPEN)


def _trials(place: Place, sides: Sides) -> Iterator[tuple[Place, CellClaim]]:
    """Yield claims, each with the place at which it is tried."""
    yield place, CellClaim(CellState.NONE)
    yield place, CellClaim(CellState.ALONE, side=0)
    yield place, CellClaim(CellState.ALONE, side=1)
    signs = _signs_of_difference(place, sides)
    failure = None if place.is_point or signs == {0} else _failure(place, sides)
    if failure is None:
        yield from _equalities(place, sides)
    if len(signs - {2}) <= 1:
        yield place, CellClaim(CellState.APART)
        if not place.is_point:
            yield from ((place, claim) for claim in _products(place, sides))
    if failure is not None:
        yield place, failure


def _equalities(place: Place, sides: Sides) -> Iterator[tuple[Place, CellClaim]]:
    """Yield claims that it holds: by rules, by rules with the generators in another order, and as its slope is 0."""
    try:
        if place.ring.difference(*sides).top.is_zero():
            yield place, CellClaim(CellState.HOLDS)
        offers = Offers(place.assuming(_conditions(sides)), sides, sample_values(place)).steps
        steps = _right_steps(place, sides, offers)
        yield place, CellClaim(CellState.HOLDS, steps)
        ring = ValueRing()
        ring.prepare([*sides, *(t for step in offers for t in step.arguments)])
        sorted_place = Place(ring, place.low, place.high)
        steps = _right_steps(sorted_place, sides, offers, steps)
        if vanishes(ring.difference(*sides).top, [unchecked_relation(ring, step) for step in steps]):
            yield sorted_place, CellClaim(CellState.HOLDS, steps)
    except REFUSALS:
        pass
    if not place.is_point:
        yield from ((place, claim) for claim in _constants(place, sides))


def _conditions(sides: Sides) -> tuple[Condition, ...]:
    return domain(sides[0]) + domain(sides[1])


def _signs_of_difference(place: Place, sides: Sides) -> set[int]:
    """Return signs by floats at samples: 0 where the sides are about the same, and 2 where one alone has a value."""
    signs = set()
    f, g = map(compile_floats, sides)
    for x in sample_values(place):
        a = value_or_none(f, x)
        b = value_or_none(g, x)
        if a is None or b is None:
            signs |= set() if a is b else {2}
        else:
            signs.add(0 if abs(a - b) <= 1e-9 * (abs(a) + abs(b)) else 1 if a > b else -1)
    return signs


def _failure(place: Place, sides: Sides) -> CellClaim | None:
    """Claim a point of the cell at which the equation fails."""
    f, g = map(compile_floats, sides)
    for q in samples(place):
        a = value_or_none(f, float(q))
        b = value_or_none(g, float(q))
        if a == b:
            continue
        try:
            show(place, sides, claim := CellClaim(CellState.FAILS, at=q))
        except REFUSALS:
            continue
        return claim
    return None


def _constants(place: Place, sides: Sides) -> Iterator[CellClaim]:
    """Yield claims that the slopes are equal, and the sides are at one point."""
    try:
        left, right = map(derivative, sides)
        if not (place.defines(left) and place.defines(right)):
            return
        steps = _right_steps(place, (left, right))
    except REFUSALS:
        return
    ends = [
        to_fraction(end.rational) for end in (place.low, place.high) if end is not None and end.rational is not None
    ]
    for q in (*ends, *samples(place)[:2]):
        end = CutPoint.at(place.ring, q)
        at = Place(place.ring, end, end)
        try:
            yield CellClaim(CellState.HOLDS, steps, at=q, steps_at=_right_steps(at, at_place(at, sides)))
        except REFUSALS:
            continue


def _products(place: Place, sides: Sides) -> Iterator[CellClaim]:
    """Yield claims that the difference is not 0, as its norm is not, or what it is by rules."""
    try:
        product_of_all = norm(place.ring, minus(*sides))
        steps = _right_steps(place, sides)
    except REFUSALS:
        return
    if product_of_all is not None and product_of_all.others != ONE:
        yield CellClaim(CellState.APART, steps, times=product_of_all.others)
    if steps:
        yield CellClaim(CellState.APART, steps, times=ONE)


def _right_steps(
    place: Place, sides: Sides, offers: Iterable[LemmaStep] | None = None, right: Sequence[LemmaStep] = ()
) -> tuple[LemmaStep, ...]:
    """The offers whose conditions are shown; one that needs the relations of later ones comes after them.

    Args:
        right: offers of which that is known.
    """
    both = place.assuming(_conditions(sides))
    if offers is None:
        offers = Offers(both, sides, sample_values(place)).steps
    relations: list[Poly] = []
    if both.is_point and both.low is not None:
        relations.append(both.ring.quotient(both.low.expression).top)
    shown = list(right)
    relations += [unchecked_relation(both.ring, step) for step in shown]
    waiting = [step for step in offers if step not in right]
    for _ in range(ROUNDS):
        refused = []
        for step in waiting:
            try:
                r = relation(both, relations, step)
            except REFUSALS:
                refused.append(step)
                continue
            relations += [] if r.is_zero() else [r]
            shown.append(step)
        if len(refused) in (0, len(waiting)):
            break
        waiting = refused
    return tuple(shown)


def sample_values(place: Place) -> list[float]:
    if place.is_point and place.low is not None:
        return [float(to_fraction((place.low.low + place.low.high) / 2))]
    return [float(q) for q in samples(place)]


# Numbers between two others


def samples(place: Place) -> list[Fraction]:
    low = to_fraction(place.low.high) if place.low else None
    high = to_fraction(place.high.low) if place.high else None
    return samples_between(low, high)


def samples_between(low: Fraction | None, high: Fraction | None) -> list[Fraction]:
    """Some rational numbers between two, also next to these, short ones first."""
    if low is None and high is None:
        return [Fraction(q) for q in (1, -1, 2, -3, 0, 7, -30, 10**6, -(10**6))] + [Fraction(7, 3), Fraction(-5, 7)]
    if low is None or high is None:
        start, way = (high, -1) if low is None else (low, 1)
        assert start is not None
        steps = (1, 2, Fraction(1, 3), 5, 37, Fraction(1, 100), 1000, 10**6)
        return [_short(start + way * step, Fraction(step) / 3) for step in steps]
    shares = (Fraction(1, 2), Fraction(1, 3), Fraction(4, 5), Fraction(1, 20), Fraction(99, 100), Fraction(1, 1000))
    return [_short(low + (high - low) * share, (high - low) * min(share, 1 - share) / 2) for share in shares]


def between(low: Fraction | None, high: Fraction | None, count: int) -> list[Fraction]:
    """So many rational numbers between two: evenly, or in steps that grow where there is no end."""
    if low is not None and high is not None:
        return [low + (high - low) * Fraction(2 * k + 1, 2 * count) for k in range(count)]
    steps = [Fraction(3, 7) * Fraction(3, 2) ** k for k in range(count)]
    if low is None and high is None:
        return [step if k % 2 else -step for k, step in enumerate(steps)]
    return [low + step if low is not None else (high or 0) - step for step in steps]


def plain_numbers(low: Fraction | None, high: Fraction | None) -> list[Fraction]:
    """One or two numbers between two that a reader can work with: on both sides of 0, if it is between them."""
    numbers = []
    if high is None or high > 0:
        numbers.append(_plainest(max(low or Fraction(0), Fraction(0)), high))
    if low is None or low < 0:
        numbers.append(
            -_plainest(max(-high if high is not None else Fraction(0), Fraction(0)), None if low is None else -low)
        )
    return numbers


def _plainest(low: Fraction, high: Fraction | None) -> Fraction:
    if high is None or low.__floor__() + 1 < high:
        return Fraction(low.__floor__() + 1)
    return _short((low + high) / 2, (high - low) / 2)


def _short(q: Fraction, within: Fraction) -> Fraction:
    """A number next to q with a small denominator."""
    for denominator in (1, 2, 3, 4, 8, 10, 100, 1000, 10**6):
        near = q.limit_denominator(denominator)
        if abs(near - q) < within:
            return near
    return q


# Domains of two sides


def have_plainly_same_domain(equation: Equation, names: Sequence[str]) -> bool:
    """Whether the conditions of both sides are the same as they are written."""
    try:
        left, right = _sides(equation, names)
    except REFUSALS:
        return False
    return set(domain(left)) == set(domain(right))


def have_same_domain(equation: Equation, names: Sequence[str]) -> bool:
    """Whether each condition of one side is shown by those of the other, except for where an expression is 0."""
    try:
        with ctx.workprec(BITS):
            left, right = _sides(equation, names)
            return _implies(left, right) and _implies(right, left)
    except REFUSALS:
        return False


def _sides(equation: Equation, names: Sequence[str]) -> tuple[Expression, Expression]:
    letters = {name: (f"variable {name}",) for name in names}
    left, right = (from_tree(side, letters) for side in equation)
    return left, right


def _implies(here: Expression, there: Expression) -> bool:
    under = Place(ValueRing(), None, None).assuming(domain(here))
    for t, wanted in domain(there):
        if not under.signs(t) - wanted <= {0}:
            return False
        under = under.assuming(((t, wanted),))
    return True
