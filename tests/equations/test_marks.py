"""Marks as values: records, sentences of another language, points, and numbers as people write them."""

import json
import math
import pickle
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from dgltree import check
from dgltree.equations.marking import check as checking
from dgltree.equations.marking.check import MarkingTask, mark_within
from dgltree.equations.marking.checker import Checker
from dgltree.equations.marking.marks import Checked, Mark, points, read_points
from dgltree.equations.marking.sentences import SENTENCES, check_sentences

jsonschema = pytest.importorskip("jsonschema", reason="the test extra is not installed")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "check.schema.json").read_text(encoding="utf-8"))
ANSWERS: list[tuple[str, str, dict[str, Any], str, str]] = [
    # question, answer, options, mark, code
    ("(x + 1)^2 = _", "x^2 + 2x + 1", {}, "right", "right"),
    ("(x + 1)^2 = _", "x^2 + 1", {}, "wrong", "wrong-at"),
    ("2/3 = _", "3/2", {}, "wrong", "wrong-number"),
    ("(x + 1)^2 = _", "", {}, "empty", "empty"),
    ("(x + 1)^2 = _", "x^2 + (", {}, "unreadable", "unreadable"),
    ("sqrt(x^2) = _", "-x", {}, "part", "part"),
    ("ln(x y) = _", "ln(x) + ln(y)", {}, "part", "part-positive"),
    ("x^2 = 4, x = _", "2; -2", {}, "right", "right-several"),
    ("x^2 = 4, x = _", "2; 5", {}, "wrong", "one-of-several"),
    ("x^2 = 4, x = _", "2", {}, "incomplete", "incomplete-one"),
    ("x^3 = x, x = _", "0", {}, "incomplete", "incomplete-some"),
    ("x^2 = 4, x = _", "no solution", {}, "wrong", "wrong-claim"),
    ("x^2 = -4, x = _", "no solution", {}, "right", "right-none"),
    ("2x = 2x, x = _", "3", {}, "incomplete", "incomplete-every"),
    ("x = |x|, x = _", "3", {}, "incomplete", "incomplete-interval"),
    ("sin(x) = 0, x = _", "kπ", {}, "right", "right-all-general"),
    ("tan x = 1, x = _", "pi/4 + 2k pi", {}, "incomplete", "incomplete-step"),
    ("log(x - 4) = log(1), x = _", "-3", {}, "wrong", "wrong-not-real"),
    ("1/3 = _", "0.333", {"rounded": True}, "right", "right-rounded"),
    ("6x + 9 = _", "3 (2x + 3) + 0", {"form": "factored"}, "form", "form"),
]


def mark(question: str, answer: str, **options: Any) -> Checked:
    return Checker(question, **options).mark(answer)


@pytest.mark.parametrize(("question", "answer", "options", "code", "explanation"), ANSWERS)
def test_every_mark_has_a_record_by_the_schema_and_a_sentence(
    question: str, answer: str, options: dict[str, Any], code: str, explanation: str
) -> None:
    found = mark(question, answer, **options)
    jsonschema.validate(found.record, SCHEMA, jsonschema.Draft202012Validator)
    assert (found.mark.value, found.explanation.code) == (code, explanation)
    assert str(found) == found.record["sentence"] and "{" not in str(found)
    assert json.loads(json.dumps(found.record)) == found.record
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.record == found.record


def test_the_schema_has_every_mark_and_refuses_others() -> None:
    assert set(SCHEMA["properties"]["mark"]["enum"]) == {one.value for one in Mark}
    record = mark("2/3 = _", "2/3").record
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**record, "mark": "good"}, SCHEMA)


def test_solutions_are_counted_one_by_one() -> None:
    found = mark("x^2 = 4, x = _", "2; 5")
    assert found.counts == (1, 2, 2)
    assert [(one.answer, one.mark) for one in found.solutions] == [("2", Mark.RIGHT), ("5", Mark.WRONG)]
    assert found.missing == ("-2",)
    assert mark("x^2 = 4, x = _", "").counts == (0, 0, 2)
    assert mark("sin(x) = 0, x = _", "0").counts.required is None


