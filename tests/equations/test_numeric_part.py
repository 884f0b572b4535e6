"""Intervals that are found at points: none of them is claimed beyond what its equation does between these points."""

import random

import mpmath
import pytest

from dgltree.equations.truth.judge import numeric_part
from dgltree.equations.truth.program import Program
from dgltree.equations.typed import read_typed

POINTS = 4000


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("abs(sin(x^3)) = sin(abs(x^3))", lambda x: abs(mpmath.sin(x**3)) - mpmath.sin(abs(x**3))),
        (
            "abs(sin(tan(x))) = sin(abs(tan(x)))",
            lambda x: abs(mpmath.sin(mpmath.tan(x))) - mpmath.sin(abs(mpmath.tan(x))),
        ),
        ("abs(sin(x^2)) = sin(x^2)", lambda x: abs(mpmath.sin(x**2)) - mpmath.sin(x**2)),
        ("abs(sin(40*x)) = sin(40*x)", lambda x: abs(mpmath.sin(40 * x)) - mpmath.sin(40 * x)),
    ],
)
def test_an_equation_that_changes_fast_holds_all_through_its_intervals(text: str, difference) -> None:
    found = numeric_part("x", Program(read_typed(text).equation, school=True))
    draw = random.Random(0)
    for part in found:
        low, high = (end if outer is None else float(outer.value) for end, outer in ((-20, part.low), (20, part.high)))
        for _ in range(POINTS):
            x = draw.uniform(low, high)
            if min(x - low, high - x) > 1e-9:
                assert abs(difference(x)) < 1e-9, (x, str(part))
