"""What cannot be meant is refused in one sentence that says what to write instead, and at once."""

import pytest

from dgltree import check, complete, verify
from dgltree.equations.completion.assumptions import as_assumed, read_assumptions
from dgltree.equations.typed import read_question, read_typed, read_typed_expression

QUESTION = "x^2 = a, x = _"


@pytest.mark.parametrize(
    ("question", "answer", "assume", "message"),
    [
        (QUESTION, "sqrt(a)", ["x > 2, x < 1"], "x > 2 and x < 1 contradict each other: no number satisfies both"),
        (QUESTION, "sqrt(a)", ["a > 2", "a < 1"], "a > 2 and a < 1 contradict each other"),
        (QUESTION, "sqrt(a)", ["a > 2, a < 3, a integer"], "contradict each other"),
        (QUESTION, "sqrt(a)", ["z > 1"], "z > 1 is assumed, but the equation does not contain z"),
        (QUESTION, "sqrt(a)", ["a > b"], "the equation does not contain b"),
        (QUESTION, "sqrt(a)", ["x > x"], "the assumption about x depends on itself"),
        (
            "sin(k x) = 0, x = _",
            "k pi/k, k ∈ ℤ",
            [],
            "k is a letter of the question; write another letter for whole numbers, as in 2*n*pi",
        ),
        (
            "sin(k) = 0, k = _",
            "k pi, k ∈ ℤ",
            [],
            "k is a letter of the question; write another letter for whole numbers, as in 2*n*pi",
        ),
        ("sin(k) = 0, k = _", "k pi", [], "the answer contains k, which is the unknown"),
        ("sin(k x) = a, k = _", "k pi/x", [], "the answer contains k, which is the unknown"),
        (
            "sin(x) = a, x = _",
            "asin(a) + 2 k pi + 2 n pi",
            [],
            "uses k and n for whole numbers; write a single letter for whole numbers",
        ),
        (QUESTION, "1+" * 500_000 + "1", [], "has 1,000,001 characters; at most 10,000 are read"),
        ("x+" * 500_000 + "1 = 2, x = _", "1", [], "has 1,000,012 characters"),
    ],
)
def test_checking_refuses(question: str, answer: str, assume: list[str], message: str) -> None:
    with pytest.raises(ValueError) as error:
        check(question, answer, assume=assume)
    assert message in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize("text", ["x+" * 500_000 + "1 = _", "(" * 500_000 + "x" + ")" * 500_000 + " = _", "a" * 10**6])
def test_a_text_of_a_million_characters_is_refused_at_once(text: str) -> None:
    for read in (complete, verify, read_question, read_typed, read_typed_expression):
        with pytest.raises(ValueError, match=r"has 1,000,\d\d\d characters|has 1,000,0+ characters"):
            read(text)


def test_a_counter_of_the_question_is_a_letter() -> None:
    assert check("sin(k x) = 0, x = _", "n pi/k, n ∈ ℤ").mark.value == "right"
    assert check("sin(k) = 0, k = _", "n pi, n ∈ ℤ").mark.value == "right"
    assert check("sin(k x) = 0, x = _", "k pi/k").mark.value == "part", "k = 5/7 is one"


@pytest.mark.parametrize(
    ("assumed", "kept"), [("x > 0", ["2"]), ("x > 3", []), ("x integer", ["2", "-2"]), ("x in (-3, 0)", ["-2"])]
)
def test_what_is_assumed_of_the_unknown_leaves_solutions_out(assumed: str, kept: list[str]) -> None:
    found = as_assumed(complete("x^2 = 4, x = _"), read_assumptions([assumed]))
    assert list(map(str, found.fillers)) == kept
    assert found.reason == ("" if kept else "no solution satisfies the assumptions")
