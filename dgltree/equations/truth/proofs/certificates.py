"""Accepts or refuses a certificate of where on the real line an equation in one variable holds.

It trusts nothing in it: a certificate says where to cut and which lemma of what, and all signs, roots and relations are
computed here. The equation comes from the caller. Any exception is a refusal.
"""

import enum
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import ctx

from dgltree.equations.truth.proofs.expression import (
    NONZERO,
    POSITIVE,
    ZERO,
    Condition,
    Expression,
    at_number,
    derivative,
    domain,
    from_tree,
    minus,
    number,
    subexpressions,
)
from dgltree.equations.truth.proofs.fractions import Poly, Refused, ValueRing, remainder, require, vanishes
from dgltree.equations.truth.proofs.lemmas import LEMMAS, RELATIONS, lemma
from dgltree.equations.truth.proofs.place import BITS, CutPoint, Place, values_at

MOST_CUTS = 30


class CellState(enum.Enum):
    """State shown of a cell or a point. Isolated points of a cell at which one side has no value are excepted."""

    HOLDS = "holds"
    """Each side has a value where the other has one, and the same."""
    NONE = "none"
    """Neither side has a value."""
    ALONE = "alone"
    """One side has a value, and the other one has none."""
    APART = "apart"
    """Both sides have a value, and nowhere the same."""
    FAILS = "fails"
    """The equation fails at one point of the cell."""
    OPEN = "open"


class LemmaStep(NamedTuple):
    """An instance of a lemma."""

    name: str
    arguments: tuple[Expression, ...]
    n: int = 0


class CellClaim(NamedTuple):
    """A statement of a certificate about a cell or a point."""

    state: CellState
    steps: tuple[LemmaStep, ...] = ()
    side: int = 0
    """The one that has a value, of a place where one has."""
    at: Fraction | None = None
    """The point at which it fails; of a constant difference, the point at which it is 0."""
    steps_at: tuple[LemmaStep, ...] = ()
    """The steps that show it there."""
    times: Expression | None = None
    """A factor that makes the difference a product that is plainly not 0."""


class CellCut(NamedTuple):
    """A rational number, or the zero of an expression between two."""

    low: Fraction
    high: Fraction
    zero_of: Expression | None = None


class Certificate(NamedTuple):
    """Cuts in order, and 2n + 1 claims: of a cell, a point, a cell, ..."""

    cuts: tuple[CellCut, ...]
    claims: tuple[CellClaim, ...]


Sides = tuple[Expression, Expression]


class Shown(NamedTuple):
    """A state that is shown."""

    state: CellState
    exceptions: tuple[Expression, ...] = ()
    """One side has no value where one of these is 0: at isolated points."""
    except_points: bool = False
    """Whether a side may have a value at isolated points, where the exponent of a negative number is whole."""


def check(sides: Sides, certificate: Certificate) -> list[Shown]:
    """The states of the cells and points from left to right. Raises ``Refused``."""
    try:
        with ctx.workprec(BITS):
            ring = ValueRing()
            ends = [end_of(ring, cut) for cut in certificate.cuts]
            places = cells_and_points(ends)
            require(len(places) == len(certificate.claims), "claims that do not cover the line")
            pairs = zip(places, certificate.claims, strict=True)
            return [show(place_of(low, high, sides, claim), sides, claim) for (low, high), claim in pairs]
    except Refused:
        raise
    except Exception as error:  # whatever a bad certificate leads to
        raise Refused(f"{type(error).__name__}: {error}") from error


def end_of(ring: ValueRing, cut: CellCut) -> CutPoint:
    return CutPoint.at(ring, cut.low) if cut.zero_of is None else CutPoint(ring, cut.zero_of, cut.low, cut.high)


def cells_and_points(ends: Sequence[CutPoint]) -> list[tuple[CutPoint | None, CutPoint | None]]:
    """The whole line, from left to right: a point has the same end twice."""
    require(len(ends) <= MOST_CUTS, "too many cuts")
    require(all(a.high < b.low for a, b in itertools.pairwise(ends)), "cuts that are not in order")
    places: list[tuple[CutPoint | None, CutPoint | None]] = [(None, ends[0] if ends else None)]
    for end, following in itertools.zip_longest(ends, ends[1:]):
        places += [(end, end), (end, following)]
    return places


def place_of(low: CutPoint | None, high: CutPoint | None, sides: Sides, claim: CellClaim) -> Place:
    """Return a place whose ring has the generators of what the claim is about, simple ones first."""
    ring = ValueRing()
    ring.prepare([*sides, *(t for step in (*claim.steps, *claim.steps_at) for t in step.arguments)])
    return Place(ring, low, high)


