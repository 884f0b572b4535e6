"""Verdicts on equations without a variable."""

from flint import acb, arb, fmpq

from dgltree.equations.truth.balls import ball
from dgltree.equations.truth.compare import Comparison, PointOutcome, compare
from dgltree.equations.truth.counterexamples import MIN_DIGITS, counterexample, write_number
from dgltree.equations.truth.judged_equation import ROOTS, JudgedEquation, no_value
from dgltree.equations.truth.proof import gap, prove
from dgltree.equations.truth.rational_functions import NoValue
from dgltree.equations.truth.region import Region
from dgltree.equations.truth.verdict import Counterexample, Domain, Doubt, Grade, Tested, Verdict, undecided

LARGE = 300
"""Powers of ten beyond which values are called large, or small."""


def constant(case: JudgedEquation) -> Verdict:
    """The verdict on an equation of numbers alone."""
    principal = compare(case.principal, {}, "complex")
    school = compare(case.school, {}, "complex") if case.roots else principal
    found = school if school.outcome is PointOutcome.AGREE else principal
    if found.outcome is PointOutcome.DIFFER:
        return Verdict(Grade.REFUTED, counterexample=counterexample({}, found))
    if found.outcome is not PointOutcome.AGREE:
        return _blurred(case, found)
    both = school.outcome is principal.outcome
    domain = Domain.EVERYWHERE if principal.outcome is PointOutcome.AGREE else Domain.REALS
    notes = () if both else (_constant_note(domain, principal),)
    try:
        sure = prove(case.equation, [], Region("complex" if domain is Domain.EVERYWHERE else "real"))
    except NoValue:
        sure = False
    if sure or (isinstance(found.left, fmpq) and isinstance(found.right, fmpq)):
        return Verdict(Grade.PROVED, domain, notes=notes)
    return Verdict(Grade.TESTED, domain, tested=Tested(1, 0, "", ""), notes=notes)


def _blurred(case: JudgedEquation, found: Comparison) -> Verdict:
    """Where numbers do not tell the values apart, the difference may: 9^9^9 is not 9^9^9 + 1."""
    if no_value(found):
        return undecided(no_value(found), Doubt.NO_VALUE)
    sign = gap(case.equation)
    if sign == 0:
        return Verdict(Grade.PROVED, Domain.EVERYWHERE)
    if sign is not None:
        left = write_number(found.left, MIN_DIGITS) if ball(found.left).is_finite() else "too large to write"
        right = "is more" if sign < 0 else "is less"
        return Verdict(Grade.REFUTED, counterexample=Counterexample({}, f"is {left}", right))
    balls = [ball(side) for side in (found.left, found.right) if side is not None]
    sizes = [abs(one).mid() for one in balls]
    if not all(one.is_finite() for one in balls) or max(sizes) > arb(10) ** LARGE:
        return undecided("the values are too large to be compared", Doubt.NOT_COMPARED)
    if max(sizes) < arb(10) ** -LARGE:
        return undecided("the values are too small to compare", Doubt.NOT_COMPARED)
    return undecided("the values cannot be told apart with 1,024 bits", Doubt.NOT_COMPARED)


def _constant_note(domain: Domain, principal: Comparison) -> str:
    if domain is Domain.EVERYWHERE:
        return f"by principal values; it does not hold where {ROOTS}"
    sides = [write_number(side, 6) for side in (principal.left, principal.right) if isinstance(side, fmpq | acb)]
    return f"{ROOTS}; by principal values left is {sides[0]}" if sides else ROOTS
