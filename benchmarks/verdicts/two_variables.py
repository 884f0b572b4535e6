"""Claims about equations in two variables along curves of the plane, and claims about complex points.

What holds in the plane holds on each of its curves, where the second variable is a number, a line or a square of
the first; the oracle of one variable looks at these.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import mpmath

from benchmarks.verdicts import mpmath_values
from benchmarks.verdicts.line_oracle import ALONE, DIFFER, HOLDS, BeyondRangeError, outcome, stretches, value
from benchmarks.verdicts.shapes import DrawnEquation, Expression, X, Y, number, power, replaced, text
from dgltree import read_equation
from dgltree.equations.truth.verdict import Domain, Grade, Verdict

COMPLEX_POINTS, FEWEST_EQUAL_DIGITS = 24, 300


def point_against(drawn: DrawnEquation, verdict: Verdict, random: Random) -> str:
    """Where a claim of the plane is false; empty if no point shows that."""
    by_principal_values = any("by principal values" in note for note in verdict.notes)  # of odd roots: not real ones
    if verdict.domain is Domain.NONE or verdict.grade is Grade.UNDECIDED or by_principal_values:
        return ""
    refuting = {DIFFER} if verdict.domain is Domain.EVERYWHERE or verdict.both_real else {DIFFER, ALONE}
    for place, found in _outcomes(drawn, random, positive=verdict.domain is Domain.POSITIVE):
        if found in refuting:
            return f"{place}: {found}"
    return ""


def is_refuted(drawn: DrawnEquation, verdict: Verdict) -> bool:
    """Whether the sides differ at the counterexample, as far as that is a point of rational numbers."""
    if verdict.counterexample is None:
        return True
    try:
        point = {name: number(value) for name, value in verdict.counterexample.variables.items()}
    except ValueError:  # it is complex, or a multiple of pi
        return True
    left, right = (
        replaced(replaced(side, Y, point.get("y", Y)), X, point.get("x", X)) for side in (drawn.left, drawn.right)
    )
    if outcome(left, right, 0) != HOLDS:
        return True
    with mpmath.workdps(2 * FEWEST_EQUAL_DIGITS):
        a, b = value(left, 0), value(right, 0)
        return bool(abs(a - b) > mpmath.mpf(10) ** -FEWEST_EQUAL_DIGITS * abs(a))


def _outcomes(drawn: DrawnEquation, random: Random, positive: bool) -> Iterator[tuple[str, str]]:
    for y in _curves(random):
        left, right = (replaced(side, Y, y) for side in (drawn.left, drawn.right))
        for stretch in stretches(left, right):
            for x, found in stretch.outcomes:
                if not positive or (x > 0 and _is_positive(y, x)):
                    yield f"x = {mpmath.nstr(x, 15)}, y = {text(y)}", found


def _curves(random: Random) -> Iterator[Expression]:
    """Next to the lines x = y and x = -y, and not on them: a point at which one side alone has a value is excepted."""
    slope, shift = (number(random.choice((-1, 1)) * random.randint(1, 40)) for _ in range(2))
    yield from (number(-2), number("7/3"), ("+", ("*", slope, X), shift), power(X, 2))
    yield from (("+", ("*", number(sign), X), number("1/1009")) for sign in (1, -1))


def _is_positive(y: Expression, x: Any) -> bool:
    try:
        return bool(value(y, x) > 0)
    except BeyondRangeError:
        return False


def complex_point_against(drawn: DrawnEquation, random: Random) -> str:
    """Where sides with complex values differ by principal values; empty if no point shows that."""
    equation = read_equation(str(drawn))
    for _ in range(COMPLEX_POINTS):
        point = {name: _complex_number(random) for name in "xy"}
        if mpmath_values.agrees(equation, point, school=False, real=False) is False:
            with mpmath.workdps(mpmath_values.DIGITS[-1]):
                sides = [mpmath_values.value(side, point, school=False) for side in equation]
            if None not in sides:
                return ", ".join(f"{name} = {mpmath.nstr(number, 12)}" for name, number in point.items())
    return ""


def _complex_number(random: Random) -> Any:
    """Of any size and angle; often next to an axis, where the cuts are."""
    size, angle = mpmath.mpf(10) ** random.uniform(-2, 1.5), random.uniform(0, 4)
    if random.random() < 0.4:
        angle = random.randint(0, 3) + random.choice((-1, 1)) * 10 ** random.uniform(-9, -1)
    return size * mpmath.expjpi(angle / 2)
