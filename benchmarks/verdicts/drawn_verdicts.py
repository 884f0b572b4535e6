"""Verdicts on equations drawn by shape against values by mpmath: false claims, missed parts and exceptions."""

import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import mpmath

from benchmarks.verdicts.line_oracle import ALONE, DIFFER, HOLDS, WINDOW, stretches, whole_numbers
from benchmarks.verdicts.shapes import DrawnEquation, Y, contains, draw, in_other_words
from benchmarks.verdicts.two_variables import complex_point_against, is_refuted, point_against
from dgltree import read_equation
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain, Grade, Part, Verdict

FALSE_PROOF, FALSE_TEST, MISSED_PART, MISSED_EXCEPTION = "false proof", "false test", "missed part", "missed exception"
KINDS = (FALSE_PROOF, FALSE_TEST, MISSED_PART, MISSED_EXCEPTION)
SHORTEST = 2 * WINDOW / 1000
"""Of a part that counts as missed."""
APART = 1e-5
"""Points nearer to an end of a part than this share are left out: ends are written as floats."""


class Fault(NamedTuple):
    """A fault of a verdict, and where it shows."""

    kind: str
    point: str


def row(job: tuple[int, int, bool], two: bool = False, words: bool = False) -> dict[str, Any]:
    """The verdict on the equation of a number and a seed, in one variable or two, and what values contradict it.

    With ``words`` the verdict is on the equation with constants in other words, and the values are those of the plain.
    """
    number, seed, kept = job
    drawn = written = draw(number, seed, kept, two)
    if words:
        random = Random(f"words {seed} {number}")
        written = drawn._replace(left=in_other_words(drawn.left, random), right=in_other_words(drawn.right, random))
    started = time.process_time()
    verdict = Judge().verdict(read_equation(str(written)))
    seconds = time.process_time() - started
    random = Random(f"points {seed} {number}")
    in_plane = contains(drawn.left, Y) or contains(drawn.right, Y)
    fault = fault_in_plane(drawn, verdict, random) if in_plane else fault_of(drawn, verdict, random)
    return {
        "number": number,
        "family": drawn.family,
        "equation": str(written),
        "grade": verdict.grade.value,
        "domain": verdict.domain.value,
        "verdict": str(verdict),
        "fault": fault and fault._asdict(),
        "seconds": round(seconds, 4),
    }


