"""Points on branch cuts and next to breakpoints: what a test at any points does not see."""

from itertools import islice

import pytest
from flint import fmpq

from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.sample_points import is_positive, next_to_breakpoints, on_cuts, plain_first
from dgltree.equations.truth.verdict import Domain, Grade
from dgltree.equations.typed import read_typed


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("log(e^x) + log(e^-x) = 0", Domain.REALS),  # fails where the imaginary part of x is pi
        ("log(x^2 + x + 5) + log(1/(x^2 + x + 5)) = 0", Domain.REALS),  # where the real part is -1/2
        ("sqrt(x^2 + x + 5)*sqrt(1/(x^2 + x + 5)) = 1", Domain.REALS),
        ("sqrt(exp(2x)) = exp(x)", Domain.REALS),
        ("1 + tan(x + pi)^2 = acosh(cosh(sec(x)))^2", Domain.REALS),  # next to poles
        ("tan(3x) = log(exp(tan(3x)))", Domain.REALS),
        ("tanh(atanh(atanh(x))) = (log(1 + x) + log(exp(-log(1 - x))))/2", Domain.POSITIVE),
        ("log(exp(1/(x*y))) = 1/x*1/y", Domain.REALS),
        ("log(x^(exp(log(1)) + 1)*y) = 2*log(x) + log(y)", Domain.POSITIVE),  # 2, not written so
        ("csc(x + pi) = tanh(atanh(-acosh(cosh(csc(x)))))", Domain.NONE),  # atanh has no real value there
        ("acos(cos(tanh(atanh(exp(3x)))))*exp(2x) = exp(5x)", Domain.PART),
        ("sin(asin(x + y))*(x - atan(tan(y))) = x^2 - y^2", Domain.POSITIVE),
        ("asinh(x) + asinh(-x) = 0", Domain.EVERYWHERE),
        ("sqrt(x/(x + 1)) = sqrt(x)/sqrt(x + 1)", Domain.EVERYWHERE),
        ("acosh(cosh(x)) = abs(x)", Domain.REALS),
        ("log(sin(x)^2) = 2*log(abs(sin(x)))", Domain.REALS),
    ],
)  # fmt: skip
def test_the_domain_is_what_holds_on_cuts_and_next_to_poles_too(text: str, domain: Domain) -> None:
    assert Judge().verdict(read_typed(text).equation).domain is domain


def test_real_points_are_on_both_sides_of_a_breakpoint() -> None:
    program = Program(read_typed("abs(x^2 - 7) = asin(x)").equation, school=True)
    found = sorted(float(point["x"].p) / float(point["x"].q) for point in next_to_breakpoints(program, ["x"]))
    for place in (-(7**0.5), -1.0, 1.0, 7**0.5):
        near = [x for x in found if abs(x - place) < 0.1]
        assert min(near) < place < max(near)


def test_complex_points_are_on_the_cut_to_300_digits() -> None:
    program = Program(read_typed("log(x^2 + x + 5) = 0").equation, school=False)
    points = list(on_cuts(program, ["x"]))
    [argument] = program.cuts
    values = [program.values(point, 1024)[argument] for point in points]
    assert len(values) > 2
    assert all(abs(value.imag) < fmpq(1, 2**900) for value in values)


def test_a_window_is_looked_through_to_its_ends_and_inside_of_its_parts() -> None:
    verdict = Judge().verdict(read_typed("sin(3x) = sqrt(sin(3x)^2) + 0*x").equation)
    assert verdict.grade is Grade.TESTED
    last = verdict.part[-1]
    assert last.high is not None and last.high.value < 19.9
    assert Judge().verdict(read_typed("tan(-x^3) = atan(tan(-tan(x^3)))").equation).part != ()


def test_zero_to_a_power_that_is_no_number_is_proved_nowhere() -> None:
    verdict = Judge().verdict(read_typed("0^(x + 1)^2 = 0^(x^2 + 2*tan(2*x) + 1)").equation)
    assert not (verdict.grade is Grade.PROVED and verdict.only)


@pytest.mark.parametrize("kind", ["positive", "real", "complex"])
def test_only_positive_numbers_are_tried_for_what_holds_for_positive_ones(kind: str) -> None:
    tried = [value for point in islice(plain_first(["x", "y"], kind), 28) for value in point.values()]
    assert all(map(is_positive, tried)) == (kind == "positive")
