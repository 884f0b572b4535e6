"""Intervals as answers, against the sign of polynomials at each number between their whole roots."""

import re
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from dgltree import check, read_equation
from dgltree.equations.marking.checker import Checker
from dgltree.equations.marking.interval_answers import mark_intervals, read_intervals
from dgltree.equations.truth.solutions.solutions import Solutions
from dgltree.equations.truth.verdict import End, Interval

ABSOLUTE = "|x| = x, x = _"
BETWEEN = "|x - 1| + |x - 2| = 1, x = _"


@pytest.mark.parametrize(
    ("question", "answer", "mark"),
    [
        (ABSOLUTE, "x >= 0", "right"),
        (ABSOLUTE, "0 ≤ x", "right"),
        (ABSOLUTE, "[0, ∞)", "right"),
        (ABSOLUTE, "x \\in \\left[0, \\infty\\right)", "right"),
        (ABSOLUTE, "L = [0; +∞[", "right"),
        (ABSOLUTE, "x > 0", "incomplete"),
        (ABSOLUTE, "x ≥ -1", "wrong"),
        (BETWEEN, "1 ≤ x ≤ 2", "right"),
        (BETWEEN, "2 ≥ x ≥ 1", "right"),
        (BETWEEN, "[1, 2]", "right"),
        (BETWEEN, "]1; 2[", "incomplete"),
        (BETWEEN, "x ≥ 1 and x ≤ 2", "right"),
        (BETWEEN, "x > 2 or x < 1", "wrong"),
        ("x^2 = 4, x = _", "x ≥ 2", "wrong"),
        ("|x^2 - 2| = x^2 - 2, x = _", "x ≤ -√2 or x ≥ √2", "right"),
        ("|x^2 - 2| = x^2 - 2, x = _", "x ≤ -1.41421356 or x ≥ 1.41421356", "wrong"),
        ("|x^2*(x - 3)| = x^2*(x - 3), x = _", "x = 0 or x ≥ 3", "right"),
        ("|x^2*(x - 3)| = x^2*(x - 3), x = _", "{0} ∪ [3, ∞)", "right"),
        ("|x^2*(x - 3)| = x^2*(x - 3), x = _", "x ≥ 3", "incomplete"),
        ("1/x = 1/x, x = _", "x < 0 or x > 0", "right"),
        ("sqrt(x^2) = x + 0/(x - 1), x = _", "x ≥ 0", "wrong"),
        ("|e^x - 2| = e^x - 2, x = _", "x ≥ ln(2)", "right"),
        ("|e^x - 2| = e^x - 2, x = _", "x ≥ 0.69314718055", "wrong"),
        ("|e^x - 2| = e^x - 2, x = _", "x > 0.7", "incomplete"),
        ("|cos(x)| + 1 = 0, x = _", "x > 0", "wrong"),
        ("|sin(x)| = sin(x), x = _", "0 ≤ x ≤ π", "undecided"),
    ],
)
def test_an_interval_is_compared_with_where_the_equation_holds(question: str, answer: str, mark: str) -> None:
    assert check(question, answer).mark.value == mark


def test_an_interval_is_marked_where_the_unknown_is_assumed_to_be() -> None:
    assert check(ABSOLUTE, "x > 0", assume=["x > 0"]).mark.value == "right"
    assert check(ABSOLUTE, "x > 1", assume=["x > 0"]).mark.value == "incomplete"
    assert str(check(ABSOLUTE, "x ≥ 0", assume=["x > 0"])) == "wrong: x > 0 is assumed"


def test_the_known_part_of_solutions_that_may_have_more_is_undecided() -> None:
    known = Interval(End("0", 0.0), None, low_in=True)
    given = read_intervals("x >= 0", "x", may_be_bare=False)
    assert given is not None
    for reason, mark in (("", "undecided"), ("every part of the real line is shown", "right")):
        solutions = Solutions(read_equation("abs(x) = x"), "x", intervals=(known,), reason=reason)
        assert mark_intervals(given, "x >= 0", solutions, []).mark.value == mark


