"""Verdicts on equations drawn by shape: a small draw of fixed seed, and an oracle that sees each kind of fault."""

from fractions import Fraction
from pathlib import Path
from random import Random

import mpmath
import pytest

from benchmarks.verdicts.drawn_verdicts import (
    FALSE_PROOF,
    FALSE_TEST,
    MISSED_EXCEPTION,
    MISSED_PART,
    fault_in_plane,
    fault_of,
    row,
)
from benchmarks.verdicts.line_oracle import ALONE, DIFFER, HOLDS, NONE, outcome, value
from benchmarks.verdicts.shapes import (
    FAMILIES,
    KEPT,
    DrawnEquation,
    Expression,
    X,
    Y,
    draw,
    in_other_words,
    minus,
    number,
    power,
    text,
)
from dgltree import read_equation
from dgltree.equations.truth.verdict import Counterexample, Domain, End, Grade, Interval, Verdict
from tasks.equations.__main__ import main

SAMPLE = 12
ROOT = DrawnEquation("", ("sqrt", power(X, 2)), X)
SQUARE = DrawnEquation("", power(("sqrt", X), 2), X)
HOLE = DrawnEquation("", ("/", X, X), number(1))


@pytest.mark.slow
def test_no_verdict_of_a_small_draw_is_false() -> None:
    rows = [row((k, 11, False)) for k in range(SAMPLE)]
    false = [one for one in rows if one["fault"] and one["fault"]["kind"] in (FALSE_PROOF, FALSE_TEST)]
    assert false == []
    assert sum(one["grade"] == "proved" for one in rows) > SAMPLE / 3


def test_an_equation_of_a_number_is_always_the_same_and_can_be_read() -> None:
    assert draw(3, 0) == draw(3, 0) != draw(3, 1)
    for k in range(200):
        read_equation(str(draw(k, 0, kept=k % 2 == 1)))


def test_constants_in_other_words_are_worth_the_same() -> None:
    random = Random(0)
    for q in (Fraction(n, d) for n in (-7, -1, 1, 2, 30, 10**6) for d in (1, 3, 10**6)):
        written = {in_other_words(number(q), random) for _ in range(40)}
        assert len(written) > 4
        with mpmath.workdps(120):
            written = {e for e in written if "sin(pi)" not in text(e)}  # 0 is lost in a sum, which the oracle refuses
            assert all(abs(value(e, 1) / (mpmath.mpf(q.numerator) / q.denominator) - 1) < 1e-25 for e in written)


@pytest.mark.slow
def test_no_verdict_on_constants_in_other_words_is_false() -> None:
    rows = [row((k, 5, False), words=True) for k in range(4)]
    assert [one for one in rows if one["fault"] and one["fault"]["kind"] in (FALSE_PROOF, FALSE_TEST)] == []
    assert [one["equation"] for one in rows] != [str(draw(k, 5)) for k in range(4)]


def test_every_family_is_drawn() -> None:
    assert {draw(k, 0).family for k in range(300)} == set(FAMILIES)
    assert {draw(k, 0, kept=True).family for k in range(100)} == set(KEPT)
    assert not set(FAMILIES) & set(KEPT)


@pytest.mark.parametrize(
    ("drawn", "verdict", "kind"),
    [
        (ROOT, Verdict(Grade.PROVED, Domain.REALS, "x"), FALSE_PROOF),
        (ROOT, Verdict(Grade.TESTED, Domain.EVERYWHERE, "x"), FALSE_TEST),
        (ROOT, Verdict(Grade.PROVED, Domain.PART, "x", (Interval(End("1", 1.0), None),), only=True), FALSE_PROOF),
        (ROOT, Verdict(Grade.PROVED, Domain.PART, "x", (Interval(End("1", 1.0), None),)), MISSED_PART),
        (ROOT, Verdict(Grade.REFUTED, Domain.NONE, "x"), MISSED_PART),
        (ROOT, Verdict(Grade.PROVED, Domain.PART, "x", (Interval(End("0", 0.0), None),)), None),
        (HOLE, Verdict(Grade.PROVED, Domain.REALS, "x"), MISSED_EXCEPTION),
        (HOLE, Verdict(Grade.PROVED, Domain.REALS, "x", conditions=("x = 0",)), None),
        (ROOT, Verdict(Grade.UNDECIDED), None),
        (ROOT, Verdict(Grade.PROVED, Domain.EVERYWHERE, notes=("by principal values; ...",)), FALSE_PROOF),
        (SQUARE, Verdict(Grade.PROVED, Domain.EVERYWHERE, notes=("by principal values; ...",)), None),
        (ROOT, Verdict(Grade.REFUTED, counterexample=Counterexample({"x": "2"}, "2", "-2")), FALSE_PROOF),
    ],
)
def test_the_oracle_sees_each_kind_of_fault(drawn: DrawnEquation, verdict: Verdict, kind: str | None) -> None:
    fault = fault_of(drawn, verdict, Random(1))
    assert (fault and fault.kind) == kind