def show(place: Place, sides: Sides, claim: CellClaim) -> Shown:
    """The state that a claim says, if it is shown. Raises ``Refused``."""
    sides = at_place(place, sides)
    left, right = sides
    match claim.state:
        case CellState.HOLDS:
            return Shown(CellState.HOLDS, _show_holds(place, sides, claim))
        case CellState.NONE:
            require(place.denies(left) and place.denies(right), "a side may have a value")
            return Shown(CellState.NONE, except_points=not all(place.denies(side, False) for side in sides))
        case CellState.ALONE:
            require(place.defines(sides[claim.side]), "the side may have no value")
            require(place.denies(sides[1 - claim.side]), "the other side may have a value")
            return Shown(CellState.ALONE, except_points=not place.denies(sides[1 - claim.side], False))
        case CellState.APART:
            _show_apart(place, sides, claim)
        case CellState.FAILS:
            _show_failure(place, sides, claim)
        case _:
            require(claim.state is CellState.OPEN, "no state")
    return Shown(claim.state)


def at_place(place: Place, sides: Sides) -> Sides:
    """The sides with 0 for powers of 0, and at a rational point their values as far as these are rational."""
    q = place.rational
    left, right = (_without_powers_of_0(place, side if q is None else at_number(side, q)) for side in sides)
    return left, right


def _without_powers_of_0(place: Place, t: Expression) -> Expression:
    """Return ``t`` with 0 for each power whose base is shown to be 0, and its exponent to be positive."""
    if not any(u[0] == "power" for u in subexpressions(t)):
        return t
    t = (t[0], *(_without_powers_of_0(place, part) if isinstance(part, tuple) else part for part in t[1:]))
    is_zero = t[0] == "power" and place.signs(t[1]) == ZERO and place.signs(t[2]) == POSITIVE
    return number(0) if is_zero and place.defines(t[2]) and place.defines(t[1]) else t


def _show_apart(place: Place, sides: Sides, claim: CellClaim) -> None:
    require(place.defines(sides[0]) and place.defines(sides[1]), "a side may have no value")
    difference = minus(*sides)
    if claim.times is None:
        require(0 not in place.signs(difference), "the sides may be equal")
        return
    require(place.defines(claim.times), "a factor that may have no value")
    top = remainder(place.ring.quotient(("*", claim.times, difference)).top, _relations(place, claim.steps))
    require(0 not in place.signs(place.ring.expression(top)), "the product may be 0")


def _show_failure(place: Place, sides: Sides, claim: CellClaim) -> None:
    require(claim.at is not None and not place.is_point, "no point")
    assert claim.at is not None
    end = CutPoint.at(place.ring, claim.at)
    require(place.low is None or place.low.high < end.low, "a point left of the cell")
    require(place.high is None or end.low < place.high.low, "a point right of the cell")
    point = Place(place.ring, end, end)
    if point.defines(sides[0]) and point.defines(sides[1]):
        (a, b, _), (c, d, _) = (values_at(side, end.low) for side in sides)
        require(b < c or d < a, "values that may be equal")
    else:
        require(any(_is_alone_around(point, *pair) for pair in (sides, sides[::-1])), "no difference")


def _is_alone_around(point: Place, one: Expression, other: Expression) -> bool:
    """Whether around a point, too, one side has a value and the other one has none, as no condition is at its edge.

    A power of a negative number has one at a whole exponent, which may be written as ``sqrt(4)`` or ``x/x + 1``.
    """
    may_be_whole = any(
        u[0] == "power" and not point.signs(u[1]) <= POSITIVE and not point.exponent_varies(u)
        for u in subexpressions(other)
    )
    return (
        not may_be_whole
        and all(point.signs(t) <= signs & NONZERO for t, signs in domain(one))
        and any(point.signs(t) <= NONZERO - signs for t, signs in _before_undefined(point, other))
    )


def _before_undefined(point: Place, t: Expression) -> Iterator[Condition]:
    """The conditions up to the first that is not shown."""
    for condition in domain(t):
        yield condition
        if not point.signs(condition[0]) <= condition[1]:
            return


def _show_holds(place: Place, sides: Sides, claim: CellClaim) -> tuple[Expression, ...]:
    left, right = sides
    # domain() asks for a positive base, but a negative one has real values too, at whole exponents: (-2)^x at x = 3.
    for t in itertools.chain(subexpressions(left), subexpressions(right)):
        require(t[0] != "power" or place.signs(t[1]) == POSITIVE, "a power of what may not be positive")
    exceptions = dict.fromkeys(
        [*_exceptions(place, left, right, claim.steps), *_exceptions(place, right, left, claim.steps)]
    )
    both = place.assuming(domain(left) + domain(right))
    difference = minus(left, right)
    if claim.at is None:
        relations = _relations(both, claim.steps)
        require(vanishes(place.ring.quotient(difference).top, relations), "the sides are not shown to be equal")
    else:
        require(not exceptions, "a constant with exceptions")
        _show_constant(place, sides, claim)
    return tuple(exceptions)


