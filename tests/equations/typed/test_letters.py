"""Letters side by side: the formulas of letters.tsv, labelled before the reader was written, and what is noted."""

import csv
from pathlib import Path

import pytest

import dgltree
from dgltree.commands.main import main
from dgltree.equations.typed import read_question, read_typed
from dgltree.equations.typed.spelling import GREEK_LETTERS
from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation

LINES = Path(__file__).parent / "letters.tsv"
NAMES = str.maketrans(GREEK_LETTERS)
MISSED = {
    "AB = 2x + 3": "a product with a note: one length alone is not told from PV = nRT",
    "-ab = (-a)b": "the sign is that of a, as in strict infix: the same value",
}
"""Formulas that are not read as they are meant, each refused or with a note."""


def lines() -> list[dict[str, str]]:
    with LINES.open(encoding="utf-8") as opened:
        return list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))


def read(text: str) -> str:
    try:
        return write_equation(read_typed(text).equation).translate(NAMES)
    except ValueError:
        return "refused"


@pytest.mark.parametrize("row", lines(), ids=lambda row: row["line"])
def test_a_formula_is_read_as_it_is_meant(row: dict[str, str]) -> None:
    expected = row["expected"] if row["expected"] == "refused" else write_equation(read_equation(row["expected"]))
    assert (read(row["line"]) == expected) != (row["line"] in MISSED)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("F = ma", ["letters side by side are a product: ma is m*a; --names ma keeps names"]),
        ("$PV = nRT$", ["letters side by side are a product: PV is P*V, nRT is n*R*T; --names PV,nRT keeps names"]),
        ("mass*velocity = p", ["mass, velocity are one name each; write * for a product"]),
        ("area = lw", ["letters side by side are a product: lw is l*w; --names lw keeps names",
                       "area is one name; write * for a product"]),
        ("x_1 + x2 = \\alpha", []),
        ("sin(x) = exp(pi)", []),
    ],
)  # fmt: skip
def test_every_run_of_letters_is_noted(text: str, notes: list[str]) -> None:
    assert list(read_typed(text).notes) == notes


def test_what_is_asked_for_and_what_is_named_stays_one_name() -> None:
    assert write_equation(read_question("KE = 1/2 mv^2, KE = _").equation) == "_ = 1/2*m*v^2"
    assert write_equation(read_question("y = mx + b, m = _").equation) == "y = _*x + b"
    assert write_equation(read_typed("F = ma", {"ma"}).equation) == "F = ma"
    assert dgltree.verify("ke = ek").verdict.holds
    assert not dgltree.verify("ke = ek", names=["ke"]).verdict.holds


def test_the_right_answer_with_letters_is_right_and_the_slip_is_wrong() -> None:
    for equation, right, wrong in (
        ("(ab)^2 = _", "a^2b^2", "ab^2"),
        ("(2ab)^3 = _", "8a^3b^3", "2ab^3"),
        ("2ab · 3ab = _", "6a^2b^2", "6ab"),
        (r"\frac{ab+ac}{a} = _", "b+c", "b+ac"),
        ("|ab| = _", "|a||b|", "ab"),
        (r"\sqrt{ab} = _", r"\sqrt{ba}", "ab"),
        (r"\ln(xy) = _", r"\ln(yx)", r"xy"),
        ("(pq)^{-1} = _", "1/(pq)", "p/q"),
        ("3xy + 2xy = _", "5xy", "5x^2y^2"),
    ):
        assert dgltree.check(equation, right).mark.value == "right", equation
        assert dgltree.check(equation, wrong).mark.value in ("wrong", "part"), equation


def test_the_commands_print_the_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "xy = yx", "--json"]) == 0
    assert main(["check", "2x = _", "xx", "--names", "foo,bar"]) == 0
    out = capsys.readouterr().out
    assert out.count("letters side by side are a product") == 2
    with pytest.raises(SystemExit):
        main(["verify", "x = x", "--names", "2x"])
    assert "'2x' is not a name; write --names KE,PE" in capsys.readouterr().err
