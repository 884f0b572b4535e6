"""Solutions with letters are marked by the solutions at drawn values of the letters."""

import math
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from dgltree import check, complete, read_equation
from dgltree.equations.completion.assumptions import read_assumptions, spans_of
from dgltree.equations.truth.drawn_letters import DrawnLetters, Fit
from dgltree.equations.truth.solutions.solutions import value
from dgltree.equations.typed import read_typed_expression

SECONDS = 15
"""Of CPU time for drawn marks."""


@pytest.mark.parametrize(
    ("question", "answer", "mark"),
    [
        ("alpha = acos(b/c), b = _", "c*cos(alpha)", "right"),
        ("alpha = acos(b/c), b = _", "c*cos(alpha) + 1", "wrong"),
        ("sqrt(x + m) = n, x = _", "n^2 - m", "right"),
        ("|x| = a, x = _", "±a", "right"),
        ("|x| = a, x = _", "a", "positive"),
        ("log_a(x) = b, x = _", "a^b", "right"),
        ("x|x| = a, x = _", "sqrt(a)", "incomplete"),
        ("x|x| = a, x = _", "sqrt(a), -sqrt(-a)", "right"),
        ("||x| - a| = b, x = _", "a + b, -(a + b)", "incomplete"),
        ("||x| - a| = b, x = _", "±(a + b), ±(a - b)", "part"),
        ("sin(w t) = b, t = _", "(arcsin(b) + 2kπ)/w, (π - arcsin(b) + 2kπ)/w", "right"),
        ("sin(w t) = b, t = _", "(arcsin(b) + 2kπ)/w", "incomplete"),
        ("sin(w t) = b, t = _", "(arcsin(b) + 4kπ)/w, (π - arcsin(b) + 4kπ)/w", "incomplete"),
        ("sin(w t) = b, t = _", "(arcsin(b) + kπ)/w", "wrong"),
        ("sin(w t) = b, t = _", "arcsin(b)/w, (π - arcsin(b))/w", "right"),
        ("cos(w t) = b, t = _", "arccos(b)/w", "incomplete"),
        ("sin(x) = sin(a), x = _", "a + 2kπ, π - a + 2kπ", "right"),
        ("tan(k x) = b, x = _", "(arctan(b) + nπ)/k", "right"),
        ("tan(k x) = b, x = _", "(arctan(b) + kπ)/k", "part"),  # the k of the question need not be whole
        ("y = m x + b, m = _", "(b - y)/x", "wrong"),
        ("y = m x + b, m = _", "(y - b)/x", "right"),
        ("x^2 = a - 1000000, x = _", "±sqrt(a - 1000000)", "right"),
        ("x^2 = a^2 + 1, x = _", "no solution", "wrong"),
        ("x^2 = -a^2 - 1, x = _", "a", "wrong"),
        ("x^2 = -a^2 - 1, x = _", "no solution", "undecided"),
    ],
)
def test_marks_are_those_at_drawn_letters(question: str, answer: str, mark: str) -> None:
    assert check(question, answer).mark.value == mark


@pytest.mark.parametrize(
    ("answer", "assume", "mark"),
    [
        ("sqrt(a)", ["x > 0"], "right"),
        ("-sqrt(a)", ["x > 0"], "wrong"),
        ("±sqrt(a)", ["x < b"], "part"),
        ("sqrt(a), -sqrt(a)", ["a > 4", "x > -2"], "wrong"),
        ("sqrt(a)", ["0 <= x <= 100", "a > 0"], "right"),
        ("sqrt(a)", ["a > 0"], "incomplete"),
    ],
)
def test_solutions_have_to_be_as_assumed(answer: str, assume: list[str], mark: str) -> None:
    question = "x^2 + b = a + b, x = _" if any("b" in one for one in assume) else "x^2 = a, x = _"
    assert check(question, answer, assume=assume).mark.value == mark


@pytest.mark.parametrize(
    ("answer", "mark"),
    [("arcsin(b)/w", "incomplete"), ("arcsin(b)/w, (π - arcsin(b))/w", "incomplete")],
)
def test_an_interval_has_solutions_of_several_periods(answer: str, mark: str) -> None:
    assumed = ["0 <= t <= 20", "w > 1", "0 < b < 1"]
    assert check("sin(w t) = b, t = _", answer, assume=assumed).mark.value == mark


@pytest.mark.parametrize(
    ("answer", "mark"),
    [("asin(a) + 2pi, 3pi - asin(a)", "right"), ("asin(a), pi - asin(a)", "wrong"), ("asin(a) + 2pi", "incomplete")],
)
def test_an_interval_may_begin_beyond_the_first_period(answer: str, mark: str) -> None:
    assert check("sin(x) = a, x = _", answer, assume=["x in [2π, 4π)", "0 < a < 1"]).mark.value == mark


