"""The real line of an equation in one variable says where it holds, as far as an accepted certificate shows it.

A verdict is computed from the states of its cells and points; nothing else says "proved" in one real variable.
"""

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq

from dgltree.equations.truth.proofs.certificates import (
    CellClaim,
    CellState,
    Certificate,
    Shown,
    Sides,
    at_place,
    cells_and_points,
    check,
    end_of,
    place_of,
)
from dgltree.equations.truth.proofs.cuts import Zero, compile_floats, value_or_none
from dgltree.equations.truth.proofs.enclosure import EVERYTHING, Range, enclosure
from dgltree.equations.truth.proofs.expression import Expression, X, domain, from_tree, to_text
from dgltree.equations.truth.proofs.finder import REFUSALS, Proof, between, find, plain_numbers, samples_between
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.place import BITS, Place, to_fmpq
from dgltree.equations.truth.proofs.work import working
from dgltree.equations.truth.verdict import (
    Counterexample,
    Domain,
    End,
    Grade,
    Interval,
    Part,
    Verdict,
    join_parts,
    quadratic,
)
from dgltree.support.lazy import cached_property
from dgltree.trees.equation import Equation

LOG = logging.getLogger(__name__)
DIGITS = 6
"""Digits of an end without a closed form; twice as many where two ends would have the same ones."""
MAX_END_LENGTH = 30
"""Characters of an end; a longer one is a decimal."""
WORK = 1_300_000
"""Units of work of a proof, found or checked; what is not shown by then is open.

((x^(2/3) - 1)^6)^(1/6) = abs(x^(2/3) - 1) takes nearly all of it, 5 s of CPU time (2026-11-28).
"""
OPEN_SAMPLES = 24
"""Numbers at which the sides are compared in a cell of which nothing is shown; those next to its ends are more."""
NEXT = 1e-6
"""Distance from where a sign changes, of a sample."""
Number = Any
"""An ``fmpq``, or an ``arb`` around a number."""


class Spot(NamedTuple):
    """A point between two cells."""

    end: End
    value: Number
    shown: Shown


class RealPart(NamedTuple):
    """Where every part of an equation is real, and the sides are equal."""

    part: Part
    conditions: tuple[str, ...]
    """At isolated points of the part, where one of these is true, a side has no value."""
    is_whole: bool
    """Whether it surely holds nowhere else."""


def _undefined_at(place: Place, side: Expression) -> Iterator[Expression | None]:
    """The expressions at whose isolated zeros a side has no value in a cell; None if it may have none elsewhere."""
    for t, wanted in domain(side):
        try:
            missing = place.signs(t) - wanted
            if missing:
                yield t if missing == {0} and place.has_isolated_zeros(t) else None
            place = place.assuming(((t, wanted),))
        except Refused:
            yield None


