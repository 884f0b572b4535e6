"""Wrong answers for multiple choice: slips, each refuted, and no two equal."""

import csv
import itertools
import json
import re
from pathlib import Path

import mpmath
import pytest

from benchmarks.verdicts.mpmath_values import agrees
from dgltree import Equation, check, distractors, read_infix, write_infix
from dgltree.commands.main import main
from dgltree.equations.expressions.variables import variables
from dgltree.equations.marking import distractors as slips
from dgltree.equations.truth.judge import Judge
from dgltree.equations.typed import read_typed
from dgltree.trees.tree import Tree

with (Path(__file__).parent / "slips.tsv").open(encoding="utf-8") as opened:
    SLIPS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
POINTS = [
    {name: mpmath.mpf(k + 3 * place) / 7 for place, name in enumerate("xyab")} for k in (3, 11, 16, 25, 40, -5, -12)
]


@pytest.fixture(scope="module")
def made() -> dict[tuple[str, str], list[Tree]]:
    return {key: distractors(*key, 10) for key in {(slip["question"], slip["key"]) for slip in SLIPS}}


def differ(one: Tree, other: Tree) -> bool:
    """By values of 90 digits at points of our own."""
    return any(agrees(Equation(one, other), point, school=True, real=True) is False for point in POINTS)


@pytest.mark.slow
def test_most_slips_of_students_are_among_the_first_ten(made: dict[tuple[str, str], list[Tree]]) -> None:
    found = {"seen": 0, "kept": 0}
    for slip in SLIPS:
        wrong = read_infix(slip["wrong"])
        trees = made[slip["question"], slip["key"]]
        found[slip["half"]] += any(Judge().verdict(Equation(tree, wrong)).holds for tree in trees)
    assert found == {"seen": 28, "kept": 26}


@pytest.mark.parametrize(
    ("slip", "node", "made"),
    [
        (slips.first_and_last_only, "(x + 2)*(y - 3)", ["x*y + 2*-(3)"]),
        (slips.fractions_added, "x/y + 2/z", ["(x + 2)/(y + z)", "1/(y + z)"]),
        (slips.inverted_fraction, "x/y", ["y/x"]),
        (slips.part_of_a_sum_divided, "(x + 2*y)/z", ["x/z + 2*y", "2*y", "2*y/z + x", "x"]),
        (slips.product_of_one_term, "2*z*(x + y)", ["Mul(2, z, x) + y", "x + Mul(2, z, y)"]),
        (slips.function_of_each, "sin(2*x + y)", ["sin(2*x) + sin(y)", "sin(2*x) + y"]),
        (slips.logarithms_combined, "log(x, 3) - log(y, 3)", ["log(x - y, 3)", "log(x, 3)/log(y, 3)"]),
        (slips.wrong_sign, "x - 2*y + 3", ["Add(x, -(2*y), -3)", "Add(x, 2*y, 3)", "Add(-x, -(2*y), 3)"]),
        (
            slips.signs_of_all_factors,
            "5*(x - 3)*(x + 2)",
            ["Mul(5, x + 3, x + -2)", "5*(x - 3)^2", "Mul(5, x - 3, x + -2)"],
        ),
        (slips.forgotten_factor, "-2*x*y", ["x*y", "-2*y", "-2*x"]),
        (slips.forgotten_term, "x + y - 2", ["x + y", "x - 2", "y - 2"]),
        (slips.swapped_function, "sin(x)", ["cos(x)"]),
        (slips.wrong_number, "3", ["6", "3/2", "9", "4", "2"]),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_what_a_slip_makes_of_a_node_with_unequal_parts(slip: slips.Slip, node: str, made: list[str]) -> None:
    assert [write_infix(tree) for tree in slip(read_infix(node))] == made


@pytest.mark.slow
def test_each_is_wrong_and_no_two_are_equal(made: dict[tuple[str, str], list[Tree]]) -> None:
    for (question, key), trees in made.items():
        equation = read_typed(question).equation
        for tree in trees:
            assert check(question, tree).mark.value == "wrong"
            filled = equation.fill(tree)
            assert any(agrees(filled, point, True, True) is False for point in POINTS), (question, write_infix(tree))
            assert set(variables(tree)) <= set(variables(*equation, read_infix(key)))
        same = [pair for pair in itertools.combinations(trees, 2) if not differ(*pair)]
        assert same == [], question


@pytest.mark.parametrize(
    ("question", "answer", "written"),
    [
        ("0,5 + 0,25 = _", "0,75", r"-?\d+\.\d\d"),
        ("0.5 + 0.25 = _", read_infix("0.75"), r"-?\d+\.\d\d"),
        ("1/2 + 1/4 = _", "3/4", r"-?\d+/\d+"),
        ("x^2 = 9, x = _", "3", r"-?\d+"),
        ("x^2 = 9, x = _", "x = -3", r"-?\d+"),
        ("12.5*2 = _", "25", r"-?\d+"),
    ],
)
def test_they_have_the_form_of_the_key(question: str, answer: str | Tree, written: str) -> None:
    texts = [write_infix(tree) for tree in distractors(question, answer, 5)]
    assert len(texts) == len(set(texts)) == 5 and all(re.fullmatch(written, text) for text in texts), texts


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        ("x^2 = 16, x = _", "4, -4", "made from one solution; give one of 4, -4"),
        ("x^2 = -16, x = _", "no solution", "'no solution' is neither"),
    ],
)
def test_lists_and_claims_are_refused_in_words(question: str, answer: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distractors(question, answer)


def test_the_first_ones_to_a_binomial() -> None:
    texts = [write_infix(tree) for tree in distractors("(x + 3)^2 = _", "x^2 + 6x + 9")]
    assert texts == ["x^2 + 9", "(x - 3)^2", "x^2 + 6*x - 9"]


@pytest.mark.parametrize(
    ("equation", "answer", "error"),
    [
        ("x + _ = 5", "x",
         "wrong answers are made from a right one; x is wrong: at x = 1 left is 2, right is 5"),
        ("_1 + _2 = 5", "2, 3", "wrong answers need exactly one blank, but the equation has 2"),
    ],
)  # fmt: skip
def test_what_has_no_right_answer_or_several_blanks_is_refused(equation: str, answer: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        distractors(equation, answer)
    assert str(refused.value) == error


def test_the_command_prints_them_under_the_fillers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "x^2 - 5x + 6 = (x - 2)_", "--top", "1", "--distractors", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "      wrong: x + 3, -x - 3"
    assert main(["complete", "x + 2 = x + _", "x + _1 = y + _2", "--distractors", "2", "--json"]) == 0
    rows = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [len(row["distractors"]) for row in rows] == [2, 0]


def test_they_are_for_printed_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["complete", "x.parquet", "--ray", "--out", "answers", "--distractors", "2"])
    [error] = capsys.readouterr().err.splitlines()
    reason = "--distractors works only without --ray, which writes files"
    assert error == f"dgltree complete: error: {reason}; see dgltree complete --help"