def _exceptions(place: Place, here: Expression, there: Expression, steps: Sequence[LemmaStep]) -> list[Expression]:
    """The expressions whose isolated zeros keep one side from a value where the other has one."""
    exceptions = []
    under = place.assuming(domain(here))
    for t, wanted in domain(there):
        missing = under.signs(t) - wanted
        if missing and not (missing == {0} and _is_excluded(under, t, here, steps)):
            require(
                missing == {0} and place.has_isolated_zeros(t), "one side may have a value where the other has none"
            )
            exceptions.append(t)
        under = under.assuming(((t, wanted),))
    return exceptions


def _is_excluded(under: Place, t: Expression, here: Expression, steps: Sequence[LemmaStep]) -> bool:
    """Whether t = 0 would make an expression 0 that is not, by the rules whose conditions are shown there."""
    relations = [under.ring.quotient(t).top]
    for step in steps:
        try:
            relations.append(relation(under, relations[1:], step))
        except Refused:
            continue
    nonzero = [under.ring.quotient(u).top for u, signs in domain(here) if 0 not in signs]
    # The square, because u itself need not be in the ideal: of a and sqrt(a)^2 - a sqrt(a) is not, but its square is.
    return any(vanishes(u**2, relations) for u in nonzero)


def _show_constant(place: Place, sides: Sides, claim: CellClaim) -> None:
    """The derivative of the difference is 0 in the cell, and the difference is 0 at a point of it or at its end."""
    require(place.defines(sides[0]) and place.defines(sides[1]) and not place.is_point, "a side may have no value")
    slopes = [derivative(side) for side in sides]
    require(place.defines(slopes[0]) and place.defines(slopes[1]), "a side may have no slope")
    relations = _relations(place, claim.steps)
    require(vanishes(place.ring.difference(*slopes).top, relations), "slopes that are not shown to be equal")
    assert claim.at is not None
    end = CutPoint.at(place.ring, claim.at)
    inside = (place.low is None or place.low.high <= end.low) and (place.high is None or end.low <= place.high.low)
    at = Place(place.ring, end, end)
    sides = at_place(at, sides)
    require(inside and at.defines(sides[0]) and at.defines(sides[1]), "a point at which a side may have no value")
    relations = _relations(at, claim.steps_at)
    require(vanishes(place.ring.difference(*sides).top, relations), "sides that are not equal at the point")


def _relations(place: Place, steps: Sequence[LemmaStep]) -> list[Poly]:
    relations: list[Poly] = []
    if place.is_point and place.low is not None:
        relations.append(place.ring.quotient(place.low.expression).top)
    for step in steps:
        r = relation(place, relations, step)
        relations += [] if r.is_zero() else [r]
    return relations


def relation(place: Place, relations: Sequence[Poly], step: LemmaStep) -> Poly:
    """The polynomial that a lemma says is 0. Raises ``Refused`` if a condition of it is not shown."""
    require(step.name in LEMMAS, "no such lemma")
    require(step.n >= 2 or not step.name.endswith(("^", "root is")), "not a number of times")
    require(step.n % 2 or not step.name.startswith("root"), "an even root")
    rule = lemma(step.name, str(step.n))
    letters = dict(zip("AB", step.arguments, strict=False))
    for name, a, b in rule.conditions:
        t = minus(from_tree(a, letters), from_tree(b, letters))
        exact = name == "==" and vanishes(place.ring.quotient(t).top, relations)
        require(exact or place.signs(t) <= RELATIONS[name], f"{step.name}: a condition is not shown")
        require(place.defines(t), f"{step.name}: a condition may have no value")
    left = from_tree(rule.left, letters)
    right = from_tree(rule.right, letters)
    require(place.defines(left) and place.defines(right), f"{step.name}: a part may have no value")
    return unchecked_relation(place.ring, step)


def unchecked_relation(ring: ValueRing, step: LemmaStep) -> Poly:
    """Return the relation of a step, whether its conditions are shown or not."""
    rule = lemma(step.name, str(step.n))
    letters = dict(zip("AB", step.arguments, strict=False))
    return ring.difference(from_tree(rule.left, letters), from_tree(rule.right, letters)).top
