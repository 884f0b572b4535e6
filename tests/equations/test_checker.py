"""Marks of answers, and forms that are asked for."""

import csv
import io
import json
import re
import sys
from fractions import Fraction
from math import gcd
from pathlib import Path

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from dgltree import Tree, check, read_equation, read_infix
from dgltree.commands.main import main
from dgltree.equations.marking.answer_key import MAX_VALUES, within_a_period
from dgltree.equations.marking.check import Checker, Mark
from dgltree.equations.marking.forms import Polynomials, content
from dgltree.equations.typed import read_question

with (Path(__file__).parent / "check.tsv").open(encoding="utf-8") as opened:
    PAIRS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.slow
def test_every_pair_gets_the_mark_that_was_written_before_the_code() -> None:
    marks = [check(pair["equation"], pair["answer"], pair["form"] or None).mark.value for pair in PAIRS]
    assert [(pair, mark) for pair, mark in zip(PAIRS, marks, strict=True) if mark != pair["mark"]] == []


with (Path(__file__).parent / "pupils.tsv").open(encoding="utf-8") as opened:
    PUPILS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", PUPILS, ids=lambda row: f"{row['question']} {row['answer']}")
def test_what_pupils_type_gets_the_mark_that_was_written_before_the_code(row: dict[str, str]) -> None:
    try:
        mark = check(row["question"], row["answer"]).mark.value
    except ValueError:
        mark = "refused"
    assert mark == row["mark"]


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        ("5 m + 20 cm = _", "5.2 m", "right: the same quantity"),
        ("5 m + 20 cm = _", "520 cm", "right: the same quantity"),
        ("5 m + 20 cm = _", r"5,2\,\mathrm{m}", "right: the same quantity"),
        ("5 m + 20 cm = _", "5.3 m", "wrong: another quantity"),
        ("5 m + 20 cm = _", "5.2", "wrong: the unit is missing, or another quantity"),
        ("5 m + 20 cm = _", "5.2 kg", "wrong: another unit"),
        ("60 km/h * 2 h = _", "120 km", "right: the same quantity"),
        ("9.81 m/s² * 2 kg = _", "19.62 N", "right: the same quantity"),
        ("x/2 = 3 m, x = _", "x = 600 cm", "right: the same quantity"),
        ("2x + 3 = 11, x = _", "4 m", "wrong: another unit"),
        ("60/4 = _", "15", "right: holds everywhere (proved)"),
    ],
)
def test_units_are_compared_if_that_is_asked_for(asked: str, answer: str, said: str) -> None:
    pytest.importorskip("pint")
    found = check(asked, answer, units=True)
    assert (found.answer, str(found)) == (answer, said)


@pytest.mark.parametrize("answer", ["5.2 apples", "15 units", "20 °C"])
def test_what_is_no_unit_is_refused(answer: str) -> None:
    pytest.importorskip("pint")
    with pytest.raises(ValueError, match=r"neither a unit|not a multiple of a unit"):
        check("5 m + 20 cm = _", answer, units=True)


@pytest.mark.parametrize("answer", ["2 1/2", r"2\frac{1}{2}", r"2\tfrac12"])
def test_a_mixed_number_is_a_sum_if_that_is_asked_for(answer: str) -> None:
    assert check("5/2 = _", answer, mixed=True).mark is Mark.RIGHT
    assert check("1 = _", answer, mixed=True).mark is Mark.WRONG
    with pytest.raises(ValueError, match=r"can mean 2 \+ 1/2 or"):
        check("5/2 = _", answer)


