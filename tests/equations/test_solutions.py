"""All solutions, and only solutions: what complete, check and verify say comes from one object."""

import math
import os
import time
from pathlib import Path

import numpy as np
import pytest

import dgltree
from dgltree import read_equation, read_infix, write_infix
from dgltree.equations.marking.marks import Mark
from dgltree.equations.truth.solutions.solutions import NumberOutcome, polynomial_text, value
from dgltree.equations.truth.solutions.solving import solve
from dgltree.equations.typed import read_typed

NONE = "there is no real solution"


def roots(text: str) -> list[float]:
    return [float(root) for root in solve(read_typed(text).equation, "x").roots]


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("x^4 - 3x^2 + x = 0", ["0", "2*cos(2*pi/9)", "2*cos(4*pi/9)", "2*cos(8*pi/9)"]),
        ("|x^2 - 3x| = |x + 1|", ["1", "2 + sqrt(5)", "2 - sqrt(5)"]),
        ("x*(x^5 - x - 1) = 0", ["0", "1.16730397826"]),
        ("x*(x^2 - x - 3) = 0", ["0", "(1 + sqrt(13))/2", "(1 - sqrt(13))/2"]),
        ("|x^2 + x| = |2 - 2x|", ["(sqrt(17) - 3)/2", "(-3 - sqrt(17))/2"]),
        ("||x^2 - 1| - x| = x", ["1", "1 + sqrt(2)", "sqrt(2) - 1"]),
        ("tan(x)^2 - tan(x) = 0", ["0", "pi/4"]),
        ("tan(x)^2 - 5tan(x) + 6 = 0", ["atan(2)", "atan(3)"]),
        ("tan(x)^2 + tan(x) + 1 = 0", []),
        ("tan(x)*cos(x) = 1", []),
        ("ln(x - 4) = ln(2x - 1)", []),
        ("sqrt(x - 4) = sqrt(2x - 1)", []),
        ("ln(x^2 + 5x + 3) = ln(x + 4)", ["sqrt(5) - 2"]),
        ("2sin(x)^2 + 3sin(x) = 1", ["asin((sqrt(17) - 3)/4)", "pi - asin((sqrt(17) - 3)/4)"]),
        ("2^x = 5", ["log(5)/log(2)"]),
        ("4^x + 6^x = 9^x", ["1.18681439028"]),
        ("e^x = x + 1", ["0"]),
    ],
)
def test_all_solutions_are_completed_and_no_others(line: str, answers: list[str]) -> None:
    found = dgltree.complete(f"{line}, x = _")
    named = [str(one) for one in found.fillers]
    if line != "4^x + 6^x = 9^x":
        assert named == answers
    assert len(named) == len(answers) and not found.more
    assert found.reason.startswith(NONE) == (not answers)


def test_seven_roots_of_a_chebyshev_polynomial() -> None:
    found = roots("-64x^7 + 112x^5 - 56x^3 + 7x = 0")
    assert found == pytest.approx([-0.974927912, -0.781831482, -0.433883739, 0, 0.433883739, 0.781831482, 0.974927912])


@pytest.mark.parametrize(("function", "factors"), [("sin", (1, 1, 1)), ("cos", (2, 2, -1))])
def test_sums_of_angles_with_several_denominators_have_all_zeros_of_their_period(
    function: str, factors: tuple[int, ...]
) -> None:
    x = np.arange(-0.5, 12 * math.pi - 0.5, 1e-3)
    values = sum(factor * getattr(np, function)(x / k) for k, factor in enumerate(factors, 1))
    text = " + ".join(f"{factor}*{function}(x/{k})" for k, factor in enumerate(factors, 1))
    found = sorted((root + 0.5) % (12 * math.pi) - 0.5 for root in roots(f"{text} = 0"))
    assert found == pytest.approx(x[:-1][np.diff(np.sign(values)) != 0], abs=2e-3)


def test_both_branches_of_an_even_power_of_an_odd_root() -> None:
    assert {str(one) for one in dgltree.complete("x^(2/3) = a, x = _").fillers} == {"a^(3/2)", "-a^(3/2)"}