def report(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines with the verdicts by grade, the faults by kind and family, and the CPU time."""
    grades = Counter(f"{one['grade']} {'' if one['domain'] == 'none' else one['domain']}" for one in rows)
    kinds = Counter(one["fault"]["kind"] for one in rows if one["fault"])
    seconds = sorted(one["seconds"] for one in rows)
    median, late = (1000 * seconds[int(share * (len(seconds) - 1))] for share in (0.5, 0.95))
    lines = [f"{count:7,}  {grade}" for grade, count in grades.most_common()]
    lines.append(f"{len(rows):,} equations; " + ", ".join(f"{kinds[kind]} {kind}s" for kind in KINDS))
    lines.append(f"CPU: median {median:.0f} ms, 95 % under {late:.0f} ms, at most {seconds[-1]:.1f} s")
    faults = sorted(
        (one for one in rows if one["fault"]), key=lambda one: (KINDS.index(one["fault"]["kind"]), one["family"])
    )
    return lines + [
        f"{one['fault']['kind']}, {one['family']}: {one['equation']}\n    {one['verdict']}\n    {one['fault']['point']}"
        for one in faults
    ]


def fault_in_plane(drawn: DrawnEquation, verdict: Verdict, random: Random) -> Fault | None:
    """The first fault of a verdict on an equation in two variables."""
    point = _point_against(drawn, verdict, random) or point_against(drawn, verdict, random)
    return Fault(_kind(verdict), point) if point else None


def _point_against(drawn: DrawnEquation, verdict: Verdict, random: Random) -> str:
    """A counterexample at which the sides agree, or a complex point at which they differ; empty if there is none."""
    if not is_refuted(drawn, verdict):
        return f"the sides agree at {verdict.counterexample}"
    return complex_point_against(drawn, random) if verdict.domain is Domain.EVERYWHERE else ""


def _kind(verdict: Verdict) -> str:
    return FALSE_PROOF if verdict.grade in (Grade.PROVED, Grade.REFUTED) else FALSE_TEST


def fault_of(drawn: DrawnEquation, verdict: Verdict, random: Random) -> Fault | None:
    """The first fault of a verdict on an equation in one variable."""
    if verdict.grade is Grade.UNDECIDED:
        return None
    kind = _kind(verdict)
    if point := _point_against(drawn, verdict, random):
        return Fault(kind, point)
    for stretch in stretches(drawn.left, drawn.right):
        ends = (*verdict.part, *verdict.agrees)
        inner = [
            (x, found) for x, found in stretch.outcomes if not _is_next_to_an_end(ends, _folded(verdict, float(x)))
        ]
        for x, found in inner:
            if _contradicts(claimed(verdict, float(x)), found, verdict):
                is_tested = _is_inside(verdict.agrees, float(x))
                return Fault(FALSE_TEST if is_tested else kind, f"x = {mpmath.nstr(x, 15)}: {found}")
        long = stretch.high - stretch.low > SHORTEST and abs(stretch.low) + abs(stretch.high) < 1e12
        holds = len(stretch.outcomes) > 3 and all(found == HOLDS for _, found in stretch.outcomes)
        middle = float(stretch.outcomes[len(stretch.outcomes) // 2][0]) if stretch.outcomes else 0.0
        unclaimed = verdict.domain is not Domain.EVERYWHERE and claimed(verdict, middle) is not True
        if long and holds and unclaimed and abs(middle) < WINDOW:
            return Fault(MISSED_PART, f"from {stretch.low:.6g} to {stretch.high:.6g}")
    if verdict.domain is Domain.REALS:
        for x, found in whole_numbers(drawn.left, drawn.right):
            if found in (ALONE, DIFFER) and claimed(verdict, float(x)) and not _is_excepted(verdict, x):
                return Fault(MISSED_EXCEPTION, f"x = {mpmath.nstr(x, 15)}: {found}")
    return None


def claimed(verdict: Verdict, x: float) -> bool | None:
    """Whether a verdict says that the equation holds at a real number, or that it does not; None if it says nothing."""
    if verdict.domain is Domain.EVERYWHERE:  # by principal values: of odd roots these are others
        return None if any("by principal values" in note for note in verdict.notes) else True
    if verdict.domain is Domain.REALS and not verdict.part:
        return True
    if verdict.domain is Domain.POSITIVE and not verdict.part:
        return True if x > 0 else None
    if verdict.domain is Domain.REALS:
        return True
    x = _folded(verdict, x)
    if verdict.window and not verdict.window[0] < x < verdict.window[1]:
        return None
    if _is_inside(verdict.part, x) or _is_inside(verdict.agrees, x):
        return True
    return False if verdict.only else None


def _folded(verdict: Verdict, x: float) -> float:
    """The number in the period that a verdict tells of."""
    if not verdict.window or not verdict.period or "from" in verdict.period:
        return x
    low, high = verdict.window
    return low + (x - low) % (high - low)


def _is_inside(part: Part, x: float) -> bool:
    return any(
        (piece.low is None or piece.low.value < x) and (piece.high is None or x < piece.high.value)
        for piece in part
        if not piece.is_point
    )


def _contradicts(claim: bool | None, found: str, verdict: Verdict) -> bool:
    """By the reading of the verdict: complex points everywhere, and pairs of real sides on positive reals."""
    if claim is None:
        return False
    if claim is False:
        return found == HOLDS
    if verdict.domain is Domain.EVERYWHERE or (verdict.domain is Domain.POSITIVE and not verdict.part):
        return found == DIFFER
    return found in (DIFFER, ALONE)


def _is_next_to_an_end(part: Part, x: float) -> bool:
    ends = [end.value for piece in part for end in (piece.low, piece.high) if end is not None]
    return any(abs(x - end) <= APART * max(1.0, abs(end)) for end in ends)


def _is_excepted(verdict: Verdict, x: Any) -> bool:
    """Whether a condition names a rational point, or may do so as a zero of what it says."""
    for condition in verdict.conditions:
        name, _, number = condition.partition(" = ")
        try:
            if name != verdict.variable or mpmath.mpf(Fraction(number).numerator) / Fraction(number).denominator == x:
                return True
        except ValueError:
            continue
    return False
