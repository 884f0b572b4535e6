"""Verdicts that states of cells and points prove, in one real variable: the grade and the part are computed."""

from dgltree.equations.truth.proofs.line import Line
from dgltree.equations.truth.verdict import Counterexample, Domain, Grade, Verdict


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