@pytest.mark.parametrize(
    ("line", "answer", "mark"),
    [
        ("x^5 - 6x^4 - 6x^3 - 6x^2 - x = 0", "0", Mark.INCOMPLETE),
        ("tan(x)^2 - tan(x) = 0", "0, pi/4", Mark.RIGHT),
        ("tan(x)*cos(x) = 1", "no solution", Mark.RIGHT),
        ("x^3 - 3x + 1 = 0", "2cos(2pi/9), 2cos(4pi/9), 2cos(8pi/9)", Mark.RIGHT),
        ("x^4 - 10x^2 + 1 = 0", "√2+√3, √2-√3, -√2+√3, -√2-√3", Mark.RIGHT),
        ("2sin(x)^2 + 3sin(x) = 1", "asin((√17-3)/4), π - asin((√17-3)/4)", Mark.RIGHT),
        ("ln(x-4) = ln(2x-1)", "no solution", Mark.RIGHT),
        ("ln(x-4) = ln(2x-1)", "-3", Mark.WRONG),
        ("sqrt(x-4) = sqrt(2x-1)", "-3", Mark.WRONG),
        ("sqrt(x-4) = sqrt(2x-1)", "no solution", Mark.RIGHT),
        ("ln(x^2+5x+3) = ln(x+4)", "-2±√5", Mark.WRONG),
        ("ln(x^2+5x+3) = ln(x+4)", "-2+√5", Mark.RIGHT),
        ("x/(x-3) = 3/(x-3)", "3", Mark.WRONG),
        ("x^2 + 4 = 0", "±2j", Mark.RIGHT),
        ("x^2 + 4 = 0", "no solution", Mark.RIGHT),
        ("x^2 + 4 = 0", "2i", Mark.INCOMPLETE),
        ("sin(x) = a", "asin(a) + 2kπ, π - asin(a) + 2kπ", Mark.RIGHT),
        ("sin(x) = a", "asin(a) + kπ", Mark.WRONG),
        ("x*(x^2 - x - 3) = 0", "0", Mark.INCOMPLETE),
        ("x^2 = 2", "1.41421356237", Mark.WRONG),
    ],
)
def test_an_answer_is_marked_by_the_solutions(line: str, answer: str, mark: Mark) -> None:
    assert dgltree.check(f"{line}, x = _", answer).mark is mark


def test_a_part_without_a_real_value_is_named() -> None:
    asked = "ln(x - 4) = ln(2x - 1), x = _"
    assert str(dgltree.check(asked, "-3")) == "wrong: log(x - 4) has no real value there"
    assert dgltree.complete(asked).remarks() == ["x = -3 is no solution: log(x - 4) has no real value there"]
    assert str(dgltree.check("x/(x-3) = 3/(x-3), x = _", "3")) == "wrong: the denominator x - 3 is 0 there"


def test_no_solution_is_proved_unless_a_pole_is_known_by_its_digits() -> None:
    assert dgltree.complete("tan(x)^2 + tan(x) + 1 = 0, x = _").reason == f"{NONE} (proved)"
    assert dgltree.complete("tan(x)*cos(x) = 1, x = _").reason == f"{NONE} (to 60 digits)"
    assert str(dgltree.check("tan(x)*cos(x) = 1, x = _", "no solution")) == f"right: {NONE} (to 60 digits)"


def test_infinitely_many_solutions_are_said_as_such() -> None:
    assert str(dgltree.check("sin(x) = 0, x = _", "kπ")) == "right: all solutions: k*pi for each integer k"


def test_rounded_answers_get_the_same_mark_each_time() -> None:
    line = "x^3 - 2x^2 - x + 1 = 0, x = _"
    for _ in range(3):
        assert dgltree.check(line, "-0.80193774, 0.55495813, 2.2469796", rounded=True).mark is Mark.RIGHT


def test_trees_are_marked_as_their_texts_are() -> None:
    assert dgltree.check("x^2 = 16, x = _", read_infix("4")).mark is Mark.INCOMPLETE
    with pytest.raises(ValueError, match="the equation has 2 blanks, but the answer has 1 expression"):
        dgltree.check("x + y = _1 + _2", read_infix("x + y"))


