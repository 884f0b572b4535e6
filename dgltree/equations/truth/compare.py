"""Comparison of the two sides of an equation at one point, by balls."""

import enum
from collections.abc import Mapping
from typing import NamedTuple

from flint import arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball, is_real, settle, snap
from dgltree.equations.truth.program import Program

BITS = (64, 320, 1024)
"""Bits of the values, until they decide."""
TIGHT = 200
"""Bits to which balls have to agree: 60 digits."""


class PointOutcome(enum.Enum):
    """Of two sides at a point."""

    AGREE = "agree"
    DIFFER = "differ"
    LEFT_ALONE = "left alone"
    """The left side has a value, and the right one has none."""
    RIGHT_ALONE = "right alone"
    APART = "apart"
    """They are not the same, and one of them is real; whether the other is, that is open."""
    NO_VALUE = "no value"
    """Neither side has one."""
    BLURRED = "blurred"
    """They meet, and a term is too small next to its sum to be seen."""
    OPEN = "open"
    """The balls do not decide."""


ONE_SIDED = (PointOutcome.LEFT_ALONE, PointOutcome.RIGHT_ALONE, PointOutcome.APART)


class Comparison(NamedTuple):
    """An outcome, and the values that show it."""

    outcome: PointOutcome
    left: Ball
    right: Ball


Reading = str
"""Which values count: ``complex``; ``real``, if the sides have to be; ``positive``, if only real pairs count."""


def compare(program: Program, point: Mapping[str, Ball], reading: Reading, bits: tuple[int, ...] = BITS) -> Comparison:
    """The outcome at a point; a side that is not real counts as one without a value, unless ``reading`` is complex."""
    found = Comparison(PointOutcome.OPEN, None, None)
    for count in bits:
        values = program.values(point, count)
        left, right = (values[side] for side in program.sides)
        with ctx.workprec(count):
            found = Comparison(_outcome(left, right, reading != "complex"), left, right)
        exact = _exact(left) and _exact(right)
        if found.outcome is PointOutcome.AGREE and not exact and program.swallows(values, count):
            found = found._replace(outcome=PointOutcome.BLURRED)
        if found.outcome not in (PointOutcome.OPEN, PointOutcome.APART, PointOutcome.BLURRED):
            return found
    return found


def compare_settled(program: Program, point: Mapping[str, Ball], reading: Reading, bits: int = BITS[-1]) -> Comparison:
    """The outcome if balls leave open on which side of a branch cut, or of the real line, a value is: on it."""
    left, right = program.at(point, bits, settle)
    with ctx.workprec(bits):
        return Comparison(_outcome(left, right, reading != "complex"), left, right)


def compare_end(program: Program, point: Mapping[str, Ball], bits: int) -> Comparison:
    """The outcome in reals at an end of a part, which is known to so many bits."""
    left, right = program.at(point, bits, snap)
    with ctx.workprec(bits):
        return Comparison(_outcome(left, right, real=True), left, right)


def counts_against(outcome: PointOutcome, reading: Reading) -> bool:
    """Whether an equation is false in a reading that has such a point."""
    return outcome is PointOutcome.DIFFER or (reading == "real" and outcome in ONE_SIDED)


def _outcome(left: Ball, right: Ball, real: bool) -> PointOutcome:
    there = [_has_value(side, real) for side in (left, right)]
    if there == [False, False]:
        return PointOutcome.NO_VALUE
    if there == [True, False]:
        return PointOutcome.LEFT_ALONE
    if there == [False, True]:
        return PointOutcome.RIGHT_ALONE
    if _exact(left) and _exact(right):
        return PointOutcome.AGREE if left == right else PointOutcome.DIFFER
    if not (left is not None and right is not None and _finite(left) and _finite(right)):
        return PointOutcome.OPEN
    if not ball(left).overlaps(ball(right)):
        return {0: PointOutcome.OPEN, 1: PointOutcome.APART, 2: PointOutcome.DIFFER}[there.count(True)]
    return PointOutcome.AGREE if _tight(left, right) else PointOutcome.OPEN


def _has_value(side: Ball, real: bool) -> bool | None:
    """None if the ball leaves it open."""
    if side is None:
        return False
    if not _finite(side):
        return None
    return is_real(side) if real else True


def _exact(side: Ball) -> bool:
    return isinstance(side, fmpq)


def _finite(side: Ball) -> bool:
    return _exact(side) or bool(side.is_finite())


def _tight(left: Ball, right: Ball) -> bool:
    """Whether balls that meet leave no room for a difference in the first 60 digits."""
    difference = ball(left) - ball(right)
    scale = 1 + abs(ball(left)).abs_upper()
    return bool(abs(difference).abs_upper() / scale < arb(2) ** -TIGHT)