SUM = DrawnEquation("", ("abs", ("+", X, Y)), ("+", ("abs", X), ("abs", Y)))
LOGS = DrawnEquation("", ("log", ("*", X, Y)), ("+", ("log", X), ("log", Y)))


@pytest.mark.parametrize(
    ("drawn", "verdict", "kind"),
    [
        (SUM, Verdict(Grade.PROVED, Domain.REALS), FALSE_PROOF),
        (SUM, Verdict(Grade.TESTED, Domain.EVERYWHERE), FALSE_TEST),
        (SUM, Verdict(Grade.PROVED, Domain.POSITIVE), None),
        (SUM, Verdict(Grade.REFUTED, counterexample=Counterexample({"x": "1", "y": "-2"}, "1", "3")), None),
        (SUM, Verdict(Grade.REFUTED, counterexample=Counterexample({"x": "1", "y": "2"}, "3", "-3")), FALSE_PROOF),
        (LOGS, Verdict(Grade.PROVED, Domain.EVERYWHERE), FALSE_PROOF),
        (LOGS, Verdict(Grade.PROVED, Domain.REALS), FALSE_PROOF),
        (LOGS, Verdict(Grade.PROVED, Domain.POSITIVE), None),
    ],
)
def test_the_oracle_sees_faults_in_two_variables(drawn: DrawnEquation, verdict: Verdict, kind: str | None) -> None:
    fault = fault_in_plane(drawn, verdict, Random(3))
    assert (fault and fault.kind) == kind


@pytest.mark.slow
def test_no_verdict_of_a_small_draw_in_two_variables_is_false() -> None:
    rows = [row((k, 5, k % 2 == 1), two=True) for k in range(12, 20)]
    assert [one for one in rows if one["fault"]] == []


@pytest.mark.parametrize(
    ("left", "right", "x", "found"),
    [
        (("sqrt", X), ("sqrt", X), -1, NONE),
        (("sqrt", X), number(2), 4, HOLDS),
        (("sqrt", X), number(2), 5, DIFFER),
        (("*", ("sqrt", X), ("sqrt", X)), X, -1, ALONE),  # a part is not real
        (power(X, Fraction(1, 3)), number(-2), -8, HOLDS),
        (("^", number(-1), X), number(1), 2, HOLDS),
        (("^", number(-1), X), number(1), Fraction(1, 2), ALONE),
        (minus(("exp", X), ("exp", X)), number(0), 50, HOLDS),
        (("cosh", ("exp", ("exp", ("exp", X)))), X, 9, None),
    ],
)
def test_values_are_those_of_real_parts(left: Expression, right: Expression, x: float, found: str | None) -> None:
    assert outcome(left, right, float(x)) == found


def test_a_term_that_is_not_seen_in_a_sum_refutes_nothing() -> None:
    tiny = ("+", ("exp", X), number(1))
    assert outcome(minus(tiny, number(1)), ("exp", X), -416.0) == HOLDS
    assert outcome(minus(tiny, number(1)), ("exp", X), -8000.0) is None


def test_the_command_counts_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "rows.jsonl")
    assert main(["verdicts", "--shapes", "--count", "3", "--seed", "30", "--out", out]) in (0, 1)
    assert "3 equations; 0 false proofs, 0 false tests" in capsys.readouterr().out


def test_a_draw_takes_from_all_scales() -> None:
    random = Random(1)
    texts = [str(draw(random.randrange(10**6), 4)) for _ in range(300)]
    assert any("1000000" in text for text in texts) and any("1/1000000" in text for text in texts)
