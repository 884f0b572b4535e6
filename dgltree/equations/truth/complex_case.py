"""Verdicts that hold at all complex points."""

from itertools import islice

from dgltree.equations.truth.conditions import conditions
from dgltree.equations.truth.exceptional_points import exceptional_points
from dgltree.equations.truth.judged_equation import (
    FIRST_POINTS,
    MIN_TESTED_POINTS,
    PROOF_CHECK_POINTS,
    ROOTS,
    JudgedEquation,
    Trial,
)
from dgltree.equations.truth.proofs.domains import have_plainly_same_domain
from dgltree.equations.truth.proofs.verdicts import place_on_reals
from dgltree.equations.truth.sample_points import points
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Verdict, undecided


def everywhere(case: JudgedEquation) -> Verdict | None:
    """The verdict that it holds, or has no value, at all complex points; None if it does not."""
    if case.trial("complex", islice(points(case.names, "complex"), FIRST_POINTS)).against is not None:
        return None
    sure = case.proved("complex")
    checked = case.trial("complex", islice(points(case.names, "complex"), PROOF_CHECK_POINTS if sure else None))
    # a real point is a complex one, and shows where a side has no value at all
    real = case.trial("complex", islice(points(case.names, "real"), PROOF_CHECK_POINTS if sure else None))
    if checked.against or real.against or checked.holes + real.holes > case.most_holes:
        return None
    agreed = checked.agreed + real.agreed
    if not agreed:
        return undecided("a side has no value at any point that was tried", Doubt.NO_VALUE)
    if not sure and (agreed < 2 * MIN_TESTED_POINTS or case.fails_on_a_cut()):
        return None
    if len(case.names) == 1:
        but = exceptional_points(case, case.line, everywhere=True) if conditions(case.equation) else ()
    else:
        but = conditions(case.equation)
    grade = Grade.PROVED if sure else Grade.TESTED
    both = Trial(agreed, checked.skipped + real.skipped, 0, 0, None)
    tested = None if sure else case.tested(both, "complex")
    return Verdict(grade, Domain.EVERYWHERE, conditions=but, tested=tested, notes=_notes(case))


def _notes(case: JudgedEquation) -> tuple[str, ...]:
    """Where it holds on the reals, if that is less: of sqrt(x)^2 = x."""
    if len(case.names) == 1:
        if not case.roots and have_plainly_same_domain(case.equation, case.names):
            return ()
        if case.line is None or not case.line.is_broken:
            return ()
        place = place_on_reals(case.line)
        return (f"by principal values; where {ROOTS} it {place}" if case.roots else f"on the reals it {place}",)
    if not case.roots:
        return ()
    trial = case.trial("real", islice(points(case.names, "real"), PROOF_CHECK_POINTS))
    return () if trial.against is None else (f"by principal values; it does not hold where {ROOTS}",)
