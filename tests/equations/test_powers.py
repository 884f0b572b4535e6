"""A power has one domain: a positive base, 0 with a positive exponent, or a whole exponent."""

import os
import random

import pytest
from flint import acb, fmpq
from mpmath_oracle import agree, mp, real_value

from dgltree import check, complete, read_equation, verify
from dgltree.equations.truth.balls import is_real, power
from dgltree.equations.truth.proofs.certificates import CellState
from dgltree.equations.truth.proofs.line import real_line

DRAWN = int(os.environ.get("DRAWN", "130"))


@pytest.mark.parametrize("base", [-3, -1, 0, fmpq(1, 2), 2])
@pytest.mark.parametrize("exponent", [-2, -1, fmpq(-1, 2), 0, fmpq(1, 3), fmpq(1, 2), 1, 2, fmpq(7, 3)])
def test_values_of_powers_are_those_of_the_one_domain(base: fmpq, exponent: fmpq) -> None:
    b, e = fmpq(base), fmpq(exponent)
    found = power(b, e)
    expected = real_value("b^e", {"b": mp.mpf(int(b.p)) / int(b.q), "e": mp.mpf(int(e.p)) / int(e.q)})
    real = found is not None and is_real(found) is True
    assert real is (expected is not None)
    if real and expected is not None:
        assert abs(float(acb(found).real.mid()) - float(expected)) < 1e-12


@pytest.mark.parametrize(
    ("equation", "place"),
    [
        ("0^x = 0", "holds for x > 0"),
        ("(-1)^x = cos(pi*x)", "holds for each whole x"),
        ("(-1)^(2*x) = 1", "holds for each whole x"),
        ("(-1)^(4*x) = 1", "holds for x = 1/2*k for each whole k"),
        ("(-1)^x = 1", "holds for x = 2*k for each whole k"),
        ("(-8)^(x/3) = (-2)^x", "holds for x = 3*k for each whole k"),
        ("(-3)^x = 2", "does not hold"),
        ("x^x = x^2", "holds for x = 1 and x = 2"),
        ("(x - abs(x))^x = 0", "holds for x > 0"),
        ("2^x = 0", "holds for no real x"),
        ("(x - 1/1000)^x = x - 1/1000", "holds for x = 1/1000 and x = 1"),
    ],
)
def test_where_powers_hold(equation: str, place: str) -> None:
    assert verify(equation).verdict.place == place


def test_what_is_not_shown_of_single_points_is_said() -> None:
    found = verify("x^x = x^2")
    assert "nothing is shown of single points" in str(found)
    assert next(one.state for one in found.why) == (
        "only the right side has a value except at single points, where an exponent is whole"
    )
    line = real_line(read_equation("(-1)^(2*x) = 1"), "x")
    assert line is not None and line.states == {CellState.ALONE} and line.leaves_out_points and not line.only
    line = real_line(read_equation("log(-1 - x^2) = 1"), "x")
    assert line is not None and not line.leaves_out_points and line.only


@pytest.mark.parametrize(("question", "answers", "more"), [("(-2)^x = 4", ["2"], True), ("0^x = 0", [], False)])
def test_solutions_of_powers(question: str, answers: list[str], more: bool) -> None:
    found = complete(f"{question}, x = _", budget=12_000)
    assert ([str(filler) for filler in found.fillers], found.more) == (answers, more)


def test_an_equation_of_powers_of_0_has_one_mark_for_opposite_claims() -> None:
    assert check("0^x = 0, x = _", "no solution").mark.value == "wrong"
    assert check("0^x = 0, x = _", "2").mark.value == "incomplete"


BASES = ["x", "0", "-1", "-2", "2", "x - 1", "abs(x)", "x - abs(x)", "1 - x^2", "x^2", "exp(x)", "-(x^2)"]
EXPONENTS = ["x", "2*x", "x - 1", "1/x", "abs(x)", "-x", "x + 1/2", "2", "x^2"]
OTHERS = ["1", "0", "x", "4", "exp(x)", "-1", "x^2"]


@pytest.mark.slow
def test_states_of_drawn_powers_are_those_of_values_at_points() -> None:
    draw, seen = random.Random(int(os.environ.get("SEED", "98"))), dict[str, int]()
    for _ in range(DRAWN):
        sides = [f"({draw.choice(BASES)})^({draw.choice(EXPONENTS)})", draw.choice(OTHERS)]
        if draw.random() < 0.3:
            sides[1] = f"({draw.choice(BASES)})^({draw.choice(EXPONENTS)})"
        line = real_line(read_equation(" = ".join(sides)), "x")
        if line is None:
            continue
        cuts = [(float(cut.low), float(cut.high)) for cut in line.certificate.cuts]
        ends = [-1e4, *(end for cut in cuts for end in cut), 1e4]
        for k, shown in enumerate(line.cells):
            low, high = ends[2 * k], ends[2 * k + 1]
            seen[shown.state.value] = seen.get(shown.state.value, 0) + 1
            wrong = []
            whole = [mp.mpf(n) for n in range(-9, 10) if low < n < high]
            drawn = [
                mp.mpf(low) + (mp.mpf(high) - low) * mp.mpf(draw.random()) ** draw.choice((1, 4)) for _ in range(9)
            ]
            for x in [*drawn, *whole, *(n + mp.mpf(1) / 2 for n in whole if low < n + 0.5 < high)]:
                left, right = (real_value(side, {"x": x}) for side in sides)
                if not fits(shown.state, left, right):
                    wrong.append(str(x))
            row = sides, shown, (low, high), wrong[:4]
            if shown.except_points or shown.exceptions:
                assert all(mp.mpf(x) * 2 == mp.floor(mp.mpf(x) * 2) for x in wrong), row
            else:
                assert not wrong, row
    print(seen)
    assert seen["holds"] and seen["none"] and seen["alone"] and seen["apart"]


def fits(state: CellState, left: object, right: object) -> bool:
    match state:
        case CellState.HOLDS:
            return agree(left, right)
        case CellState.NONE:
            return left is None and right is None
        case CellState.ALONE:
            return (left is None) != (right is None)
        case CellState.APART:
            return left is not None and right is not None and left != right
    return True


@pytest.mark.parametrize(
    ("question", "answer", "mark"),
    [
        ("(-1)^n = _", "cos(n pi)", "right"),  # as it is where (-1)^n is real
        ("cos(n pi) = _", "(-1)^n", "part"),
        ("(-1)^n = _", "1", "wrong"),
        ("(-8)^(n/3) = _", "(-2)^n", "right"),
        ("(-2)^n = _", "(-8)^(n/3)", "wrong"),
    ],
)
def test_marks_of_what_holds_at_whole_numbers(question: str, answer: str, mark: str) -> None:
    assert check(question, answer).mark.value == mark