def test_a_counterexample_is_a_point_of_numbers() -> None:
    assert mark("(x + 1)^2 = _", "x^2 + 1").record["differs_at"] == {"variables": {"x": 1.0}, "left": 4.0, "right": 2.0}
    angle = mark("sin(2x) = _", "2sin(x)").record["differs_at"]["variables"]["x"]
    assert isinstance(angle, float) and abs(math.sin(2 * angle) - 2 * math.sin(angle)) > 1e-6
    assert mark("ln(x y) = _", "ln(x) + ln(y)").record["differs_at"]["right"] is None
    assert mark("2^10 = _", f"2^{'1' * 40}").record["differs_at"]["right"] is None  # too large


def test_the_lack_of_a_form_has_its_place_in_the_answer() -> None:
    answer = "1 + x * x(x + 2)"
    lack = mark("x^2(x + 2) + 1 = _", answer, form="expanded").lacking
    assert lack is not None and (lack.form, lack.code) == ("expanded", "multiply-out")
    assert lack.span is not None and answer[slice(*lack.span)] == "x * x(x + 2)" and lack.path == (1,)
    whole = mark("x^2 + x^2 + x = _", "x^2 + x^2 + x", form="expanded").lacking
    assert whole is not None and (whole.code, whole.path, whole.span) == ("add-terms", None, None)


def test_sentences_of_another_language_are_one_table() -> None:
    table = check_sentences(
        {
            "right": "richtig: {domain}, {grade}",
            "domain.everywhere": "überall",
            "grade.proved": "bewiesen",
            "wrong-at": "falsch: bei {point} links {left}, rechts {right}",
            "side.is": "{value}",
            "note.may-have-more": "es kann mehr geben",
        }
    )
    assert mark("(x + 1)^2 = _", "x^2 + 2x + 1").sentence(table) == "richtig: überall, bewiesen"
    assert mark("(x + 1)^2 = _", "x^2 + 1").sentence(table) == "falsch: bei x = 1 links 4, rechts 2"
    assert mark("(x + 1)^2 = _", "").sentence(table) == "no answer"  # the English one
    with pytest.raises(ValueError, match="there is no sentence 'rigth'"):
        check_sentences({"rigth": "richtig"})
    with pytest.raises(ValueError, match="must be a string"):
        check_sentences({"right": 1})
    with pytest.raises(
        ValueError, match=r"'right' has \{verdikt\}, and no value has that name \(nearest known: verdict"
    ):
        check_sentences({"right": "{verdikt}"})


def test_a_template_reaches_no_attribute_of_a_value() -> None:
    assert "{verdict.__class__}" in mark("2 = _", "2").sentence({"right": "{verdict.__class__}"})


def test_every_explanation_that_the_code_gives_is_in_the_table() -> None:
    folder = Path(checking.__file__).parent
    text = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    codes = set(re.findall(r'Cause\("([a-z-]+)"', text))
    codes |= {f"lack.{code}" for code in re.findall(r'_lack\("([a-z-]+)"', text)}
    codes |= {f"note.{code}" for code in re.findall(r'(?:checking|make)_note\("([a-z-]+)"', text)}
    assert len(codes) > 30 and codes - set(SENTENCES) == set()
    assert {one.value for one in Mark} - set(SENTENCES) - {"incomplete"} == set()


@pytest.mark.parametrize(
    ("question", "answer"), [("x^2 = 4, x = _", "?"), ("x^2 = 4, x = _", "2; _"), ("2x = _", "x + _")]
)
def test_an_answer_with_a_blank_is_unreadable(question: str, answer: str) -> None:
    found = mark(question, answer)
    assert (found.mark, found.error) == (Mark.UNREADABLE, "the answer contains a blank; fill in the blank")


def test_points_are_a_table_of_codes() -> None:
    table = read_points("right=2, incomplete=share, wrong=share, form=1.5")
    marks = [mark("x^3 = x, x = _", answer) for answer in ("0; 1; -1", "0; 1", "0; 1; 5", "5", "")]
    assert [round(points(one, table), 3) for one in marks] == [2, 1.333, 0.667, 0, 0]
    assert [points(one) for one in marks] == [1, 0, 0, 0, 0]
    for text in ("rigth=1", "right=x", "right", "right=share", "right=nan", "wrong=-inf"):
        with pytest.raises(ValueError, match=r"there is no mark|expected a number"):
            read_points(text)


