"""Verdicts on equations without a variable."""

from flint import acb, fmpq

from dgltree.equations.truth.case import ROOTS, Case, no_value
from dgltree.equations.truth.compare import Comparison, PointOutcome, compare
from dgltree.equations.truth.counterexamples import counterexample, written
from dgltree.equations.truth.proof import proved
from dgltree.equations.truth.rational import NoValue
from dgltree.equations.truth.region import Region
from dgltree.equations.truth.verdict import Domain, Grade, Tested, Verdict, undecided


def constant(case: Case) -> Verdict:
    """The verdict on an equation of numbers alone."""
    school, principal = (compare(program, {}, "complex") for program in (case.school, case.principal))
    found = school if school.outcome is PointOutcome.AGREE else principal
    if found.outcome is PointOutcome.DIFFER:
        return Verdict(Grade.REFUTED, counterexample=counterexample({}, found))
    if found.outcome is not PointOutcome.AGREE:
        return undecided(no_value(found) or "the values cannot be told apart with 1,024 bits")
    both = school.outcome is principal.outcome
    domain = Domain.EVERYWHERE if principal.outcome is PointOutcome.AGREE else Domain.REALS
    notes = () if both else (_constant_note(domain, principal),)
    try:
        sure = proved(case.equation, [], Region("complex" if domain is Domain.EVERYWHERE else "real"))
    except NoValue:
        sure = False
    if sure or (isinstance(found.left, fmpq) and isinstance(found.right, fmpq)):
        return Verdict(Grade.PROVED, domain, notes=notes)
    return Verdict(Grade.TESTED, domain, tested=Tested(1, 0, "", ""), notes=notes)


def _constant_note(domain: Domain, principal: Comparison) -> str:
    if domain is Domain.EVERYWHERE:
        return f"by principal values; it does not hold where {ROOTS}"
    sides = [written(side, 6) for side in (principal.left, principal.right) if isinstance(side, fmpq | acb)]
    return f"{ROOTS}; by principal values left is {sides[0]}" if sides else ROOTS