class Line:
    """States of the cells and of the points between them, from left to right.

    Args:
        name: the variable.
        proof: the certificate, and where it cuts.
        shown: of a cell, a point, a cell, ...
    """

    def __init__(self, name: str, sides: Sides, proof: Proof, shown: list[Shown]) -> None:
        self.name = name
        self.sides = sides
        self.certificate = proof.certificate
        self.hints = proof.hints
        self.shown = shown
        self.cells = shown[::2]
        pairs = zip(proof.zeros, shown[1::2], strict=True)
        places = [zero.place for zero in proof.zeros]
        self.spots = [Spot(_end(zero, places), _value(zero), state) for zero, state in pairs]

    @property
    def states(self) -> set[CellState]:
        return {one.state for one in self.shown}

    @property
    def is_whole(self) -> bool:
        """Whether something is shown of every cell and point."""
        return CellState.OPEN not in self.states

    @property
    def holds_somewhere(self) -> bool:
        return any(cell.state is CellState.HOLDS for cell in self.cells)

    @property
    def is_broken(self) -> bool:
        """Whether the equation fails at more than isolated points without a value."""
        bad = (CellState.FAILS, CellState.APART)
        return any(cell.state in (*bad, CellState.ALONE) for cell in self.cells) or any(
            spot.shown.state in bad for spot in self.spots
        )

    @property
    def holds_on_reals(self) -> bool:
        return self.is_whole and self.holds_somewhere and not self.is_broken

    @property
    def only(self) -> bool:
        """Whether it holds nowhere outside of ``part``."""
        return self.is_whole and CellState.FAILS not in self.states and not self.leaves_out_points

    @property
    def leaves_out_points(self) -> bool:
        """Whether nothing is shown of isolated points at which a negative number has a whole exponent."""
        return any(one.except_points for one in self.shown)

    @cached_property
    def part(self) -> Part:
        """Where it holds."""
        pieces = []
        ends = [None, *(spot.end for spot in self.spots), None]
        for k, cell in enumerate(self.cells):
            if cell.state is CellState.HOLDS:
                pieces.append(Interval(ends[k], ends[k + 1]))
            if k < len(self.spots) and self.spots[k].shown.state is CellState.HOLDS:
                pieces.append(Interval(ends[k + 1], ends[k + 1], True, True))
        return join_parts(pieces)

    @cached_property
    def real_part(self) -> RealPart:
        """Where it holds and every part of both sides is real; its isolated points without a value are conditions."""
        pieces = []
        zeros = []
        is_whole = self.only
        ends = [None, *(spot.end for spot in self.spots), None]
        with ctx.workprec(BITS):
            cuts = [end_of(ValueRing(), cut) for cut in self.certificate.cuts]
            bounds = cells_and_points(cuts)
            for k, (claim, shown, (low, high)) in enumerate(
                zip(self.certificate.claims, self.shown, bounds, strict=True)
            ):
                if shown.state is not CellState.HOLDS:
                    continue
                place = place_of(low, high, self.sides, claim)
                missing = [zero for side in at_place(place, self.sides) for zero in _undefined_at(place, side)]
                if None in missing or (missing and place.is_point):
                    is_whole = False
                    continue
                zeros += missing
                first = (k + 1) // 2
                last = (k + 1) // 2 + (1 - k % 2)
                pieces.append(Interval(ends[first], ends[last], k % 2 == 1, k % 2 == 1))
        texts = dict.fromkeys(f"{to_text(t, self.name)} = 0" for t in zeros if t is not None)
        return RealPart(join_parts(pieces), tuple(texts), is_whole)

    @property
    def holds_on_positive_reals(self) -> bool:
        """Whether it holds at some positive points, and at all of them at which both sides have a value."""
        right = [k for k in range(len(self.cells)) if k == len(self.spots) or self.spots[k].end.value > 0]
        states = {self.cells[k].state for k in right} | {spot.shown.state for spot in self.spots if spot.end.value > 0}
        split = not self.spots or all(spot.end.value != 0 for spot in self.spots)
        return CellState.HOLDS in states and states <= {CellState.HOLDS, CellState.ALONE, CellState.NONE} and not split

    @property
    def holes(self) -> list[Spot]:
        """Single points at which one side alone has a value."""
        pairs = zip(self.spots, itertools.pairwise(self.cells), strict=True)
        fine = (CellState.HOLDS, CellState.NONE)
        return [
            spot
            for spot, (a, b) in pairs
            if spot.shown.state is CellState.ALONE and a.state in fine and b.state in fine
        ]

    @property
    def exceptions(self) -> list[Spot]:
        """Single points at which the equation does not hold, whatever is shown around them."""
        bad = (CellState.ALONE, CellState.FAILS, CellState.APART)
        return [spot for spot in self.spots if spot.shown.state in bad]

    def conditions(self, is_hole: Callable[[Number], bool] | None = None) -> tuple[str, ...]:
        """``x = 1`` or ``cos(x) = 0``: the points at which one side alone has a value.

        Args:
            is_hole: whether one side alone has a complex value at a number, if that counts.
        """
        points = self.holes
        if is_hole is not None:
            points = [spot for spot in self.spots if spot.shown.state is CellState.ALONE and is_hole(spot.value)]
        zeros = self._zeros
        named = [spot for spot in points if not any(0 in enclosure(t, _around(spot.value)).signs for t in zeros)]
        return (*(f"{self.name} = {spot.end}" for spot in named), *self.zero_conditions)

    @property
    def zero_conditions(self) -> tuple[str, ...]:
        """The conditions that an expression is 0 at points of a cell in which the equation holds."""
        return tuple(f"{to_text(t, self.name)} = 0" for t in self._zeros)

    @cached_property
    def _zeros(self) -> list[Expression]:
        ring = ValueRing()
        zeros = [factor for cell in self.cells for t in cell.exceptions for factor, _ in ring.factors(t)[1]]
        return [  # the others have none, or are cuts
            t
            for t in dict.fromkeys(zeros)
            if 0 in enclosure(t, EVERYTHING).signs and ring.in_x(ring.quotient(t).top) is None
        ]

    def samples(self) -> Iterator[fmpq]:
        """Rational numbers between all cuts and next to these."""
        for low, high in self._bounds():
            yield from map(to_fmpq, samples_between(low, high))
        yield from (to_fmpq(Fraction(x)) for hint in self.hints for x in (hint - NEXT, hint + NEXT))
        yield from (to_fmpq(Fraction((a + b) / 2)) for a, b in itertools.pairwise(self.hints))

    def open_cells(self) -> Iterator[tuple[Interval, list[fmpq]]]:
        """Yield the cells of which nothing is shown, with the ends at which the equation holds, and numbers in each."""
        ends = [None, *(spot.end for spot in self.spots), None]
        holds = [False, *(spot.shown.state is CellState.HOLDS for spot in self.spots), False]
        for k, (low, high) in enumerate(self._bounds()):
            if self.cells[k].state is CellState.OPEN:
                numbers = [*samples_between(low, high), *between(low, high, OPEN_SAMPLES)]
                yield Interval(ends[k], ends[k + 1], holds[k], holds[k + 1]), list(map(to_fmpq, numbers))

    def agrees_often(self) -> bool:
        """Whether floats agree at neighbouring points, between all cuts or evenly."""
        f, g = map(compile_floats, self.sides)
        even = [Fraction(k, 8) + Fraction(1, 997) for k in range(-160, 161)]
        agree = []
        for x in sorted([*even, *(Fraction(int(q.p), int(q.q)) for q in self.samples())]):
            a = value_or_none(f, float(x))
            b = value_or_none(g, float(x))
            agree.append(None if a is None or b is None else abs(a - b) <= 1e-9 * (abs(a) + abs(b)))
        return any(a is b is True for a, b in itertools.pairwise(agree))

    def points_of_failure(self) -> Iterator[fmpq]:
        """Plain numbers in cells in which the equation fails, and rational points at which it does."""
        for cell, claim, (low, high) in zip(self.cells, self.certificate.claims[::2], self._bounds(), strict=True):
            if cell.state in (CellState.APART, CellState.ALONE, CellState.FAILS):
                yield from map(to_fmpq, plain_numbers(low, high))
            if claim.at is not None and cell.state is CellState.FAILS:
                yield to_fmpq(claim.at)

    def failing_spots(self) -> Iterator[fmpq]:
        for spot in self.spots:
            if spot.shown.state in (CellState.APART, CellState.FAILS) and isinstance(spot.value, fmpq):
                yield spot.value

    def _bounds(self) -> list[tuple[Fraction | None, Fraction | None]]:
        cuts = self.certificate.cuts
        return list(zip([None, *(cut.high for cut in cuts)], [*(cut.low for cut in cuts), None], strict=True))


