"""Verdicts on equations in several real variables."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from random import Random

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
from dgltree.equations.truth.proofs.expression import Expression, X, number
from dgltree.equations.truth.proofs.line import line_along
from dgltree.equations.truth.proofs.place import to_fmpq
from dgltree.equations.truth.sample_points import Point, plain_first, points
from dgltree.equations.truth.verdict import Domain, Doubt, Grade, Verdict, undecided

MAX_PARALLEL, SLANTING = 9, 3
"""Lines along which an equation is tried that agrees at points."""


def several(case: JudgedEquation) -> Verdict:
    """Whether an equation holds at all real or all positive points that does not hold at all complex ones."""
    elsewhere = None
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
        if not sure:
            along_lines = case.trial(kind, _points_of_lines(case, kind)).against
            elsewhere = along_lines or case.next_to_breakpoints(kind)  # which functions without rules have, too
            if elsewhere is not None:
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
        refuting = case.trial(kind, plain_first(case.names, kind)).against
        elsewhere = elsewhere if refuting is None else refuting
        if elsewhere is not None:
            return Verdict(Grade.REFUTED, counterexample=case.counterexample(*elsewhere))
    return undecided("too few points at which both sides have a value", Doubt.NOT_COMPARED)


def _points_of_lines(case: JudgedEquation, kind: str) -> Iterator[Point]:
    """Points of some lines: where proofs find that it fails, between all cuts and next to them.

    Points at random agree wherever |A + |B|| = A + |B| holds on most of the plane; on a line it is seen where it ends.
    """
    for line in _lines(case.names):
        letters: dict[str, Expression] = {name: ("+", number(a), ("*", number(b), X)) for name, (a, b) in line.items()}
        found = line_along(case.equation, letters, "t")
        for t in () if found is None else (*found.points_of_failure(), *found.samples()):
            point = {name: to_fmpq(a) + to_fmpq(b) * t for name, (a, b) in line.items()}
            if kind != "positive" or min(point.values()) > 0:
                yield point


def _lines(names: Sequence[str]) -> Iterator[dict[str, tuple[Fraction, Fraction]]]:
    """Start and direction by name: parallel to the axes, and some others."""
    draw = Random(f"lines of {len(names)}")
    for moving, rest in islice(product(names, (Fraction(2), Fraction(1, 3), Fraction(-3, 2))), MAX_PARALLEL):
        yield {name: (Fraction(0), Fraction(1)) if name == moving else (rest, Fraction(0)) for name in names}
    for k in range(SLANTING):
        signs = (1,) if k % 2 else (1, -1)
        ways = [draw.choice(signs) * Fraction(draw.randint(1, 9), 2) for _ in names]
        yield {name: (Fraction(draw.randint(-9, 9), 2), way) for name, way in zip(names, ways, strict=True)}
