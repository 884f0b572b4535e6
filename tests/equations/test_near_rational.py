"""Roots next to rational numbers and to each other, and farther out than floats reach, are found and told apart."""

import random

import pytest
from flint import arb, ctx, fmpq

from dgltree import check, complete, read_equation
from dgltree.equations.truth.solutions.solutions import BITS, same
from dgltree.equations.truth.solutions.solving import solve
from dgltree.read.infix_writer import write_infix


@pytest.mark.parametrize(
    ("question", "solutions"),
    [
        ("log(x) = 1000", ["exp(1000)"]),
        ("log(log(x)) = 7", ["exp(exp(7))"]),
        ("log(x) = -200", ["exp(-200)"]),
        ("x = e^-200", ["exp(-200)"]),
        ("x = 3 + e^-140", ["3 + exp(-140)"]),
        ("log(x)^2 = 40000", ["exp(200)", "1/e^200"]),
        ("(x-1)(x-1-e^-150) = 0", ["1", "1 + 1/e^150"]),
        ("sqrt(x) + sqrt(2) = 3 + sqrt(2)", ["9"]),
    ],
)
def test_solutions_far_from_1_or_next_to_a_rational_number_are_written_exactly(
    question: str, solutions: list[str]
) -> None:
    found = complete(f"{question}, x = _", budget=12_000)
    assert (
        [write_infix(filler.trees[0]) for filler in found.fillers] == solutions and not found.reason and not found.more
    )


@pytest.mark.parametrize(
    ("question", "answer", "mark"),
    [
        ("ln(x) = -200", "no solution", "wrong"),
        ("ln(x) = -200", "e^-200", "right"),
        ("ln(x) = -200", "0", "wrong"),
        ("ln(x)^2 = 40000", "e^200", "incomplete"),
        ("ln(x)^2 = 40000", "e^200, e^-200", "right"),
        ("x = e^-150", "no solution", "wrong"),
        ("x = e^-150", "0", "wrong"),
        ("(x-1)(x-1-e^-150) = 0", "1", "incomplete"),
        ("(x-1)(x-1-e^-150) = 0", "1, 1 + e^-150", "right"),
        ("lg(x) = 400", "10^400", "right"),
        ("log(x) = 1000", "e^1000", "right"),
    ],
)
def test_a_number_is_not_the_rational_one_next_to_it(question: str, answer: str, mark: str) -> None:
    assert check(f"{question}, x = _", answer).mark.value == mark


def test_two_numbers_are_the_same_only_if_no_ball_tells_them_apart() -> None:
    with ctx.workprec(BITS):
        small = arb(-200).exp()
        assert not same(small, fmpq(0)) and not same(3 + small, fmpq(3)) and same(small, arb(-200).exp())
        assert same(arb(2).sqrt() ** 2, fmpq(2)) and not same(fmpq(1, 3), fmpq(1, 3) + fmpq(1, 10**80))


@pytest.mark.parametrize("text", ["(x - 1)*(x - 1 - exp(-2000)) = 0", "(x - 1 - exp(-2000))*(x - 1) = 0"])
def test_a_root_that_balls_do_not_tell_from_another_one_is_kept_if_its_factor_is_not_0_there(text: str) -> None:
    found = solve(read_equation(text), "x")
    assert len(found.roots) == 2 and found.are_all


@pytest.mark.parametrize(
    ("text", "count", "are_all"),
    [
        ("(exp(x) - 2)*(x - log(2)) = 0", 1, True),
        ("(x - log(2))*(exp(x) - 2)*(exp(2*x) - 4) = 0", 1, True),
        ("(exp(x) - 2)*(x - log(2) - exp(-2000)) = 0", 1, False),
        ("(exp(x) - exp(sqrt(2)))*(x^2 - 2) = 0", 2, True),
        ("(exp(x) - 2)*(x - log(2) - exp(-20)) = 0", 2, True),
    ],
)
def test_equal_numbers_of_different_factors_are_one_root_if_both_are_0_at_an_expression(
    text: str, count: int, are_all: bool
) -> None:
    found = solve(read_equation(text), "x")
    assert (len(found.roots), found.are_all) == (count, are_all)


def test_drawn_roots_next_to_rational_numbers_are_found_each() -> None:
    draw = random.Random(5)
    for _ in range(40):
        q, power = draw.choice([0, 1, -2, 3]), draw.randint(30, 500)
        near = f"({q} + exp(-{power}))"
        shapes = [
            (f"x - {near}", 1),
            (f"(x - {q})*(x - {near})", 2),
            (f"(x - {near})*(x - {q} - 2*exp(-{power}))", 2),
            (f"exp(x) - exp({near})", 1),
            (f"atan(x) - atan({near})", 1),
            (f"(x - {near})*(x^2 + 1)", 1),
        ]
        text, count = draw.choice(shapes)
        found = solve(read_equation(f"{text} = 0"), "x")
        assert (len(found.roots), found.are_all) == (count, True), text
        with ctx.workprec(4096):
            distances = [arb(root.number) - q for root in found.roots]
            tiny = arb(-power).exp()
            assert any((distance - tiny).contains(0) for distance in distances), text
