"""The certificate of a verdict as a person would write the proof."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from flint import ctx

from dgltree.equations.truth.proofs.certificates import (
    CellClaim,
    CellCut,
    CellState,
    LemmaStep,
    Shown,
    Sides,
    at_place,
    cells_and_points,
    end_of,
    place_of,
    show,
)
from dgltree.equations.truth.proofs.expression import (
    ANY,
    NEGATIVE,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    POSITIVE,
    ZERO,
    Expression,
    Signs,
    domain,
    from_tree,
    last_conditions,
    minus,
    subexpressions,
    to_text,
)
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.lemmas import lemma
from dgltree.equations.truth.proofs.line import Line
from dgltree.equations.truth.proofs.place import BITS, CutPoint, Place, values_at
from dgltree.equations.truth.verdict import End, Interval

SIDES = ("left", "right")
SHOWN_DIGITS = 8
RELATION_OF = {POSITIVE: "> 0", NEGATIVE: "< 0", ZERO: "= 0", NOT_NEGATIVE: "≥ 0", NOT_POSITIVE: "≤ 0"}
STATES = {
    CellState.HOLDS: "the sides are equal",
    CellState.NONE: "neither side has a value",
    CellState.APART: "the sides are nowhere equal",
    CellState.OPEN: "nothing is shown",
}


class Reason(NamedTuple):
    """A part of the line, and why it is as it is."""

    where: str
    """``x < 0``, ``x = 0``"""
    state: str
    """The state in words."""
    because: tuple[str, ...]
    """Each can be checked by hand."""

    def __str__(self) -> str:
        return "\n".join([f"{self.where}: {self.state}", *(f"    {text}" for text in self.because)])

    def at_zero(self, cut: CellCut, name: str) -> "Reason":
        """Return the reason with the expression that is 0 at a point without a short name."""
        assert cut.zero_of is not None
        ends = f"{float(cut.low):.10g} and {float(cut.high):.10g}"
        return self._replace(because=(f"there {to_text(cut.zero_of, name)} = 0, once between {ends}", *self.because))

    @property
    def described(self) -> dict[str, Any]:
        """The reason for JSON."""
        return {"where": self.where, "state": self.state, "because": list(self.because)}


def reasons(line: Line) -> list[Reason]:
    """Return the reasons from left to right."""
    ends: list[End | None] = [None, *(spot.end for spot in line.spots), None]
    found = []
    with ctx.workprec(BITS):
        cuts = [end_of(ValueRing(), cut) for cut in line.certificate.cuts]
        bounds = cells_and_points(cuts)
        for k, (claim, (low, high)) in enumerate(zip(line.certificate.claims, bounds, strict=True)):
            first = (k + 1) // 2
            last = (k + 1) // 2 + (1 - k % 2)
            where = Interval(ends[first], ends[last], k % 2 == 1, k % 2 == 1).written(line.name)
            reason = _reason(line, place_of(low, high, line.sides, claim), claim, line.shown[k], where)
            cut = line.certificate.cuts[first - 1] if first == last else None
            found.append(reason if cut is None or cut.zero_of is None else reason.at_zero(cut, line.name))
    return found


def _reason(line: Line, place: Place, claim: CellClaim, shown: Shown, where: str) -> Reason:
    state = STATES.get(claim.state, "")
    name = line.name
    but = " except at single points, where an exponent is whole" if shown.except_points else ""
    match claim.state:
        case CellState.HOLDS:
            because = list(_equality(place, at_place(place, line.sides), claim, name))
            if conditions := _left_open(place, line.sides, name):
                state += f" where {' and '.join(conditions)}"
        case CellState.NONE:
            because = [_missing(place, side, which, name) for which, side in zip(SIDES, line.sides, strict=True)]
        case CellState.ALONE:
            missing = 1 - claim.side
            state = f"only the {SIDES[claim.side]} side has a value"
            because = [_missing(place, line.sides[missing], SIDES[missing], name)]
        case CellState.APART:
            because = [_difference(place, at_place(place, line.sides), claim, name)]
        case CellState.FAILS:
            state = f"the equation fails at {name} = {claim.at}"
            because = list(_values(line.sides, claim))
        case _:
            because = ["it is tested only at points"]
    return Reason(where, state + but, tuple(because))


def _left_open(place: Place, sides: Sides, name: str) -> list[str]:
    """The conditions of a value that this part of the line does not meet all over, such as ``cos(x) ≠ 0``."""
    found = []
    for t, signs in dict.fromkeys(domain(sides[0]) + domain(sides[1])):
        if not _signs(place, t) <= signs:
            found.append(_signed(t, signs, name))
            with suppress(Refused):  # too much work: without the assumption more conditions are named
                place = place.assuming(((t, signs),))
    return found


def _equality(place: Place, sides: Sides, claim: CellClaim, name: str) -> Iterator[str]:
    steps = _rules(_fewest_steps(place, sides, claim), name)
    if claim.at is None:
        left, right = (to_text(side, name) for side in sides)
        alike = f"both are {left}" if left == right else f"{left} is {right}, rearranged"
        yield from steps or [alike]
        return
    yield "the slopes of both sides are equal" + (f", by {'; '.join(steps)}" if steps else "")
    there = _rules(claim.steps_at, name)
    yield f"at {name} = {claim.at} the sides are equal" + (f", by {'; '.join(there)}" if there else "")


def _rules(steps: Sequence[LemmaStep], name: str) -> list[str]:
    """Write the rules of steps, as ``sqrt(x)^2 = x, as x ≥ 0``."""
    return [_rule(step, name) for step in steps]


def _rule(step: LemmaStep, name: str) -> str:
    rule = lemma(step.name, str(step.n))
    letters = dict(zip("AB", step.arguments, strict=False))
    left, right = (to_text(from_tree(side, letters), name) for side in (rule.left, rule.right))
    if step.name == "zero":
        return f"{left} = 0"
    conditions = []
    for relation, a, b in rule.conditions:
        first, second = (to_text(from_tree(side, letters), name) for side in (a, b))
        sign = {">=": "≥", "<=": "≤", "==": "="}.get(relation, relation)
        if first != second and not first.isdigit():
            conditions.append(f"{first} {sign} {second}")
    return f"{left} = {right}" + (f", as {' and '.join(conditions)}" if conditions else "")


def _missing(place: Place, side: Expression, which: str, name: str) -> str:
    """The first condition of a side that is not met."""
    for t in subexpressions(side):
        for condition, signs in last_conditions(t):
            there = _signs(place, condition)
            if not there & signs:
                return f"{to_text(t, name)} ({which}) has no value, as {_signed(condition, there, name)}"
    return f"the {which} side has no value"


def _signs(place: Place, t: Expression) -> Signs:
    """The signs of an expression; any of them where they are too much work for an explanation."""
    try:
        return place.signs(t)
    except Refused:
        return ANY


def _signed(t: Expression, signs: Signs, name: str) -> str:
    return f"{to_text(t, name)} {RELATION_OF.get(signs, '≠ 0')}"


def _difference(place: Place, sides: Sides, claim: CellClaim, name: str) -> str:
    if claim.times is None:
        left, right = (to_text(side, name) for side in sides)
        relation = {POSITIVE: ">", NEGATIVE: "<"}.get(_signs(place, minus(*sides)), "≠")
        return f"{left} {relation} {right}"
    difference = to_text(minus(*sides), name)
    if len(claim.times) == 2 and claim.times[0] == "number":
        return f"{difference} is not 0 by " + "; ".join(_rules(claim.steps, name))
    return f"({difference})*({to_text(claim.times, name)}) is a polynomial without a root there"


def _values(sides: Sides, claim: CellClaim) -> Iterator[str]:
    assert claim.at is not None
    ring = ValueRing()
    end = CutPoint.at(ring, claim.at)
    for which, side in zip(SIDES, sides, strict=True):
        if Place(ring, end, end).defines(side):
            values = values_at(side, end.low)
            middle: Any = ((values.low + values.high) / 2).mid()
            yield f"the {which} side is {middle.str(SHOWN_DIGITS, radius=False)}"
        else:
            yield f"the {which} side has no value"


def _fewest_steps(place: Place, sides: Sides, claim: CellClaim) -> tuple[LemmaStep, ...]:
    """Return the steps without those that the checker does not need."""
    steps = claim.steps
    for step in reversed(claim.steps):
        shorter = tuple(other for other in steps if other != step)
        try:
            show(place, sides, claim._replace(steps=shorter))
        except Refused:
            continue
        steps = shorter
    return steps
