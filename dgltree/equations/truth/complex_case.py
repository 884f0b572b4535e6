"""Verdicts that hold at all complex points."""

from itertools import islice

from dgltree.equations.truth.case import CHECKED, FIRST, NEEDED, ROOTS, Case, Trial
from dgltree.equations.truth.conditions import conditions
from dgltree.equations.truth.exceptions import exceptions
from dgltree.equations.truth.part import Part
from dgltree.equations.truth.real_line import real_line
from dgltree.equations.truth.sample_points import points
from dgltree.equations.truth.verdict import Domain, Grade, Verdict, undecided


def everywhere(case: Case) -> Verdict | None:
    """The verdict that it holds, or has no value, at all complex points; None if it does not."""
    if case.trial("complex", islice(points(case.names, "complex"), FIRST)).against is not None:
        return None
    sure = case.proved("complex")
    checked = case.trial("complex", islice(points(case.names, "complex"), CHECKED if sure else None))
    # a real point is a complex one, and shows where a side has no value at all
    real = case.trial("complex", islice(points(case.names, "real"), CHECKED if sure else None))
    if checked.against or real.against or checked.holes + real.holes > case.most_holes:
        return None
    agreed = checked.agreed + real.agreed
    if not agreed:
        return undecided("a side has no value at any point that was tried")
    if not sure and (agreed < 2 * NEEDED or case.fails_on_a_cut()):
        return None
    notes = _notes(case)
    but: tuple[str, ...] = ()
    part: Part = ()
    if len(case.names) == 1 and conditions(case.equation):
        part, but = case.line.part if case.line else (), exceptions(case, case.line)
    elif len(case.names) > 1:
        but = conditions(case.equation)
    grade = Grade.PROVED if sure else Grade.TESTED
    both = Trial(agreed, checked.skipped + real.skipped, 0, 0, None)
    tested = None if sure else case.tested(both, "complex")
    variable = case.name if part else ""
    return Verdict(grade, Domain.EVERYWHERE, variable, conditions=but, tested=tested, notes=notes)


def _notes(case: Case) -> tuple[str, ...]:
    """How odd roots were read, if the other reading says something else."""
    if not case.roots:
        return ()
    trial = case.trial("real", islice(points(case.names, "real"), CHECKED))
    if trial.against is None:
        return ()
    if len(case.names) == 1:
        line = real_line(case.equation, case.name, case.school, school=True)
        if line is not None and line.part:
            place = Verdict(Grade.PROVED, Domain.PART, case.name, line.part).place
            return (f"by principal values; where {ROOTS} it {place}",)
    return (f"by principal values; it does not hold where {ROOTS}",)