def test_a_claim_about_an_equation_with_the_imaginary_unit_is_answered() -> None:
    assert dgltree.check("|x+i| = 2, x = _", "no solution").mark in (Mark.WRONG, Mark.UNDECIDED)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("sqrt(40sqrt(3) + 73) = x", "5 + 4*sqrt(3)"),
        ("sqrt(3 + 2sqrt(2)) = x", "1 + sqrt(2)"),
        ("sqrt(5 - 2sqrt(6)) = x", "sqrt(3) - sqrt(2)"),
        ("e^(2x) - e^x - 1 = 0", "log((1 + sqrt(5))/2)"),
        ("sin(3x - 1) = 1/3", "(1 + asin(1/3))/3"),
    ],
)
def test_roots_are_written_as_school_writes_them(text: str, written: str) -> None:
    assert written in [str(one) for one in dgltree.complete(f"{text}, x = _").fillers]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("x^3 = e^x", [1.857183860, 4.536403655]),
        ("cosh(x) = x^2 + 2", [-3.191964041, 3.191964041]),
        ("sqrt(x + 6) = e^x", [-5.99999385571, 0.970870020276]),
        ("log(x + 5) = x^3", [-5, 1.22276316431]),  # the first is -5 + 5e-55
        ("|-x^2 - 5x + 3| = e^(2x)", [-5.54138379278, -5.54137873749, 0.254398482913]),
        ("e^x + e^(-x) = x^2 + 2", [0]),  # four times
        ("asin(x) = x", [0]),
        ("tanh(x) = x/2", [-1.915008048, 0, 1.915008048]),
        ("sqrt(9 - x^2)*sin(x) = 0", [-3, 0, 3]),
        ("x^200 = x + 2", [-1, 1.005517414]),
        ("log(x)^2 = log(x^3)", [1, 20.08553692]),
        ("sin(x) + sin(x + pi/4) = 1", [0.1791597885, 2.177034702]),
        ("sin(x) - cos(x) = sqrt(2)", [2.356194490]),
        ("cos(pi*x) = sin(2*pi*x)", [-0.5, 1 / 6, 0.5, 5 / 6]),
        ("(x - 1)*(x - 1 - 1/10^13) = 0", [1, 1 + 1e-13]),
    ],
)
def test_the_reason_says_why_these_are_all(text: str, numbers: list[float]) -> None:
    found = solve(read_typed(text).equation, "x")
    assert [float(root) for root in found.roots] == pytest.approx(numbers, rel=1e-9, abs=1e-9)
    assert found.are_all and found.reason


@pytest.mark.parametrize("text", ["tan(x) = x", "x*sin(x) = 0", "x^x = 4", "sin(1/x) = 0", "factorial(x) = 24"])
def test_what_is_not_known_to_be_all_is_said(text: str) -> None:
    assert not solve(read_typed(text).equation, "x").are_all
    assert dgltree.complete(f"{text}, x = _").more


def test_a_list_that_is_cut_says_how_many_are_left() -> None:
    line = f"{'*'.join(f'(x - {k})' for k in range(1, 101))} = 0, x = _"
    found = dgltree.complete(line)
    assert len(found.fillers) == 10 and found.left_out == 90
    assert "90 more solutions are farther from 0; --top 100 shows all" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "x^200 + 3x^7 - 1 = 0", "sin(50x) = x/10", "x^x^x = 2", "e^(e^(e^x)) = 10", "x = x", "sin(x)^2 + cos(x)^2 = 1",
        "|x - 1| + |x - 2| = 1", "sqrt(sqrt(sqrt(x + 1) + 1) + 1) = x", "tan(7x) = cot(5x)", "x^(1/7) + x^(1/5) = 3",
    ],
)  # fmt: skip
def test_hard_equations_take_a_bounded_time(text: str) -> None:
    """Bounded by work, not by a clock; the time here is only to notice if that work has no bound."""
    begun = time.process_time()
    solve(read_typed(text).equation, "x")
    assert time.process_time() - begun < 60


def test_a_number_in_an_equation() -> None:
    found = solve(read_equation("1/(x - 1) = x + sqrt(x)"), "x")
    assert found.put(value(read_infix("1"))).outcome is NumberOutcome.NOT_REAL
    assert found.put(value(read_infix("-1"))).reason == "sqrt(x) has no real value there"
    assert found.put(value(read_infix("2"))).outcome is NumberOutcome.DIFFERS
    assert value(read_infix("sqrt(-1)")) is None
    [root] = solve(read_equation("x^2 = 2*x - 1"), "x").roots
    assert (float(root), root.decimal) == (1.0, "1")


def test_a_polynomial_is_written_and_named_next_to_digits() -> None:
    assert polynomial_text((1, -3, 0, 1)) == "x^3 - 3*x + 1"
    [filler] = dgltree.complete("x^5 - x - 1 = 0, x = _").fillers
    assert (write_infix(filler.trees[0]), filler.source) == ("1.16730397826", "a root of x^5 - x - 1")


@pytest.mark.parametrize(
    ("text", "first"),
    [("x^2 = 75, x = _", "5*sqrt(3)"), ("sqrt(12) + sqrt(27) = _", "5*sqrt(3)"), ("x^2 = 15, x = _", "sqrt(15)")],
)
def test_no_square_stays_below_a_root(text: str, first: str) -> None:
    assert dgltree.write_infix(dgltree.complete(text).fillers[0].trees[0]) == first


def test_solving_keeps_no_memory() -> None:
    """python-flint never frees the text of a polynomial: 60 equations kept 16 MB."""

    def solved() -> None:
        for _ in range(60):
            solve(read_equation("sin(3*x/7 + 2) = 5/7"), "x")

    def megabytes() -> float:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    if not Path("/proc/self/statm").is_file():
        pytest.skip("only Linux says how much memory a process has in this way")
    solved()
    before = megabytes()
    solved()
    assert megabytes() < before + 4
