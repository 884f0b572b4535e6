"""Where equations hold, and points at which they do not."""

import re

import pytest

from dgltree import read_equation
from dgltree.equations.truth.verdict import Judge, Verdict

VERDICTS = {
    "sin(x)^2 + cos(x)^2 = 1": Verdict.EVERYWHERE,
    "sqrt(x)^2 = x": Verdict.EVERYWHERE,
    "sin(asin(x)) = x": Verdict.EVERYWHERE,
    "exp(log(x)) = x": Verdict.EVERYWHERE,
    "log(x, 2) = log(x)/log(2)": Verdict.EVERYWHERE,
    "123456*789 = 97406784": Verdict.EVERYWHERE,
    "0.1 + 0.2 = 0.3": Verdict.EVERYWHERE,
    "2^200 = 4^100": Verdict.EVERYWHERE,
    "sqrt(x^2) = abs(x)": Verdict.REALS,
    "log(exp(x)) = x": Verdict.REALS,
    "log(x^2) = 2*log(abs(x))": Verdict.REALS,
    "abs(x)^2 = x^2": Verdict.REALS,
    "sqrt(x^2) = x": Verdict.POSITIVE,
    "log(x*y) = log(x) + log(y)": Verdict.POSITIVE,
    "log(x^2) = 2*log(x)": Verdict.POSITIVE,
    "(x^a)^b = x^(a*b)": Verdict.REALS,
    "acosh(x) = log(x + sqrt(x^2 - 1))": Verdict.REALS,
    "atan(x) + atan(1/x) = pi/2": Verdict.POSITIVE,
    "1/0 = x": Verdict.UNDECIDED,
    "9^9^9^9 = x": Verdict.UNDECIDED,
    "asin(sin(x)) = x": Verdict.FALSE,
    "sin(2*x) = 2*sin(x)": Verdict.FALSE,
    "x = -x": Verdict.FALSE,
    "1 = 2": Verdict.FALSE,
    "2^200 = 2^200 + 1": Verdict.FALSE,
    "sqrt(1 - sin(x)^2) = cos(x)": Verdict.FALSE,
}


@pytest.mark.parametrize("text", VERDICTS)
def test_verdicts(text: str) -> None:
    left, right = read_equation(text)
    judge = Judge()
    assert judge.verdict(read_equation(text)) is VERDICTS[text]
    assert judge.verdict(type(read_equation(text))(right, left)) is VERDICTS[text]


def test_a_function_without_a_value_is_undecided() -> None:
    assert Judge().verdict(read_equation("zeta(x) = zeta(x)", functions=None)) is Verdict.UNDECIDED


@pytest.mark.parametrize("text", [text for text, verdict in VERDICTS.items() if verdict is Verdict.FALSE])
def test_what_does_not_hold_has_a_counterexample(text: str) -> None:
    found = Judge().counterexample(read_equation(text))
    if "x" in text:
        assert found is not None
        assert abs(found.left - found.right) > 1e-6
        assert str(found).startswith("at x = ")


def test_what_holds_has_none_and_complex_points_are_shown() -> None:
    judge = Judge()
    assert judge.counterexample(read_equation("sin(x)^2 + cos(x)^2 = 1")) is None
    assert re.search(r"\di", str(judge.counterexample(read_equation("log(x*y) = log(x) + log(y)"))))
    assert not re.search(r"\di", str(judge.counterexample(read_equation("x = 2*x"))))


def test_the_order_of_verdicts() -> None:
    assert [verdict.holds for verdict in Verdict] == [True, True, True, False, False]
    assert sorted(Verdict, key=lambda verdict: verdict.rank) == list(Verdict)