def test_a_place_is_named_where_an_answer_is_no_solution_and_where_one_is_missing() -> None:
    assert str(check("x*(x^5 + x - a) = 0, x = _", "0")) == (
        "right, but not all solutions: at a = 5/7 x = 0.621533693035 is missing"
    )
    assert str(check("x|x| = a, x = _", "sqrt(a)")).endswith("x = a/sqrt(abs(a)) is missing")
    assert "x = -18/7 is no solution" in str(check("||x| - a| = b, x = _", "±(a + b), ±(a - b)"))
    assert str(check("x^2 = a^2 + 1, x = _", "no solution")).startswith("wrong: at a = 5/7 x = -1.22")
    assert str(check("cos(w t) = b, t = _", "arccos(b)/w")).endswith("t = -acos(b)/w is missing")


def test_it_is_noted_that_there_may_be_more_and_that_solutions_are_periods_apart() -> None:
    unsolved = "x*sin(x) = a + cos(x^2), x = _"
    assert "there may be more solutions" in check("x^2*(sin(x)*x + cos(x^2) - 3) = 0*a, x = _", "0").noted()
    found = check(unsolved, "a")
    assert found.mark.value == "undecided" and "the solutions are not known" in str(found)
    assert check("sin(w t) = b, t = _", "arcsin(b)/w, (π - arcsin(b))/w").noted() == [
        "so is t + 2*pi/w*k for each whole k"
    ]
    assert check("sin(k t) = b*k, t = _", "arcsin(b k)/k, (π - arcsin(b k))/k").noted() == [
        "so is t + 2*pi/k*n for each whole n"
    ]
    assert check("tan(x) = a, x = _", "arctan(a)").noted() == ["so is x + pi*k for each whole k"]


def test_complete_says_whether_its_solutions_are_all_at_drawn_letters() -> None:
    assert complete("sin(a t) = sin(b t), t = _").more
    assert not complete("a*x + b = c, x = _").more
    found = complete("tan(x) = a, x = _")
    assert not found.more and found.period is not None
    found = complete("cos(k*x) = h, x = _")
    assert "so is x + (2*pi/k)*n for each whole n" in found.remarks() and not found.more
    assert complete("sin(a*x) = 1 + cos(b*x), x = _").period is None, "two periods"


def test_letters_are_drawn_as_assumed() -> None:
    spans = spans_of(read_assumptions(["a > 1", "b < a", "n integer"]))
    drawn = DrawnLetters(read_equation("x^3 + n = a + b"), "x", spans)
    assert len(drawn.drawings) == 16
    for drawing in drawn.drawings:
        a, b, n = (value(drawing.letters[name]) for name in "abn")
        assert a > 1 and b < a and n.q == 1


def test_an_answer_is_compared_with_the_solutions() -> None:
    drawn = DrawnLetters(read_equation("x^2 = a"), "x", {})
    root, other = (read_typed_expression(text, ("a",)) for text in ("sqrt(a)", "-sqrt(a)"))
    for text, fit in (("sqrt(a)", Fit.SOLVES), ("a", Fit.DIFFERS), ("sqrt(-1 - a^2)", Fit.NOWHERE)):
        found = drawn.fitted(read_typed_expression(text, ("a",)))
        assert found is not None and found.fit is fit
    assert drawn.fitted(read_typed_expression("c", ("a",))) is None
    assert drawn.missing([root, other]) == [] and drawn.lists_all([root, other])
    lacking = drawn.missing([root])
    assert len(lacking) == len(drawn.drawings) and drawn.lists_if_positive([root], lacking)
    assert not drawn.lists_if_positive([other], drawn.missing([other]))
    cubic = DrawnLetters(read_equation("x^3 = a^2*x"), "x", {})
    zero, a = (read_typed_expression(text, ("a",)) for text in ("0", "a"))
    assert cubic.lists_if_positive([a], cubic.missing([zero, a])), "-a is missing"
    assert not cubic.lists_if_positive([zero, a], cubic.missing([zero, a])), "0 is not positive"


class Shape(NamedTuple):
    """An equation f(u) = c in u = a*x + b, with all u by an oracle, and answers for u as texts and by hand."""

    left: str
    solutions: Callable[[float], list[float]]
    answers: list[tuple[str, Callable[[float, int], float | None]]]
    turn: float = 0.0


