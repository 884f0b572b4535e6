"""Verdicts on equations in several real variables."""

from itertools import islice

from dgltree.equations.truth.conditions import conditions
from dgltree.equations.truth.judged_equation import (
    DOMAINS,
    FIRST_POINTS,
    MIN_TESTED_POINTS,
    PROOF_CHECK_POINTS,
    ROOTS,
    JudgedEquation,
)
from dgltree.equations.truth.proofs.domains import have_same_domain
from dgltree.equations.truth.sample_points import plain_first, points
from dgltree.equations.truth.verdict import Domain, Grade, Verdict, undecided


def several(case: JudgedEquation) -> Verdict:
    """Whether an equation holds at all real or all positive points that does not hold at all complex ones."""
    for domain in (Domain.REALS, Domain.POSITIVE):
        kind = DOMAINS[domain]
        if case.trial(kind, islice(points(case.names, kind), FIRST_POINTS)).against is not None:
            continue
        sure = case.proved(kind)
        if domain is Domain.REALS:  # at positive points both sides have to have a value
            sure = sure and have_same_domain(case.equation, case.names)
        trial = case.trial(kind, islice(points(case.names, kind), 2 * PROOF_CHECK_POINTS if sure else None))
        if (
            trial.against is not None
            or trial.holes > case.most_holes
            or trial.agreed < (1 if sure else MIN_TESTED_POINTS)
        ):
            continue
        if not sure and case.next_to_breakpoints(kind) is not None:
            continue
        notes: tuple[str, ...] = (ROOTS,) if case.roots and domain is Domain.REALS else ()
        but = conditions(case.equation) if domain is Domain.REALS else ()
        against = None
        if domain is Domain.POSITIVE:
            real = case.trial("real", plain_first(case.names, "real")).against
            against = case.counterexample(*real) if real is not None else None
        return Verdict(
            Grade.PROVED if sure else Grade.TESTED, domain, conditions=but, notes=notes, counterexample=against,
            tested=None if sure else case.tested(trial, kind), both_real=domain is Domain.POSITIVE and trial.apart > 0,
        )  # fmt: skip
    for kind in ("positive", "real", "complex"):
        against_point = case.trial(kind, plain_first(case.names, kind)).against
        if against_point is not None:
            return Verdict(Grade.REFUTED, counterexample=case.counterexample(*against_point))
    return undecided("too few points at which both sides have a value")
