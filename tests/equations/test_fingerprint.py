"""Where floating-point numbers agree: what a search sorts out."""

import pytest

from dgltree import read_equation
from dgltree.equations.truth.evaluator import Fingerprint, Reach

REACHES = {
    "sin(x)^2 + cos(x)^2 = 1": Reach.EVERYWHERE,
    "sqrt(x)^2 = x": Reach.EVERYWHERE,
    "123456*789 = 97406784": Reach.EVERYWHERE,
    "sqrt(x^2) = abs(x)": Reach.REALS,
    "log(exp(x)) = x": Reach.REALS,
    "sqrt(x^2) = x": Reach.POSITIVE,
    "log(x*y) = log(x) + log(y)": Reach.POSITIVE,
    "1/0 = x": Reach.OPEN,
    "sin(2*x) = 2*sin(x)": Reach.NONE,
    "1 = 2": Reach.NONE,
}


@pytest.mark.parametrize("text", REACHES)
def test_reaches(text: str) -> None:
    assert Fingerprint().reach(read_equation(text)) is REACHES[text]


def test_the_order_of_reaches() -> None:
    assert [reach.likely for reach in Reach] == [True, True, True, False, False]