SHAPES = [
    Shape(
        "({u})^2",
        lambda c: [math.sqrt(c), -math.sqrt(c)] if c >= 0 else [],
        [
            ("sqrt(c)", lambda c, _: math.sqrt(c) if c >= 0 else None),
            ("-sqrt(c)", lambda c, _: -math.sqrt(c) if c >= 0 else None),
            ("c", lambda c, _: c),
        ],
    ),
    Shape(
        "|{u}|",
        lambda c: [c, -c] if c >= 0 else [],
        [("c", lambda c, _: c), ("-c", lambda c, _: -c), ("|c|", lambda c, _: abs(c)), ("2c", lambda c, _: 2 * c)],
    ),
    Shape(
        "({u})|{u}|",
        lambda c: [math.copysign(math.sqrt(abs(c)), c)],
        [
            ("sqrt(c)", lambda c, _: math.sqrt(c) if c >= 0 else None),
            ("-sqrt(-c)", lambda c, _: -math.sqrt(-c) if c <= 0 else None),
            ("sqrt(|c|)", lambda c, _: math.sqrt(abs(c))),
        ],
    ),
    Shape(
        "e^({u})",
        lambda c: [math.log(c)] if c > 0 else [],
        [("ln(c)", lambda c, _: math.log(c) if c > 0 else None), ("ln|c|", lambda c, _: math.log(abs(c)))],
    ),
    Shape(
        "sqrt({u})",
        lambda c: [c * c] if c >= 0 else [],
        [("c^2", lambda c, _: c * c), ("c|c|", lambda c, _: c * abs(c)), ("-c^2", lambda c, _: -c * c)],
    ),
    Shape("({u})^3", lambda c: [math.cbrt(c)], [("c^(1/3)", lambda c, _: math.cbrt(c)), ("c/3", lambda c, _: c / 3)]),
    Shape(
        "sin({u})",
        lambda c: [math.asin(c), math.pi - math.asin(c)] if abs(c) <= 1 else [],
        [
            ("asin(c) + 2 k pi", lambda c, k: math.asin(c) + 2 * k * math.pi if abs(c) <= 1 else None),
            ("pi - asin(c) + 2 k pi", lambda c, k: math.pi - math.asin(c) + 2 * k * math.pi if abs(c) <= 1 else None),
            ("asin(c) + k pi", lambda c, k: math.asin(c) + k * math.pi if abs(c) <= 1 else None),
        ],
        2 * math.pi,
    ),
    Shape(
        "tan({u})",
        lambda c: [math.atan(c)],
        [
            ("atan(c) + k pi", lambda c, k: math.atan(c) + k * math.pi),
            ("atan(c) + 2 k pi", lambda c, k: math.atan(c) + 2 * k * math.pi),
            ("atan(-c) + k pi", lambda c, k: math.atan(-c) + k * math.pi),
        ],
        math.pi,
    ),
    Shape(
        "acos({u})",
        lambda c: [math.cos(c)] if 0 <= c <= math.pi else [],
        [("cos(c)", lambda c, _: math.cos(c)), ("sin(c)", lambda c, _: math.sin(c))],
    ),
]


@pytest.mark.slow
def test_drawn_marks_are_those_of_an_oracle() -> None:
    """Sets of floats at random letters, which know nothing of balls or solvers."""
    draw, end, counted = random.Random(983), time.process_time() + SECONDS, Counter[str]()
    while time.process_time() < end or counted.total() < 60:  # on a slow machine, too
        shape = draw.choice(SHAPES)
        inner, back = draw.choice([("x", "{v}"), ("a x", "({v})/a"), ("x + b", "{v} - b"), ("a x - b", "({v} + b)/a")])
        given = draw.sample(shape.answers, draw.randint(1, min(2, len(shape.answers))))
        question = f"{shape.left.format(u=inner)} = c, x = _"
        answer = ", ".join(back.format(v=text) for text, _ in given)
        mark = check(question, answer).mark.value
        assert mark in _marks(shape, [value for _, value in given], draw), (question, answer, mark)
        counted[mark] += 1
    print(counted)
    assert counted["right"] > 5 and counted["incomplete"] > 5 and counted["wrong"] + counted["part"] > 5


def _marks(shape: Shape, given: list[Callable[[float, int], float | None]], draw: random.Random) -> set[str]:
    """The marks that an answer may have, by what it lists at 200 values of c."""
    strays = lacks = lists = 0
    for _ in range(200):
        c = draw.uniform(-3, 3)
        turns = range(-2, 3) if shape.turn else range(1)
        solutions = [u + k * shape.turn for u in shape.solutions(c) for k in turns]
        if not solutions:
            continue
        counts = range(-12, 13) if shape.turn else range(1)
        each = [[v for v in (value(c, k) for k in counts) if v is not None] for value in given]
        within = 2 * shape.turn or math.inf
        for values in each:
            near = [v for v in values if abs(v) < within]
            strays += any(all(abs(v - u) > 1e-9 for u in solutions) for v in near)
            lists += any(any(abs(v - u) < 1e-9 for u in solutions) for v in near)
        lacks += any(all(abs(v - u) > 1e-9 for values in each for v in values) for u in solutions)
    if strays:
        return {"part", "wrong"} if lists else {"wrong"}
    return {"incomplete", "positive"} if lacks else {"right"}