def test_a_number_that_is_no_solution_and_the_place_that_lacks_are_named() -> None:
    assert str(check(BETWEEN, "[0, 2]")) == "wrong: x = 0 is no solution"
    assert str(check(ABSOLUTE, "x > 0")) == "right, but not all solutions: it holds for x ≥ 0"
    assert "the denominator x - 1 is 0 there" in str(check("sqrt(x^2) = x + 0/(x - 1), x = _", "x ≥ 0"))


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        (BETWEEN, "[2, 1]", "no number satisfies this; write the smaller end first"),
        (BETWEEN, "(1, 1)", "no number satisfies this"),
        (BETWEEN, "x > 2 and x < 1", "contradict each other"),
        (BETWEEN, "x > 2, x < 1", "contradict each other"),
        (BETWEEN, "1 < x > 0", "cannot be read; write x >= 0, 1 <= x < 2 or [1, 2)"),
        (BETWEEN, "y > 0", "' does not give the limits of x"),
        (BETWEEN, "x > a", "contains a; the ends of an interval must be numbers"),
        (BETWEEN, "x > sqrt(-2)", "not a real number"),
        ("|x| = a, x = _", "x > 0", "express x in terms of the other letters"),
        ("x^2 = 4, x = _", "[1, 2]", "can mean an interval or a pair"),
    ],
)
def test_an_interval_that_has_no_meaning_is_refused_with_what_would_be_right(
    question: str, answer: str, said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check(question, answer)


def spelled(random: Random, low: int | None, high: int | None, low_in: bool, high_in: bool) -> str:
    if random.random() < 0.5:
        left = "(-∞" if low is None else f"{'[' if low_in else '('}{low}"
        right = "∞)" if high is None else f"{high}{']' if high_in else ')'}"
        return f"{left}, {right}"
    before = "" if low is None else f"{low} {'≤' if low_in else '<'} "
    behind = "" if high is None else f" {'≤' if high_in else '<'} {high}"
    return f"{before}x{behind}"


@pytest.mark.parametrize("seed", range(60))
def test_a_drawn_answer_is_right_if_each_number_is_in_it_that_solves(seed: int) -> None:
    random = Random(seed)
    roots = sorted(random.sample(range(-4, 5), random.randint(1, 3)))
    sign = random.choice([1, -1])

    def solves(x: Fraction) -> bool:
        value = Fraction(sign)
        for root in roots:
            value *= x - root
        return value >= 0

    numbers = [Fraction(k, 2) for k in range(-14, 15)]
    ends: list[int | None] = [None, *roots, None]
    pieces = []
    for low, high in pairwise(ends):
        inner = Fraction((low if low is not None else -6) + (high if high is not None else 6), 2)
        if solves(inner):
            pieces.append([low, high, low is not None, high is not None])
    change = random.choice(["none", "open", "shift", "drop"]) if pieces else "none"
    changed = random.choice(pieces) if pieces else None
    if change == "open" and changed is not None:
        changed[random.choice([2, 3])] = False
    if change == "shift" and changed is not None and changed[1] is not None:
        changed[1] += 1
    if change == "drop" and len(pieces) > 1:
        pieces.remove(changed)

    def is_in(x: Fraction) -> bool:
        return any(
            (low is None or x > low or (low_in and x == low)) and (high is None or x < high or (high_in and x == high))
            for low, high, low_in, high_in in pieces
        )

    if not pieces:
        return
    product = "*".join(f"(x - ({root}))" for root in roots)
    text = " or ".join(spelled(random, *piece) for piece in pieces)
    extra = any(is_in(x) and not solves(x) for x in numbers)
    lacking = any(solves(x) and not is_in(x) for x in numbers)
    expected = "wrong" if extra else "incomplete" if lacking else "right"
    assert Checker(f"|{sign}*{product}| = {sign}*{product}, x = _").check(text).mark.value == expected, text