def real_line(equation: Equation, name: str, school: bool = True) -> Line | None:
    """The line of an equation in one variable; None if it has a function without rules."""
    return line_along(equation, {name: X}, name, school)


def line_along(equation: Equation, letters: Mapping[str, Expression], name: str, school: bool = True) -> Line | None:
    """Return the line of a parameter of which all variables are expressions; None as of :func:`real_line`."""
    try:
        left, right = (from_tree(side, letters, school) for side in equation)
        with working(WORK):
            proof = find((left, right))
    except REFUSALS as reason:
        LOG.debug("no proof is attempted: %s", reason)
        return None
    try:
        with working(WORK):
            return Line(name, (left, right), proof, check((left, right), proof.certificate))
    except Refused as reason:
        LOG.debug("a certificate is refused: %s", reason)
    try:
        proof = proof._replace(certificate=_accepted((left, right), proof.certificate))
        return Line(name, (left, right), proof, check((left, right), proof.certificate))
    except Refused as reason:
        LOG.debug("the cuts are refused: %s", reason)
        return None


def _accepted(sides: Sides, certificate: Certificate) -> Certificate:
    """Return the certificate with only the claims that the checker accepts one at a time."""
    nothing = [CellClaim(CellState.OPEN)] * len(certificate.claims)
    claims = list(nothing)
    for k, claim in enumerate(certificate.claims):
        alone = [*nothing[:k], claim, *nothing[k + 1 :]]
        try:
            with working(WORK // len(claims)):
                check(sides, certificate._replace(claims=tuple(alone)))
            claims[k] = claim
        except Refused:
            continue
    return certificate._replace(claims=tuple(claims))


def _value(zero: Zero) -> Number:
    low, high = map(to_fmpq, zero.cut[:2])
    return low if low == high else arb(low).union(arb(high))


def _around(value: Number) -> Range:
    middle = arb(value)
    return Range(middle.lower(), middle.upper(), False)


def _end(zero: Zero, places: Sequence[float]) -> End:
    if zero.value is not None:
        text = to_text(zero.value)
        if len(text) <= MAX_END_LENGTH:
            return End(text, zero.place)
    if zero.cut.zero_of is not None:
        ring = ValueRing()
        poly = ring.in_x(ring.quotient(zero.cut.zero_of).top)
        if poly is not None and poly.degree() == 2:
            return End(quadratic([int(c) for c in poly.coeffs()], zero.place), zero.place)
    for digits in (DIGITS, 2 * DIGITS):
        text = f"{zero.place:.{digits}g}"
        if all((float(text) > x) == (zero.place > x) for x in places if x != zero.place):
            break  # it is on the right side of the other cuts
    return End(text, zero.place)


# Verdicts


def line_verdict(
    line: Line, against: Counterexample | None, conditions: tuple[str, ...], notes: tuple[str, ...]
) -> Verdict | None:
    """The verdict of a line; None if it shows too little.

    Args:
        against: a point at which the equation fails.
        conditions, notes: as of a verdict.
    """
    if line.holds_on_reals:
        return Verdict(
            Grade.PROVED, Domain.REALS, line.name, part=line.part, only=True, conditions=conditions, notes=notes
        )
    if not line.is_broken:
        return None
    if line.holds_somewhere or (line.part and line.only):
        return Verdict(
            Grade.PROVED,
            Domain.POSITIVE if line.holds_on_positive_reals else Domain.PART,
            line.name,
            part=line.part,
            only=line.only,
            conditions=line.zero_conditions,
            counterexample=against,
            notes=notes,
        )
    if not line.part and line.only:
        return Verdict(Grade.REFUTED, Domain.NONE, line.name, only=True, counterexample=against, notes=notes)
    return None


def real_verdict(name: str, found: RealPart) -> Verdict:
    """The verdict that an equation holds, and every part is real, on intervals."""
    domain = Domain.REALS if found.part == (Interval(None, None),) else Domain.PART
    return Verdict(Grade.PROVED, domain, name, part=found.part, only=found.is_whole, conditions=found.conditions)


def points_verdict(line: Line, against: Counterexample) -> Verdict:
    """The verdict of a line of which single points, or parts next to what is open, are shown."""
    return Verdict(Grade.PROVED, Domain.PART, line.name, part=line.part, only=line.only, counterexample=against)


def place_on_reals(line: Line) -> str:
    """Where an equation holds on the real line, in words: ``holds for x ≥ 0``."""
    if line.holds_on_reals:
        return Verdict(Grade.PROVED, Domain.REALS, line.name).place
    if not line.part:
        return "does not hold"
    return Verdict(Grade.PROVED, Domain.PART, line.name, part=line.part).place