def test_a_mixed_number_is_read_in_the_question_too_and_what_is_none_is_left() -> None:
    assert check("2 1/2 + x = _", "x + 5/2", mixed=True).mark is Mark.RIGHT
    assert check("3x^2 = _", "x^2 + 2x^2", mixed=True).mark is Mark.RIGHT


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        ("2(x - 3) = 2x - 6, x = _", "0", "right, but not all solutions: every x is one"),
        ("x = |x|, x = _", "3", "right, but not all solutions: it holds for x ≥ 0"),
        ("x/10 = 100, x = _", "1,000", "right: holds everywhere (proved)"),
        ("e^x = x, x = _", "no solution", "right: there is no real solution (proved)"),
        ("2x = 2x, x = _", r"x \in \mathbb{R}", "right: holds everywhere (proved)"),
    ],
)
def test_solutions_that_are_no_short_list(asked: str, answer: str, said: str) -> None:
    assert str(check(asked, answer)) == said


@pytest.mark.parametrize(
    ("asked", "answer", "message"),
    [
        ("x^2 = x, x = _", "(0, 1)", "'(0, 1)' can mean an interval or a pair; write 0, 1 for two solutions"),
        ("x/10 = 100, x = _", "1,001", "'1,001' can mean 1001, a decimal or two numbers; write the one you mean"),
        ("2x = _", "x2", "'x2' can mean x*2 or a variable x2; write the one you mean"),
    ],
)
def test_an_answer_with_two_meanings_is_refused_with_both(asked: str, answer: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        check(asked, answer)
    assert str(refused.value) == message


def test_a_rounded_decimal_is_right_if_that_is_asked_for() -> None:
    for question, answer, exact in (("1/3 = _", "0.333", "1/3"), ("x^2 = 2, x = _", "±1.414", "sqrt(2)")):
        assert check(question, answer).mark is Mark.WRONG
        found = check(question, answer, rounded=True)
        assert found.mark is Mark.RIGHT and f"rounds {exact}" in " ".join(found.notes)
    assert check("1/3 = _", "0.334", rounded=True).mark is Mark.WRONG
    assert check("1/3 = _", "0.33333", rounded=True).mark is Mark.RIGHT


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        ("2x + 3 = 11, x = _", "4", "right: holds everywhere (proved)"),
        ("x^2 = 16 => x = _", "x = -4", "right, but not all solutions: x = 4 is missing"),
        ("x^2 = 16 => x = _", "4, -4", "right: 2 solutions"),
        ("x^2 = 16 => x = _", "4, 5", "5 is wrong: left is 25, right is 16"),
        ("x^2 = 16, x = _", "no solution", "wrong: it holds for x = -4 and x = 4 only (proved)"),
        ("2^x = -1, x = _", "no solution", "right: there is no real solution (proved)"),
        ("2^x = -1, x = _", "no solution!", "right: there is no real solution (proved)"),
        ("x^2 = 16, x = _", "5", "wrong: left is 25, right is 16"),
        ("A = 1/2 g h, h = _", "2A/g", "right: holds everywhere but g = 0 (proved)"),
        ("factor x^2 - 9", "x^2 - 9", "right, but not factored: x^2 - 9 can be factored"),
        ("factor x^2 - 9", "(x - 3)(x + 3)", "right: holds everywhere (proved)"),
    ],
)
def test_questions_are_marked_as_they_are_completed(asked: str, answer: str, said: str) -> None:
    assert str(check(asked, answer)) == said


@pytest.mark.parametrize(
    ("asked", "answer", "form", "said"),
    [
        ("factor x^2 - 9", "x^2 - 9", "expanded", "right: holds everywhere (proved)"),
        ("factor x^2 - 9", "(x - 3)(x + 3)", "expanded",
         "right, but not expanded: (x - 3)*(x + 3) can be multiplied out"),
        ("expand (x - 3)(x + 3)", "(x - 3)(x + 3)", "factored", "right: holds everywhere (proved)"),
        ("expand (x - 3)(x + 3)", "x^2 - 9", "factored", "right, but not factored: x^2 - 9 can be factored"),
    ],
)  # fmt: skip
def test_a_form_that_is_given_comes_before_that_of_the_question(asked: str, answer: str, form: str, said: str) -> None:
    assert str(check(asked, answer, form)) == said
    assert check(asked, answer).mark is not check(asked, answer, form).mark


