"""What is known of the parts of a proof: signs, and whether they are analytic in the whole region."""

import os
import random
from collections import Counter
from contextlib import suppress
from fractions import Fraction

import mpmath
import pytest
from flint import acb

from dgltree import Equation, Tree, read_infix
from dgltree.equations.truth.identities.field_extension import Again, FieldExtension, Generator, Units
from dgltree.equations.truth.identities.rational_functions import NoValue, RationalFunction, Region, TooLarge
from dgltree.equations.truth.identities.translation import Translator
from dgltree.equations.truth.judge import Judge

DRAWN = int(os.environ.get("DRAWN", "120"))
SIGNS = {-2: {-1}, -1: {-1, 0}, 0: {0}, 1: {0, 1}, 2: {1}}
"""By what is known of a value, the signs that it may have."""
LARGE = 1e9
POINTS = [(-2.3, 0.7), (1.9, -0.4), (0.6, 3.1)]


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


def drawn_text(draw: random.Random, depth: int) -> str:
    """An expression in x and y with roots, whose factors have any sign and multiplicity."""
    if depth == 0:
        return draw.choice(["x", "y", "2", "-3", "8", "(x^2 + 1)", "(-1 - x^2)", "(pi - 4)"])
    a, b = (drawn_text(draw, draw.randrange(depth)) for _ in range(2))
    odd = [f"({a})^({p}/3)" for p in (1, 2, -1)] + [f"(({a})^2*({b}))^({p}/3)" for p in (1, 5)]
    others = [f"sin({a})", f"exp({a})", f"abs({a})", f"1/log({a})", f"({a})^(1/2)"]
    return draw.choice([f"({a} + {b})", f"({a})*({b})", f"({a})/({b})", f"({a})^2*({b})", *odd, *others])


def value(tree: Tree, at: dict[str, float]) -> mpmath.mpc:
    """The value at a point, by mpmath: a power with an odd denominator is real where its base is."""
    parts = [value(child, at) for child in tree.children]
    match tree.function:
        case "Symbol":
            return mpmath.mpc(at[tree.token])
        case "Add":
            return mpmath.fsum(parts)
        case "Mul":
            return mpmath.fprod(parts)
        case "abs":
            return mpmath.mpc(abs(parts[0]))
        case "sin" | "exp" | "log":
            return getattr(mpmath, tree.function)(parts[0])
        case "Pow":
            exponent, base = Fraction(tree.children[1].token), parts[0]
            is_odd = exponent.denominator % 2 == 1 and abs(base.imag) < 1e-12 and base.real < 0
            size = mpmath.power(-base.real if is_odd else base, mpmath.mpf(exponent.numerator) / exponent.denominator)
            return -size if is_odd and exponent.numerator % 2 else size
    if tree.token in ("e", "pi"):
        return mpmath.mpc(getattr(mpmath, tree.token))
    return mpmath.mpc(mpmath.mpf(Fraction(tree.token).numerator) / Fraction(tree.token).denominator)


def translated(tree: Tree) -> tuple[FieldExtension, RationalFunction]:
    """The fraction that an expression in real x and y becomes."""
    units = Units()
    while True:
        with suppress(Again):
            kernels = FieldExtension(["x", "y"], Region("real"), units)
            return kernels, Translator(kernels).of(tree)


def test_a_drawn_expression_its_conjugate_and_its_sign_have_their_values() -> None:
    draw, compared = random.Random(0), Counter[str]()
    for _ in range(DRAWN):
        tree = read_infix(drawn_text(draw, 3))
        with suppress(TooLarge, NoValue):
            kernels, found = translated(tree)
            conjugate, sign = kernels.conjugate(found), kernels.sign(found)
            for x, y in POINTS:
                expected = value(tree, {"x": x, "y": y})
                balls = kernels.values([acb(x), acb(y)])
                seen = {"value": (found, expected), "conjugate": (conjugate, mpmath.conj(expected))}
                for what, (fraction, number) in seen.items():
                    ball = acb("nan") if fraction is None else kernels.ball(fraction, balls)
                    if ball.rel_accuracy_bits() > 30 and abs(number) < LARGE:
                        assert abs(complex(ball) - complex(number)) <= 1e-6 * max(1, abs(number)), (what, tree, x, y)
                        compared[what] += 1
                if sign is not None:
                    assert (expected.real > 0) - (expected.real < 0) in SIGNS[sign], (sign, tree, x, y)
                    compared["sign"] += 1
    assert min(compared.values()) > DRAWN / 3, compared


def test_a_power_of_a_root_is_not_multiplied_out_without_a_bound() -> None:
    kernels, root = translated(read_infix("(x + y + x^2 + 2)^(1/2)"))
    assert len(kernels.ring.power(root, 14).num) == 64
    with pytest.raises(TooLarge):
        kernels.ring.reduce(root.num**16)