def test_an_answer_has_a_time_of_its_own() -> None:
    slow = MarkingTask("(a+b+c+d)^40 = (a+b+c+d)^20 * _", "(a+b+c+d)^20 + sin(a)^2 + cos(b)^2 - 1")
    assert mark_within(MarkingTask("x^2 = 4, x = _", "±2"), 60).mark is Mark.RIGHT
    begun = time.monotonic()
    tries = (mark_within(slow, 0) for _ in range(20))  # on a busy machine an answer may be there at once
    found = next(found for found in tries if found.mark is Mark.OUT_OF_TIME)
    assert time.monotonic() - begun < 30
    jsonschema.validate(found.record, SCHEMA, jsonschema.Draft202012Validator)
    assert check("x^2 = 4, x = _", "±2", seconds=60).mark is Mark.RIGHT  # by a new process
    assert mark_within(MarkingTask("x^2 = 4, x", "2"), 60).mark is Mark.NOT_ASKED
    with pytest.raises(ValueError, match="never closed"):
        check("x^2 = 4, x = _", "(2", seconds=60)


def test_a_marking_process_that_was_killed_while_it_waited_is_replaced() -> None:
    task = MarkingTask("x^2 = 4, x = _", "±2")
    for _ in range(2):
        assert mark_within(task, 60).mark is Mark.RIGHT
        waiting = [marking._process for marking in checking._idle if marking._process is not None]
        assert waiting  # others may have none, such as one whose time was over
        for process in waiting:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("question", "answer", "options", "code"),
    [
        # what could be decimals or thousands
        ("8x = 9, x = _", "1,125", {}, "unreadable"),
        ("8x = 9, x = _", "1,125", {"decimal": "comma"}, "right"),
        ("x^2 = 2, x = _", "±1,414", {"decimal": "comma", "rounded": True}, "right"),
        ("x^2 = 2, x = _", "1,414; -1,414", {"decimal": "comma", "rounded": True}, "right"),
        ("pi = _", "3,142", {"decimal": "comma", "rounded": True}, "right"),
        ("1500 = _", "1.500", {"decimal": "comma"}, "right"),
        ("1500 = _", "1.500", {"decimal": "point"}, "wrong"),
        ("1024 = _", "1,024", {"decimal": "point"}, "right"),
        ("1000000,5 - 0,5 = _", "1.000.000", {}, "right"),
        ("0,5 + 0,625 = _", "1,125", {}, "right"),
        ("0.5 + 0.625 = _", "1,125", {}, "wrong"),
        ("12500 = _", "12 500", {"decimal": "comma"}, "right"),
        ("log(8, 2) = _", "log(8,2)", {"decimal": "comma"}, "right"),
        # percent and powers of ten
        ("2/3 = _", "66.7%", {"rounded": True}, "right"),
        ("2/3 = _", "66.6%", {"rounded": True}, "wrong"),
        ("2/3 = _", "6.67*10^-1", {"rounded": True}, "right"),
        ("2/3 = _", "6.67e-1", {"rounded": True}, "right"),
        ("2/3 = _", "6,67 · 10⁻¹", {"rounded": True, "decimal": "comma"}, "right"),
        ("28% = _", "28 pct", {}, "right"),
        ("0,28 = _", "28 Prozent", {}, "right"),
        # ties
        ("8x = 1, x = _", "0.13", {"rounded": True}, "right"),
        ("8x = 1, x = _", "0.12", {"rounded": True}, "right"),
        ("8x = 1, x = _", "0.14", {"rounded": True}, "wrong"),
        ("sqrt(1/64) = _", "0.13", {"rounded": True}, "right"),
        # so many digits
        ("2/3 = _", "0.667", {"rounded": 3}, "right"),
        ("2/3 = _", "0.67", {"rounded": 3}, "form"),
        ("2/3 = _", "0.6667", {"rounded": 3}, "form"),
        ("2/3 = _", "2/3", {"rounded": 3}, "form"),
        ("1/2 = _", "0.5", {"rounded": 3}, "right"),
        ("1234 = _", "1200", {"significant": 2}, "right"),
        ("1234 = _", "1.2*10^3", {"significant": 2}, "right"),
        ("1234 = _", "1230", {"significant": 2}, "form"),
        ("1234 = _", "1300", {"significant": 2}, "wrong"),
        ("x^2 = 2, x = _", "±1.41", {"significant": 3}, "right"),
        # a period
        ("10/9 = _", r"1,\overline{1}", {}, "right"),
        ("x^2 = -4, x = _", "keine Lösung", {}, "right"),
    ],
)
def test_numbers_as_people_write_them(question: str, answer: str, options: dict[str, Any], code: str) -> None:
    assert mark(question, answer, **options).mark.value == code


