"""Intervals that are found at points: none of them is claimed beyond what its equation does between these points."""

import random

import mpmath
import pytest
from flint import fmpq

from dgltree import verify
from dgltree.equations.truth.judge import _single_points, numeric_part
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.verdict import End, Interval
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


@pytest.mark.parametrize(
    ("equation", "ends"),
    [
        ("abs(sin(x)) = sin(x)", [("0", "pi", True, True)]),
        ("(tan(x)^6)^(1/6) = tan(x)", [("0", "pi/2", True, False)]),
        ("exp(abs(log((x - 4)/(x + 5)))) = (x - 4)/(x + 5)", [("-20", "-5", True, False)]),
        ("exp(abs(log(sinh(x)))) = sinh(x)", [("0.881374", "20", True, True)]),
    ],
)
def test_a_tested_part_has_all_its_ends_and_says_which_are_in_it(
    equation: str, ends: list[tuple[str, str, bool, bool]]
) -> None:
    found = verify(equation).verdict
    assert [tuple(piece.described.values()) for piece in found.part] == ends
    assert None not in [end for piece in found.described["part"] for end in piece.values()]


@pytest.mark.parametrize(
    ("equation", "place"),
    [
        ("asin(cos(x - sqrt(x))) = pi/2 - x + sqrt(x)", "between -20 and 20 it holds for x at 0 and from 1 to 5.48322"),
        (
            "log(exp(x^(2/3) - 1))*2*atan(2^x - 7/3) = (x^(2/3) - 1)*atan(2*(2^x - 7/3)/(1 - (2^x - 7/3)^2))",
            "between -20 and 20 it holds for x at -1 and from 0.415037 to 1.73697",
        ),
    ],
)
def test_a_part_has_single_numbers_at_which_an_equation_holds_as_well(equation: str, place: str) -> None:
    assert verify(equation).verdict.place.startswith(place)


def test_an_interval_around_one_point_of_the_grid_is_seen() -> None:
    middle = "abs(x - 7251/1000)"  # 7 + 1/4 + 1/1000
    program = Program(read_typed(f"abs({middle} - 1/20) = 1/20 - {middle}").equation, school=True)
    [piece] = numeric_part("x", program)
    assert piece.low is not None and piece.high is not None
    assert (str(piece.low), str(piece.high)) == ("7201/1000", "7301/1000")


def test_a_number_within_an_interval_that_was_not_seen_is_no_single_one() -> None:
    seen = Interval(End("0", 0.0), End("1", 1.0), True, True)
    plain = [(fmpq(k), fmpq(k)) for k in (1, 3)]
    assert [str(piece.low) for piece in _single_points(plain, [seen], lambda x: x == 3)] == ["3"]
    assert list(_single_points(plain, [seen], lambda x: True)) == []


def test_what_is_left_of_digits_that_cancel_is_0() -> None:
    shown = verify("cos(n*pi/2) = 2*sin(pi*n)").counterexample
    assert shown is not None and "e-" not in shown.left + shown.right
