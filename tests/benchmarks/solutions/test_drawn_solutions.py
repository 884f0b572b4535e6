"""Solutions of drawn equations: a small draw, and an oracle that sees each kind of fault."""

from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from benchmarks.solutions import oracle
from benchmarks.solutions.claims import Claims, read
from benchmarks.solutions.drawn import FAMILIES, add, draw, over, polynomial, times
from benchmarks.solutions.faults import FALSE, LOST, LOST_WITH_A_WORD, MORE, fault_of, row
from benchmarks.solutions.kept import KEPT
from benchmarks.verdicts.shapes import DrawnEquation, Expression, X, minus, number, power
from dgltree import read_equation
from tasks.equations.__main__ import main

CUBIC = DrawnEquation("", polynomial([0, 1, -3, 0, 1]), number(0))
"""x^4 - 3x^2 + x = 0"""
TANGENT = DrawnEquation("", minus(power(("tan", X), 2), ("tan", X)), number(0))
ABSOLUTE = DrawnEquation("", ("abs", X), X)
SOLUTIONS = ("0", "2*cos(2*pi/9)", "2*cos(4*pi/9)", "2*cos(8*pi/9)")


def claims(*numbers: str, period: str = "", none: bool = False, more: bool = False, not_single: bool = False) -> Claims:
    return Claims(tuple((text, "." in text) for text in numbers), period, none, more, not_single, "")


@pytest.mark.slow
def test_no_solution_of_a_small_draw_is_lost_or_false() -> None:
    rows = [row(draw(k, 7, {**FAMILIES, **KEPT})) for k in range(12)]
    assert [one for one in rows if one["fault"] and one["fault"]["kind"] in (LOST, FALSE)] == []


@pytest.mark.parametrize(
    ("drawn", "said", "kind"),
    [
        (CUBIC, claims("0"), LOST),
        (CUBIC, claims("0", more=True), LOST_WITH_A_WORD),
        (CUBIC, claims(none=True), LOST),
        (CUBIC, claims(*SOLUTIONS), None),
        (CUBIC, claims(*SOLUTIONS, more=True), MORE),
        (CUBIC, claims(*SOLUTIONS, "1"), FALSE),
        (CUBIC, claims("0", "0.347296355334", "1.53208888624", "-1.87938524157"), None),
        (CUBIC, claims("0", "0.347296355339", "1.53208888624", "-1.87938524157"), FALSE),
        (TANGENT, claims("0", "pi/4", period="pi"), None),
        (TANGENT, claims("0", "pi/4", "1.57079632679", period="pi"), FALSE),
        (TANGENT, claims("0", "pi/4"), LOST),
        (ABSOLUTE, claims("1"), LOST),
        (ABSOLUTE, claims(not_single=True), None),
    ],
)
def test_the_oracle_sees_each_kind_of_fault(drawn: DrawnEquation, said: Claims, kind: str | None) -> None:
    fault = fault_of(drawn, said)
    assert (fault and fault.kind) == kind


@pytest.mark.parametrize(
    ("left", "right", "roots"),
    [
        (power(add(X, number(-1)), 2), number(0), [1]),
        (times(("sqrt", add(X, number(-2))), add(X, number(1))), number(0), [2]),
        (times(X, ("log", X)), number(0), [1]),
        (over(times(add(X, number(-3)), X), add(X, number(-3))), number(0), [0]),
        (over(number(1), X), number(0), []),
        (power(X, Fraction(2, 3)), number(4), [-8, 8]),
        (("log", add(X, number(-4))), ("log", minus(times(number(2), X), number(1))), []),
        (("exp", X), add(X, number(1)), [0]),
    ],
)
def test_roots_are_where_both_sides_are_real(left: Expression, right: Expression, roots: list[float]) -> None:
    found = oracle.roots(DrawnEquation("", left, right))
    assert [float(x) for x in found.numbers] == pytest.approx(roots, abs=1e-12)


def test_an_answer_is_read_with_the_usual_order_of_operations() -> None:
    with mpmath.workdps(30):
        for text, value in (("-2^2 + 3*4/2", 2), ("2^-1", 0.5), ("-(8)^(1/3)", -2), ("log(8, 2) - cos(pi)", 4)):
            assert oracle.value(read(text), 0) == pytest.approx(value)
    with pytest.raises(ValueError, match="i"):
        read("2*i")


def test_an_equation_of_a_number_is_always_the_same_and_can_be_read() -> None:
    assert draw(3, 0, FAMILIES) == draw(3, 0, FAMILIES) != draw(3, 1, FAMILIES)
    for k in range(100):
        read_equation(str(draw(k, 0, {**FAMILIES, **KEPT})))
    assert not set(FAMILIES) & set(KEPT)


def test_the_command_counts_the_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.jsonl"
    assert main(["solutions", "--count", "3", "--seconds", "60", "--family", "p = q", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("3 equations: 0 lost without a word, 0 false")
    assert len(out.read_text().splitlines()) == 3
    with pytest.raises(SystemExit):
        main(["solutions", "--family", "none"])