@pytest.mark.parametrize(
    ("question", "answer", "options", "code"),
    [
        ("3*10^8 m/s = _", "300000000 m/s", {}, "right"),
        ("3*10^8 m/s = _", "3*10^5 m/s", {}, "wrong"),
        ("2 kW * 3600 s = _", "7.2e6 J", {}, "right"),
        ("2 kW * 3600 s = _", "7.2e3 J", {}, "wrong"),
        ("1 l = _", "10^-3 m^3", {}, "right"),
        ("1 l = _", "10^(-3) m^3", {}, "right"),
        ("5 m/s = _", "5 m s⁻¹", {}, "right"),
        ("5 m/s = _", "5 m s^-1", {}, "right"),
        ("60 km/h = _", "16.67 m/s", {"rounded": True}, "right"),
        ("60 km/h = _", "16.66 m/s", {"rounded": True}, "wrong"),
        ("60 km/h = _", "16.67 m", {"rounded": True}, "wrong"),
        ("60 km/h = _", "16.7 m/s", {"significant": 3}, "right"),
        ("60 km/h = _", "16,67 m/s", {"significant": 3, "decimal": "comma"}, "form"),
        ("2,5 km = _", "2.500 m", {"decimal": "comma"}, "right"),
        ("5 N * 2 m = _", "10 Nm", {}, "right"),
        ("5 V / 2 A = _", "2.5 Ohm", {}, "right"),
        ("36 km/h = _", r"10 \frac{m}{s}", {}, "right"),
        ("36 km/h = _", r"10 \frac{s}{m}", {}, "wrong"),
        ("3*10^8 m/s = _", "3e8", {}, "wrong"),
    ],
)
def test_numbers_before_units(question: str, answer: str, options: dict[str, Any], code: str) -> None:
    pytest.importorskip("pint")
    assert mark(question, answer, units=True, **options).mark.value == code


@pytest.mark.parametrize(
    ("question", "answer", "code"),
    [
        ("90 min = _", "1 h 30 min", "right"),
        ("1,5 h = _", "1 h 30 min", "right"),
        ("90 min = _", "1 h 50 min", "wrong"),
        ("3 kg 500 g = _", "3500 g", "right"),
        ("3661 s = _", "1 h 1 min 1 s", "right"),
        ("2*(1 h 30 min) = _", "3 h", "right"),
        ("10 N*m = _", "5 N 2 m", "unreadable"),
    ],
)
def test_quantities_of_one_kind_side_by_side_are_a_sum_if_that_is_asked_for(
    question: str, answer: str, code: str
) -> None:
    pytest.importorskip("pint")
    assert mark(question, answer, units=True, mixed=True).mark.value == code
    if code == "right" and " h " in answer:
        assert mark(question, answer, units=True).mark is Mark.UNREADABLE


