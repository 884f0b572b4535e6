"""An equation and the same with its sides turned have one answer, whoever decides it."""

import pytest

from dgltree import Equation, read_equation
from dgltree.equations.truth.evaluator import Evaluator, Fingerprint, Truth
from dgltree.equations.truth.judge import Judge

ON_THE_REALS = {
    "log(x^2) = 2*log(abs(x))": Truth.TRUE,
    "sqrt(x^2) = abs(x)": Truth.TRUE,
    "x + y = y + x": Truth.TRUE,
    "log(x^2) = 2*log(x)": Truth.FALSE,
    "sqrt(x^2) = sqrt(x)^2": Truth.FALSE,
    "x*sqrt(y^2) = x*sqrt(y)^2": Truth.FALSE,
    "x + 1 = x + 2": Truth.FALSE,
    "x^2 = x": Truth.FALSE,
    "asin(sin(x)) = x": Truth.FALSE,
    "tan(x)*cos(x) = sin(x)": Truth.TRUE,
}
"""What real points say: a side that is real where the other one is not differs from it."""


@pytest.mark.parametrize("text", ON_THE_REALS)
def test_real_points_say_the_same_of_both_orders(text: str) -> None:
    equation = read_equation(text)
    for sides in (equation, Equation(*equation[::-1])):
        assert Evaluator("real").truth(sides) is ON_THE_REALS[text]


@pytest.mark.parametrize("text", ON_THE_REALS)
@pytest.mark.parametrize("domain", ["complex", "positive", "wide"])
def test_other_points_do_too(domain: str, text: str) -> None:
    equation = read_equation(text)
    turned = Equation(*equation[::-1])
    assert Evaluator(domain).truth(equation) is Evaluator(domain).truth(turned)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ON_THE_REALS)
def test_the_judge_and_the_fingerprint_do_too(text: str) -> None:
    equation = read_equation(text)
    turned = Equation(*equation[::-1])
    first, second = (Judge().verdict(sides) for sides in (equation, turned))
    assert (first.grade, first.domain, first.place) == (second.grade, second.domain, second.place)
    assert Fingerprint().reach(equation) is Fingerprint().reach(turned)