@given(st.lists(st.fractions(-50, 50, max_denominator=40), min_size=1, max_size=4))
def test_the_content_of_a_sum_leaves_whole_numbers_without_a_common_factor(coefficients: list[Fraction]) -> None:
    polynomials = Polynomials()
    variables = [polynomials.of(Tree("Symbol", token=name)) for name in "wxyz"]
    poly = sum(
        (fmpq(c.numerator, c.denominator) * v for c, v in zip(coefficients, variables, strict=False)), 0 * variables[0]
    )
    found = content(poly)
    assert found >= 0 and bool(found) == any(coefficients)
    rest = [c / found for c in coefficients if c]
    assert all(c.denominator == 1 for c in rest) and (not rest or gcd(*map(int, rest)) == 1)


def test_an_answer_with_the_unknown_in_it_is_refused() -> None:
    with pytest.raises(ValueError, match="the answer contains x, which is the unknown"):
        check("2x + 3 = 11, x = _", "x")


@pytest.mark.parametrize(
    ("equation", "answer", "form", "said"),
    [
        ("(x + 1)^2 = _", "x^2 + 2x + 1", "expanded", "right: holds everywhere (proved)"),
        ("(x + 1)^2 = _", "x^2 + x + x + 1", "expanded", "right, but not expanded: some terms can be added"),
        ("-(x + 1) = _", "-(x + 1)", "expanded", "right, but not expanded: -(x + 1) can be multiplied out"),
        ("6x = _", "2*3*x", "expanded", "right, but not expanded: 2*3*x can be multiplied out"),
        ("2x^2 - 18 = _", "(2x - 6)(x + 3)", "factored", "right, but not factored: 2*x - 6 has the factor 2"),
        ("2x^2 - 18 = _", "2(x^2 - 9)", "factored", "right, but not factored: x^2 - 9 can be factored"),
        ("2 = _", "1 + 1", "factored", "right, but not factored: 1 + 1 is a number"),
        ("x^50 = _", "x^50 + 1 - 1", "factored",
         "right, but not factored: x^50 + 1 - 1 is too long to be factored"),
        ("0.5x + 0.2y = _", "0.5x + 0.2y", "factored", "right: holds everywhere (proved)"),
        ("0.5x + 0.25 = _", "0.5x + 0.25", "factored", "right, but not factored: 0.5*x + 0.25 has the factor 1/2"),
        ("x/2 + 1/2 = _", "1/2*x + 1/2", "factored", "right, but not factored: 1/2*x + 1/2 has the factor 1/2"),
        ("x/2 + 1/2 = _", "x/2 + 1/2", "factored", "right, but not factored: x/2 + 1/2 has the factor 1/2"),
        ("x/2 + 1/2 = _", "0.5(x + 1)", "factored", "right: holds everywhere (proved)"),
        ("x^2 - 1/2 = _", "x^2 - 1/2", "factored", "right: holds everywhere (proved)"),
        ("x^2 - 1/2 = _", "x^2 - 0.5", "factored", "right: holds everywhere (proved)"),
        ("(2x)^2 = _", "2^2 x^2", "expanded", "right, but not expanded: 2^2*x^2 can be multiplied out"),
        ("(2x)^2 = _", "(2x)^2", "expanded", "right, but not expanded: (2*x)^2 can be multiplied out"),
        ("(2x)^2 = _", "4x*x", "expanded", "right, but not expanded: 4*x*x can be multiplied out"),
        ("(2x)^2 = _", "4x^2", "expanded", "right: holds everywhere (proved)"),
        ("3/4 = _", "-3/-4", "lowest-terms", "right, but not in lowest terms: there is more than one minus sign"),
        ("3/4 = _", "-(-3/4)", "lowest-terms", "right, but not in lowest terms: there is more than one minus sign"),
        ("3/4 = _", "(1 + 2)/4", "lowest-terms", "right, but not in lowest terms: 1 + 2 can be added"),
        ("6/5 = _", "2*3/5", "lowest-terms", "right, but not in lowest terms: some numbers can be multiplied"),
        ("-3/4 = _", "3/-4", "lowest-terms", "right: holds everywhere (proved)"),
        ("6/8 = _", "3/(2^2)", "lowest-terms", "right, but not in lowest terms: some numbers can be multiplied"),
        ("x^3 - x = _", "x^3(1 - 1/x^2)", "factored",
         "right, but not factored: 1 - 1/x^2 has a fraction with a variable"),
        ("x^2 + 2x + 1 = _", "(x + 1)^3/(x + 1)", "factored",
         "right, but not factored: numerator and denominator have a common factor"),
        ("(x^2 - 1)/(x + 2) = _", "(x - 1)(x + 1)/(x + 2)", "factored", "right: holds everywhere (proved)"),
        ("x/2 + 1 = _", "0.5x + 1", "one-fraction", "right, but not one fraction: 0.5 is a decimal"),
        ("x/(2y) = _", "1/(2y/x)", "one-fraction",
         "right, but not one fraction: there is a fraction in a sum or in a fraction"),
        ("1/2 = _", "3/6", "lowest-terms",
         "right, but not in lowest terms: numerator and denominator have the factor 3"),
        ("0 = _", "0/5", "lowest-terms",
         "right, but not in lowest terms: numerator and denominator have the factor 5"),
        ("0 = _", "0", "lowest-terms", "right: holds everywhere (proved)"),
        ("x = _", "x/1", "lowest-terms", "right, but not in lowest terms: the denominator is 1"),
        ("x = _", "x^2/x", "lowest-terms",
         "right, but not in lowest terms: numerator and denominator have a common factor"),
        ("x/2 = _", "0.5x", "lowest-terms", "right, but not in lowest terms: 0.5 is a decimal"),
        ("1/(2x) = _", "1/2/x", "one-fraction", "right, but not one fraction: there is more than one fraction"),
        ("1 + 1/x = _", "1 + 1/x", "one-fraction",
         "right, but not one fraction: there is a fraction in a sum or in a fraction"),
        ("sin(x/2) = _", "sin(x/2)", "one-fraction", "right: holds everywhere (proved)"),
        ("sqrt(x) + x = _", "x^(1/2) + x", "one-fraction", "right: holds everywhere (proved)"),
        ("sqrt(x^2) = _", "x", None,
         "right on a part only: holds for x ≥ 0 (proved); at x = -1 left is 1, right is -1"),
        ("7*8 = _", "54", None, "wrong: left is 56, right is 54"),
        ("x - x = _ - x", "1/0", None, "undecided: the right side has no value"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_is_missing_or_a_point_that_shows_it(
    equation: str, answer: str, form: str | None, said: str
) -> None:
    assert str(check(equation, answer, form)) == said


@pytest.mark.parametrize(
    "answer",
    ["L = {2; 3}", "L={2|3}", "x ∈ {2, 3}", r"x \in \{2, 3\}", "S = {3, 2}", r"\mathbb{L} = \{2; 3\}", "{2;3}"],
)
def test_a_set_of_solutions_may_have_a_name(answer: str) -> None:
    assert str(check("x^2 - 5x + 6 = 0, x = _", answer)) == "right: 2 solutions"


@pytest.mark.parametrize("answer", ["L = {}", "x ∈ ∅", r"L = \emptyset"])
def test_the_empty_set_claims_that_there_is_no_solution(answer: str) -> None:
    assert check("x^2 = -1, x = _", answer).mark is Mark.RIGHT
    assert check("x^2 = 1, x = _", answer).mark is Mark.WRONG


@pytest.mark.parametrize(
    ("asked", "answer", "mark"),
    [
        ("x^2 - 5x + 6 = 0, x = _", r"L=\left\{2;3\right\}", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "x in {2,3}", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "L={2;3}.", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "2 und 3", Mark.RIGHT),
        ("2x = 5, x = _", "L={2,5}", Mark.RIGHT),
        ("x^2 = 7x - 10, x = _", "{2,5}", Mark.RIGHT),
        ("tan(x) = 1, x = _", "π/4 + kπ, k ∈ ℤ", Mark.RIGHT),
        ("tan(x) = 1, x = _", "{π/4 + kπ | k ∈ ℤ}", Mark.RIGHT),
        ("tan(x) = 1, x = _", "π/4 + nπ, n integer", Mark.RIGHT),
        ("tan(x) = 1, x = _", "π/4 + 2kπ", Mark.INCOMPLETE),
        ("sin(x) = 1/2, x = _", r"π/6 + 2πn, 5π/6 + 2πn, n \in \mathbb{Z}", Mark.RIGHT),
        ("x/x = 1, x = _", "ℝ", Mark.PART),
        ("x = x, x = _", "L = ℝ", Mark.RIGHT),
        ("x/(x - 1) = 2, x = _", "1", Mark.WRONG),
        ("x/(x - 1) = 2, x = _", "{1;2}", Mark.WRONG),
        ("L/R = 1, L = _", "L = R", Mark.RIGHT),
        ("L/R = 1, L = _", "R", Mark.RIGHT),
        ("x/Z = 5, x = _", "5 Z", Mark.RIGHT),
        ("x^2 + 4 = 0, x = _", "±sqrt(-4)", Mark.RIGHT),
        ("x^2 + 4 = 0, x = _", "2i", Mark.INCOMPLETE),
        ("x^2 - 2x + 1 = 0, x = _", "x1 = x2 = 1", Mark.RIGHT),
        ("x^2 - 2x + 1 = 0, x = _", "x_1=x_2=2", Mark.WRONG),
        ("x^2 - 2x + 1 = 0, x = _", "1 (double root)", Mark.RIGHT),
        ("x^2 - 2x + 1 = 0, x = _", "x = 1 (multiplicity 2)", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "{2,3} = L", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "{2} ∪ {3}", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", r"\{2; 5\} \cup \{3\}", Mark.WRONG),
        ("x^2 - 5x + 6 = 0, x = _", "x = 2 ∧ x = 3", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "L: {2, 3}", Mark.RIGHT),
        ("x^2 - 5x + 6 = 0, x = _", "The solution set is {2}", Mark.INCOMPLETE),
    ],
)
def test_what_fresh_eyes_wrote(asked: str, answer: str, mark: Mark) -> None:
    assert check(asked, answer).mark is mark


@pytest.mark.parametrize(
    ("answer", "mark"),
    [
        ("x ≠ ±1", Mark.RIGHT),
        ("x != 1, x != -1", Mark.RIGHT),
        ("x <> 1 and x <> -1", Mark.RIGHT),
        (r"\mathbb{R} \setminus \{-1; 1\}", Mark.RIGHT),
        (r"ℝ\{-1,1}", Mark.RIGHT),
        ("R - {1, -1}", Mark.RIGHT),
        ("all real numbers except 1 and -1", Mark.RIGHT),
        ("x ∈ ℝ, x ≠ 1, -1", Mark.RIGHT),
        ("x ≠ 1", Mark.PART),
        ("x ≠ ±1, x ≠ 2", Mark.INCOMPLETE),
    ],
)
def test_all_numbers_but_a_few(answer: str, mark: Mark) -> None:
    assert check("(x^2 - 1)/(x^2 - 1) = 1, x = _", answer).mark is mark
    assert check("x^2 = 4, x = _", answer).mark is Mark.WRONG


def test_numbers_that_are_left_out_are_said() -> None:
    equation = "x/x = 1, x = _"
    assert str(check(equation, "ℝ \\ {0}")) == "right: holds everywhere but x = 0 (proved)"
    assert str(check(equation, "x ≠ 1")) == "right, but not all solutions: x = 1 is one, too"
    assert str(check(equation, "every number")) == "right on a part only: it holds everywhere but x = 0"
    with pytest.raises(ValueError, match="makes an inequality"):
        check("x/R = 1, x = _", "x ≠ 0")


@pytest.mark.parametrize(
    ("asked", "answer", "degrees"),
    [
        ("sin(x) = 1/2, x = _", "30", ["30"]),
        ("sin(x) = 1/2, x = _", "30, 150", ["30", "150"]),
        ("cos(_) = 0", "90", ["90"]),
        ("sin(x) = 1/2, x = _", "31", []),
        ("x^2 = 900, x = _", "20", []),
    ],
)
def test_a_number_of_degrees_is_named(asked: str, answer: str, degrees: list[str]) -> None:
    found = check(asked, answer)
    assert found.mark is Mark.WRONG
    assert found.notes == tuple(f"right in degrees: write {number}°" for number in degrees)


def test_a_counter_of_degrees_is_named() -> None:
    with pytest.raises(ValueError, match=r"'30 \+ 360k' would be right in degrees; write degrees with °"):
        check("sin(x) = 1/2, x = _", "x = 30 + 360k or x = 150 + 360k")
    with pytest.raises(ValueError, match="contains k"):
        check("sin(x) = 1/2, x = _", "31 + 360k")


@pytest.mark.parametrize(
    ("answer", "lack"),
    [
        ("sqrt(9)/4", "sqrt(9) can be worked out"),
        ("|3|/4", "abs(3) can be worked out"),
        ("3/4", ""),
    ],
)
def test_a_root_of_a_square_is_not_in_lowest_terms(answer: str, lack: str) -> None:
    assert check("9/12 = _", answer, "lowest-terms").lack == (lack and f"not in lowest terms: {lack}")
    assert check("sqrt(2)/2 = _", "sqrt(2)/2", "lowest-terms").mark is Mark.RIGHT


@pytest.mark.parametrize(("answer", "factor"), [("√8/4", 2), ("2√2/4", 2), ("√12/6", 2), ("√8/3", 1), ("√(54)/9", 3)])
def test_a_root_with_a_square_in_it_is_not_in_lowest_terms(answer: str, factor: int) -> None:
    lack = check(f"{answer} = _", answer, "lowest-terms").lacking
    assert (lack is None) if factor == 1 else (lack is not None and lack.values["factor"] == str(factor))


def test_an_answer_without_its_form_is_shown_as_it_was_given() -> None:
    assert check("6/8 = _", " 6/8", "lowest-terms").answer == "6/8"
    with pytest.raises(ValueError, match="can mean an interval or a pair; write 2;3 for two solutions"):
        check("x^2 - 5x + 6 = 0, x = _", "(2;3)")


def test_the_unknown_may_be_on_the_right_and_a_chain_is_refused() -> None:
    assert check("3x = 12, x = _", "4 = x").mark is Mark.RIGHT
    assert check("3x = 12, x = _", "5 = x").mark is Mark.WRONG
    with pytest.raises(ValueError, match=r"'x = 12/3 = 4' has several '='; write the value alone: x = 4"):
        check("3x = 12, x = _", "x = 12/3 = 4")


@pytest.mark.parametrize("count", [2, MAX_VALUES - 1, MAX_VALUES, MAX_VALUES + 1])
def test_an_answer_has_some_values_in_a_period_and_no_more(count: int) -> None:
    found = within_a_period(read_infix(f"pi/5 + 2*k*pi/{count}"), read_infix("2*pi"))
    assert (found and len(found.values)) == (count if count <= MAX_VALUES else None)


def test_a_multiple_of_a_period_is_echoed_without_zero() -> None:
    assert check("sin x = 1/2, x = _", "π/6 + 2kπ, 5π/6 + 2kπ").answer == "pi/6, 5*pi/6"
    assert check("cos(2x) = 0, x = _", "π/4 + kπ, 3π/4 + kπ").mark is Mark.RIGHT


@pytest.mark.parametrize(
    ("equation", "note"),
    [
        ("sin(30) = _", "30 in sin is in radians; write 30° for degrees"),
        ("sin(-45) = _", "45 in sin is in radians; write 45° for degrees"),
        ("tan(x) = cos(180) _", "180 in cos is in radians; write 180° for degrees"),
        ("sin(x + 30) = _", "30 in sin is in radians; write 30° for degrees"),
        ("sin(90 - x) = _", "90 in sin is in radians; write 90° for degrees"),
        ("sin(10 x) = _", None),
        ("sin(30 + pi) = _", "30 in sin is in radians; write 30° for degrees"),
        ("sin(30°) = _", None),
        ("sin(3) = _", None),
        ("sin(12) = _", None),
    ],
)
def test_an_angle_that_may_be_in_degrees_has_a_note(equation: str, note: str | None) -> None:
    assert read_question(equation).notes == (() if note is None else (note,))


def test_an_answer_is_read_with_the_names_of_its_equation() -> None:
    assert check("a x + a y = _", "a(x + y)", "factored").answer == "a*(x + y)"
    assert check("r s = _", "rs").answer == "r*s"


def test_trees_are_taken_like_text() -> None:
    assert check(read_equation("x^2 - 1 = (x - 1)*_"), read_infix("x + 1")) == check("x^2 - 1 = (x - 1)_", "x + 1")


@pytest.mark.parametrize(
    ("equation", "answer", "form", "error"),
    [
        ("x + 1 = 2", "1", None, "the equation has no blank; write _ in the place of the answer, or x^2 = 16, x = _"),
        ("x + _ = 2", "1, 2", None, "the equation has 1 blank, but the answer has 2 expressions"),
        ("_1 + _2 = 2", "1", None, "the equation has 2 blanks, but the answer has 1 expression"),
        ("x + _ = 2", "oo", None, "infinity (oo) is not a number"),
        ("x + _ = 2", "1", "factord", "unknown form 'factord' (nearest known: factored); the forms are expanded, "
         "factored, lowest-terms, one-fraction, exact"),
    ],
)  # fmt: skip
def test_what_cannot_be_marked_is_refused(equation: str, answer: str, form: str | None, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        check(equation, answer, form)
    assert str(refused.value) == error


@pytest.mark.parametrize(
    ("equation", "answer", "understood"),
    [
        ("0,5 + _ = 2", "1,5", "1,5"),
        ("x^2 - 5x + 6 = (x - _1)(x - _2)", "2,3", "2, 3"),
        ("x^2 - 5x + 6 = (x - _1)(x - _2)", "2; 3", "2, 3"),
        ("x^2 - 4x + 3.75 = (x - _1)(x - _2)", "1,5, 2,5", "1.5, 2.5"),
        ("x^2 - 4x + 3.75 = (x - _1)(x - _2)", "1,5; 2,5", "1.5, 2.5"),
    ],
)
def test_a_comma_between_digits_is_a_decimal_point_where_the_number_of_blanks_says_so(
    equation: str, answer: str, understood: str
) -> None:
    found = check(equation, answer)
    assert (found.answer, found.mark) == (understood, Mark.RIGHT)


def test_the_notes_on_an_equation_are_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "log(100) + _ = 4", "2", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert main(["check", "log(100) + _ = 4", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"({note})"


def test_the_command_marks_answers_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "(x + 1)^2 = _", "x^2 + 2x + 1", "--form", "expanded", "-1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "x^2 + 2*x + 1",
        "      right: holds everywhere (proved)",
        "-1",
        "      wrong: at x = 1 left is 4, right is -1",
    ]


def test_the_command_reads_answers_and_refuses_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"|x|\n\nsqrt(\n")))
    assert main(["check", "sqrt(x^2) = _", "-", "--json"]) == 1
    found = capsys.readouterr()
    first, second, third = map(json.loads, found.out.splitlines())
    assert first | {
        "given": "|x|", "line": 1, "answer": "abs(x)", "mark": "right",
        "verdict": "holds on the reals", "grade": "proved", "domain": "reals",
        "part": [{"from": None, "to": None, "from_included": False, "to_included": False}], "only": True,
        "notes": [],
    } == first  # fmt: skip
    assert (second["given"], second["line"], second["mark"]) == ("", 2, "empty")
    assert (third["given"], third["line"], third["mark"]) == ("sqrt(", 3, "unreadable")
    assert third["error"] == "line 1, column 5: the '(' is never closed"
    assert found.err == "dgltree: answer 3, 'sqrt(': line 1, column 5: the '(' is never closed\n"


def test_marks_of_a_class_stay_with_their_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x^2+6x+9\n\n   \nx^2+9\n")))
    assert main(["check", "(x+3)^2 = _", "-"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert lines == ["1: x^2 + 6*x + 9", "2: no answer", "3: no answer", "4: x^2 + 9"]


@pytest.mark.parametrize(
    ("asked", "answer", "rounded", "mark"),
    [
        ("4x^2 = 25", "±2,5", False, "right"),
        ("4x^2 = 25", "2,5 or -2,5", False, "right"),
        ("4x^2 = 25", "x = 2,5 or x = -2,5", False, "right"),
        ("4x^2 = 25", "2,5, -2,5", False, "right"),
        ("4x^2 = 25", "2,5", False, "incomplete"),
        ("4x^2 - 8x + 3 = 0", "0,5 or 1,5", False, "right"),
        ("x^2 - 5x + 6 = 0", "2,3", False, "right"),
        ("x^2 - 5x + 6 = 0", "2,3 or 4", False, "wrong"),
        ("x^2 = 2", "±1,41", True, "right"),
        ("2^x = x^2", "2, 4", False, "incomplete"),
        ("2^x = x^2", "2, 4, -0.767", True, "right"),
        ("3^x = x^3", "3", False, "incomplete"),
        ("cos x = x", "0.739", True, "right"),
        ("cos x = x", "0.739", False, "wrong"),
        ("cos x = x", "no solution", False, "wrong"),
        ("x^3 - 3x + 1 = 0", "1.53, 0.35, -1.88", True, "right"),
        ("sin x = 1/2", "pi/6", False, "incomplete"),
        ("sin x = 1/2", "13pi/6, 5pi/6", False, "right"),
        ("sin x = 1/2", "π/6 + 2kπ, 5π/6 + 2kπ", False, "right"),
        ("sin x = 1/2", "π/6 + kπ", False, "wrong"),
        ("cos x = 0", "pi/2", False, "incomplete"),
        ("cos x = 0", "pi/2 + n pi", False, "right"),
        ("tan x = 1", "pi/4 + k pi", False, "right"),
        ("tan x = 1", "pi/4 + 2k pi", False, "incomplete"),
    ],
)
def test_a_teachers_marks_of_lists_decimals_and_periods(asked: str, answer: str, rounded: bool, mark: str) -> None:
    assert Checker(f"{asked}, x = _", rounded=rounded).check(answer).mark.value == mark


@pytest.mark.parametrize(
    ("asked", "answer", "sum_"),
    [("90 min = _", "1 h 30 min", "1 h + 30 min"), ("3 kg 500 g = _", "3500 g", "3 kg + 500 g")],
)
def test_units_in_a_row_are_no_product(asked: str, answer: str, sum_: str) -> None:
    pytest.importorskip("pint", reason="the units extra is not installed")
    with pytest.raises(ValueError, match=re.escape(f"can mean a sum or a product; write {sum_}")):
        check(asked, answer, units=True)
    assert check("90 min = _", "1 h + 30 min", units=True).mark.value == "right"
    assert check("3 m^2 = _", "1.5 m * 2 m", units=True).mark.value == "right"
