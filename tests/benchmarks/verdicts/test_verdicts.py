"""The check of verdicts on mutated equations by values that share no code with the judge."""

import json
from pathlib import Path
from random import Random

import mpmath
import pytest

from benchmarks.verdicts import claims
from benchmarks.verdicts.claims import Check, check
from benchmarks.verdicts.command import read_rows, report, row
from benchmarks.verdicts.mpmath_values import agrees, value
from benchmarks.verdicts.mutations import equation
from dgltree import read_equation, read_infix
from dgltree.equations.truth.verdict import Domain, End, Grade, Interval, Verdict
from tasks.equations.__main__ import main

SAMPLE = 10


def tried(text: str, verdict: Verdict) -> Check:
    return check(read_equation(text), ["x"], verdict, Random(0))


@pytest.mark.parametrize("first", [0, pytest.param(SAMPLE, marks=pytest.mark.slow)])
def test_no_claim_about_a_sample_is_contradicted(first: int) -> None:
    rows = [row((number, 7, False)) for number in range(first, 3 * first or SAMPLE)]
    assert [one for one in rows if one["wrong"]] == []
    assert sum(one["points"] > 0 for one in rows) > len(rows) / 3


def test_an_equation_of_a_number_is_always_the_same() -> None:
    assert equation(3, 0) == equation(3, 0) != equation(3, 1)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("sqrt(x^2) = x", Verdict(Grade.TESTED, Domain.REALS, "x")),
        ("log(exp(x)) = x", Verdict(Grade.TESTED, Domain.EVERYWHERE, "x")),
        ("acos(cos(x)) = x", Verdict(Grade.TESTED, Domain.POSITIVE, "x")),
        ("log(exp(x)) + log(exp(-x)) = 0", Verdict(Grade.TESTED, Domain.EVERYWHERE, "x")),
        ("sqrt(x^2) = x", Verdict(Grade.PROVED, Domain.PART, "x", (Interval(End("-0.001", -0.001), None),))),
        ("sqrt(x^2) = x", Verdict(Grade.PROVED, Domain.PART, "x", (Interval(End("1", 1.0), None),), only=True)),
    ],
)
def test_a_false_claim_is_contradicted(text: str, claim: Verdict) -> None:
    assert tried(text, claim).wrong is not None


def test_a_true_claim_and_none_are_not() -> None:
    part = Verdict(Grade.PROVED, Domain.PART, "x", (Interval(End("0", 0.0), None, True),), only=True)
    assert tried("sqrt(x^2) = x", part).wrong is None
    assert tried("sqrt(x^2) = x", part).points > 16
    assert tried("x = x + 1", Verdict(Grade.REFUTED)) == Check(0, None)


def test_values_on_an_axis_are_on_it_and_cancelled_digits_are_looked_at_again() -> None:
    with mpmath.workdps(600):
        turned = mpmath.mpc(1, mpmath.pi)
    assert agrees(read_equation("log(exp(x)) + log(exp(-x)) = 0"), {"x": turned}, school=False, real=False) is False
    assert agrees(read_equation("sin(x)^2 + cos(x)^2 = 1"), {"x": mpmath.mpc(1, 100)}, False, False) is True
    assert agrees(read_equation("exp(exp(x)) = 1"), {"x": mpmath.mpf(50)}, False, False) is None


@pytest.mark.parametrize(
    ("power", "school", "principal"),
    [
        ("(-8)^(1/3)", -2, 1 + 1.7320508j),
        ("(-8)^(2/3)", 4, -2 + 3.4641016j),
        ("(-8)^(-2/3)", 0.25, -0.125 - 0.2165064j),
    ],
)
def test_odd_roots_of_negative_numbers_are_real_in_school_alone(power: str, school: float, principal: complex) -> None:
    assert complex(value(read_infix(power), {}, True)) == pytest.approx(school)
    assert complex(value(read_infix(power), {}, False)) == pytest.approx(principal)


def test_points_are_counted_where_something_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third point is out of range."""
    asked = []

    def sides(*_: object) -> tuple[mpmath.mpf, mpmath.mpf] | None:
        asked.append(None)
        return None if len(asked) % 3 == 0 else (mpmath.mpf(1), mpmath.mpf(1))

    monkeypatch.setattr(claims, "_sides", sides)
    for domain in (Domain.EVERYWHERE, Domain.REALS, Domain.POSITIVE):
        asked.clear()
        found = tried("x = x", Verdict(Grade.PROVED, domain, "x"))
        assert found == Check(claims.POINTS - claims.POINTS // 3, None)
        assert len(asked) == claims.POINTS
    monkeypatch.undo()
    assert tried("exp(exp(exp(x^2 + 9))) = 1", Verdict(Grade.PROVED, Domain.REALS, "x")) == Check(0, None)


def test_the_command_goes_on_where_it_was_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "verdicts.jsonl"
    assert main(["verdicts", "--count", "3", "--out", str(out)]) == 0
    whole = out.read_text(encoding="utf-8")
    first, second, _ = whole.splitlines(keepends=True)
    out.write_text(first + second[:20], encoding="utf-8")
    capsys.readouterr()
    assert main(["verdicts", "--count", "3", "--out", str(out)]) == 0
    assert [one | {"seconds": 0} for one in read_rows(out)] == [
        json.loads(line) | {"seconds": 0} for line in whole.splitlines()
    ]
    assert capsys.readouterr().out.splitlines() == report(read_rows(out))


def test_a_contradicted_verdict_is_told_and_is_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "verdicts.jsonl"
    wrong = {"point": "x = -1", "left": "1.0", "right": "-1.0"}
    made = {
        "number": 0,
        "equation": "sqrt(x^2) = x",
        "grade": "tested",
        "domain": "reals",
        "verdict": "holds",
        "points": 4,
    }
    out.write_text(json.dumps({**made, "points": 4, "wrong": wrong, "seconds": 0.02}) + "\n", encoding="utf-8")
    assert main(["verdicts", "--count", "1", "--out", str(out)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "      1  tested reals",
        "1 equations, 1 claims at 4 points, 1 contradicted",
        "CPU: median 20 ms, 95 % under 20 ms, at most 0.0 s",
        "sqrt(x^2) = x",
        "    holds",
        f"    {wrong}",
    ]
