"""What is known of the parts of a proof: signs, and whether they are analytic in the whole region."""

import pytest

from dgltree import Equation, read_infix
from dgltree.equations.truth.identities.field_extension import Again, FieldExtension, Generator, Units
from dgltree.equations.truth.identities.rational_functions import Region, TooLarge
from dgltree.equations.truth.identities.translation import Translator
from dgltree.equations.truth.judge import Judge


def kernel(text: str, kind: str) -> Generator:
    """The generator that a text becomes, the last that is made of it."""
    units = Units()
    while True:
        try:
            kernels = FieldExtension(["x", "y"], Region(kind), units)
            value = Translator(kernels).of(read_infix(text))
        except Again:
            continue
        return kernels.kernels[max(kernels.ring.involved(*value))]


ANALYTIC = {
    "log(x)": True,
    "log(x + y)": True,
    "log(log(x)^2)": False,  # at x = 1
    "log(log(x)^2 + 1)": True,
    "log(log(x)^2*log(y)^2)": False,
    "log(log(x)^2 + log(y)^2)": False,  # at x = y = 1
    "log(exp(x*y))": True,
    "sqrt(log(x)^2 + log(y)^2)": False,
    "sqrt(log(x)^2 + x)": True,
    "exp(log(x)^2)": True,
    "abs(log(x))": False,
}
"""Among positive numbers."""


@pytest.mark.parametrize("text", ANALYTIC)
def test_what_is_analytic_has_a_derivative_at_every_positive_point(text: str) -> None:
    assert kernel(text, "positive").analytic == ANALYTIC[text]


@pytest.mark.parametrize(
    ("text", "signs"),
    [("exp(x)", (2, 2)), ("abs(x - y)", (1, 1)), ("sqrt(x^2 + 1)", (2, 2)), ("log(x^2 + 1)", (None, None))],
)
def test_signs_are_of_the_region(text: str, signs: tuple[int | None, int | None]) -> None:
    found = [kernel(text, kind) for kind in ("positive", "real")]
    assert tuple(each.sign for each in found) == signs
    assert all(each.real for each in found)


@pytest.mark.parametrize("text", ["sin(x, y)", "abs(x, y)", "exp(x, y)", "log(x, y, x)", "tan(x, y)", "acot(x, y)"])
def test_a_function_of_the_wrong_number_of_arguments_is_no_value_of_a_proof(text: str) -> None:
    translation = Translator(FieldExtension(["x", "y"], Region("real"), Units()))
    with pytest.raises(TooLarge):
        translation.of(read_infix(text, functions=None))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ("log(x, y, x)", "log(x)", "undecided: the function log of 3 arguments has no value"),
        ("sin(x, y)", "sin(x, z)", "undecided: the function sin of 2 arguments has no value"),
        ("Pow(x, 2, y)", "x^2", "undecided: the function Pow of 3 arguments has no value"),
        ("Mul(x, y, z)", "x*y*z", "holds everywhere (proved)"),
        ("Add(x, y, z)", "x + (y + z)", "holds everywhere (proved)"),
    ],
)
def test_the_judge_names_such_a_function(left: str, right: str, said: str) -> None:
    sides = (read_infix(text, functions=None) for text in (left, right))
    assert str(Judge().verdict(Equation(*sides))) == said