def test_answers_are_printed_with_the_mark_of_the_question() -> None:
    found = mark("0,5x = 1,25, x = _", "2,5")
    assert (found.answer, found.mark) == ("2,5", Mark.RIGHT)
    assert str(mark("x^2 = 0,25, x = _", "0,5")) == "right, but not all solutions: x = -0,5 is missing"
    assert str(mark("pi = _", "3,5", decimal="comma")) == "wrong: left is 3,142, right is 7/2"
    lacking = mark("0,25x + 0,25 = _", "0,25(x + 1)", form="expanded")
    assert str(lacking) == "right, but not expanded: 0,25*(x + 1) can be multiplied out"
    assert mark("0,5 + 0,625 = _", "1,125").notes == ("1,125 is a decimal: decimals have a comma here",)
    assert mark("0,5*3000 = _", "1.500").notes == ("1.500 is 1500: decimals have a comma here",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": "semicolon"}, "it must be comma or point"),
        ({"rounded": 3, "significant": 3}, "exclude each other"),
        ({"significant": 0}, "from 1 to 30"),
        ({"rounded": 31}, "from 0 to 30"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check("2/3 = _", "0.667", **options)


@pytest.mark.parametrize(
    ("question", "answer", "code"),
    [
        ("x^2 = 4, x = _", "2\n-2", "right"),
        ("x^2 = 4, x = _", "x = 2\r\nx = -2\n", "right"),
        ("x^2 - 5x + 6 = (x - _1)(x - _2)", "2\n3", "right"),
        ("0 = _", "2\n-2", "unreadable"),
        ("2/4 = _", "1/2; 0.5", "unreadable"),
        ("2/4 = _", "\n1/2\n", "right"),
    ],
)
def test_lines_of_a_cell_are_answers(question: str, answer: str, code: str) -> None:
    assert mark(question, answer).mark.value == code


PIECES = [
    *"1205,.;/*^-+(){}±√%eE=πθ∈ℝ|'°!:_kxm²∞",
    *("10^", "⁻¹", "oder", "\\theta", "\\frac", "kg", "no", "1.000", "1,000", "pct", "if", "L=", "sen", "Re("),
    *("sqrt[3]{", "NaN", "1e999", "\\overline{1}", "{,}"),
]


def test_every_text_has_a_mark_with_a_record_and_a_sentence() -> None:
    draw = random.Random(5)
    checkers = [
        Checker("x^2 = 4, x = _", decimal="comma", rounded=True),
        Checker("(x+1)^2 = _", form="expanded"),
        Checker("2/3 = _", significant=3, decimal="comma"),
        Checker("sin(x) = 1/2, x = _", assume=["x in [0, 2π)"]),
        Checker("1/(x^2-1) = _1/(x-1) + _2/(x+1)", mixed=True),
    ]
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for _ in range(300):
        text = draw.choice(["", " "]).join(draw.choice(PIECES) for _ in range(draw.randint(1, 8)))
        found = draw.choice(checkers).mark(text)
        validator.validate(found.record)
        assert str(found) and "\n" not in str(found)


def test_the_file_to_translate_has_every_sentence_and_the_page_every_mark() -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert json.loads((docs / "check_sentences.json").read_text(encoding="utf-8")) == SENTENCES
    assert all(f"| `{one.value}` |" in (docs / "marking.md").read_text(encoding="utf-8") for one in Mark)


@pytest.mark.parametrize(
    ("question", "answer", "code"),
    [
        ("x^2 - x - 2 = 0, x = _", "x = 2 o x = -1", "right"),
        ("x^2 - x - 2 = 0, x = _", "2 y -1", "right"),
        ("x^2 - x - 2 = 0, x = _", "2 et -1", "right"),
        ("x^2 - x - 2 = 0, x = _", "x=2 v x=-1", "right"),
        ("x - 2e = 1, x = _", "2 e + 1", "right"),  # e is a number
        ("3x + 2y = 12, y = _", "6 - 1,5x", "right"),
        ("3x + 2y = 12, y = _", "6 - 1,4x", "wrong"),
        ("x^3 - 6x^2 + 11x - 6 = 0, x = _", "1,2,3", "right"),
        ("x^2 = y^2, x = _", "y o -y", "right"),
        ("x - y = 1, x = _", "1 y", "wrong"),  # y is a variable
    ],
)
def test_words_between_solutions_are_no_letters(question: str, answer: str, code: str) -> None:
    assert mark(question, answer).mark.value == code


@pytest.mark.parametrize("answer", ["2", "±2", "2; 5", "5"])
def test_without_a_unit_anywhere_units_change_no_mark(answer: str) -> None:
    pytest.importorskip("pint", reason="the extra units is not installed")
    assert mark("x^2 = 4, x = _", answer, units=True) == mark("x^2 = 4, x = _", answer)


def test_solutions_with_units_are_counted() -> None:
    pytest.importorskip("pint", reason="the extra units is not installed")
    several = mark("x^2 = 9 m^2, x = _", "3 m; -300 cm", units=True)
    assert (several.mark, several.counts[:2], str(several)) == (Mark.RIGHT, (2, 2), "right: 2 solutions")
    one = mark("x^2 = 9 m^2, x = _", "3 m; 5 m", units=True)
    assert (one.mark, one.counts[:2], str(one)) == (Mark.WRONG, (1, 2), "wrong: another quantity")


def test_zero_is_not_called_right_in_degrees_if_an_assumption_excludes_it() -> None:
    found = mark("sin(x) = 0, x = _", "0", assume=("x > 0",))
    assert (found.mark, found.notes) == (Mark.WRONG, ())


def test_a_period_in_brackets_after_a_decimal_comma_is_one_number() -> None:
    assert mark("3x = 1, x = _", "0,(3)", decimal="comma").mark is Mark.RIGHT
    assert mark("3x = 1, x = _", "0,(6); 0,(3)", decimal="comma").counts[:2] == (1, 2)
    assert mark("x^2 = 3x - 2, x = _", "1,(2)").mark is Mark.RIGHT, "a list, if nothing says how decimals are written"
