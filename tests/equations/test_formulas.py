"""Formulas solved for one of their letters, as ``complete`` prints them."""

from random import Random

import mpmath
import pytest

from benchmarks.verdicts.mpmath_values import value
from dgltree import complete, write_infix
from dgltree.equations.truth.verdict import Domain
from dgltree.trees.tree import Tree

OUTER = {
    "{} + a": lambda u, a: u + a,
    "a*({})": lambda u, a: a * u,
    "({})/a": lambda u, a: u / a,
    "sqrt({})": lambda u, a: mpmath.sqrt(u),
    "({})^2": lambda u, a: u**2,
    "atan({})": lambda u, a: mpmath.atan(u),
    "acos({})": lambda u, a: mpmath.acos(u),
    "sin({})": lambda u, a: mpmath.sin(u),
    "exp({})": lambda u, a: mpmath.exp(u),
    "log({})": lambda u, a: mpmath.log(u),
    "abs({})": lambda u, a: abs(u),
}
"""Functions as they are written, and their values by mpmath."""


def solutions(question: str) -> list[str]:
    return [str(filler) for filler in complete(question).fillers]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("x^2 = a^2, x = _", ["a", "-a"]),
        ("y^4 = r^4, y = _", ["r", "-r"]),
        ("|z| = |a|, z = _", ["a", "-a"]),
        ("|y|/k = h, y = _", ["k*h", "-k*h"]),
        ("cos(t) = cos(r), t = _", ["r", "-r"]),
        ("tan(t) = a, t = _", ["atan(a)"]),
        ("sqrt(x + m) = n, x = _", ["n^2 - m"]),
        ("sqrt(k/z) = h, z = _", ["k/h^2"]),
        ("alpha = acos(b/c), b = _", ["c*cos(alpha)"]),
        ("theta = atan(y/x), y = _", ["x*tan(theta)"]),
        ("y = atan(x), x = _", ["tan(y)"]),
        ("sqrt(x) + sqrt(a) = b, x = _", ["(b - sqrt(a))^2"]),
        ("x|x| = a, x = _", ["a/sqrt(abs(a))"]),
        ("a*x^(1/3) = x, x = _", ["0", "sqrt(a^3)", "-sqrt(a^3)"]),
        ("x^3 = |a|^3, x = _", ["abs(a)"]),
        ("x^2 = |a|, x = _", ["sqrt(abs(a))", "-sqrt(abs(a))"]),
        ("e^x = a^2, x = _", ["log(a^2)"]),
    ],
)
def test_each_value_has_one_line_in_its_plainest_form(question: str, answers: list[str]) -> None:
    found = complete(question)
    assert [str(filler) for filler in found.fillers] == answers
    assert not found.more and found.tried < 200_000


def test_a_formula_says_where_it_holds() -> None:
    [found] = complete("alpha = acos(b/c), b = _").fillers
    assert found.verdict.domain is Domain.SOLVED
    assert found.verdict.short == "holds wherever there is a solution (tested)"
    assert found.verdict.described["domain"] == "solved"
    signs = {str(filler): filler.verdict for filler in complete("||x| - a| = b, x = _").fillers}
    assert signs.keys() == {"a + b", "-(a + b)", "a - b", "-(a - b)"}
    assert signs["a - b"].short == "holds for some values of the letters (tested)"


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("sin(a x) = b, x = _", "2*pi/a"),
        ("tan(a b x) = c, x = _", "pi/(a*b)"),
        ("a sin(2b x) = c sin(b x), x = _", "2*pi/b"),
        ("sin(x/a) = b, x = _", "2*pi*a"),
        ("sin(a x) = cos(b x) + 1, x = _", None),
        ("sin(a x) = x + b, x = _", None),
    ],
)
def test_the_period_of_an_unknown_may_have_letters(question: str, period: str | None) -> None:
    found = complete(question, budget=2000).period
    assert (None if found is None else write_infix(found)) == period


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(k, marks=pytest.mark.slow) for k in range(10, 120))])
def test_a_drawn_formula_is_solved_by_the_number_that_it_was_made_with(seed: int) -> None:
    random = Random(seed)
    text, point = "x", {"a": mpmath.mpf(random.randint(5, 19)) / 7}
    x = u = mpmath.mpf(random.randint(2, 12)) / 7
    for outer in random.sample(list(OUTER), 3):
        image = OUTER[outer](u, point["a"])
        if mpmath.im(image) or abs(image) > 50 or abs(image) < 0.02:
            continue
        text, u = outer.format(text), image
    found = complete(f"{text} = c, x = _")
    at = {**point, "c": u}
    given = [value(filler.trees[0], at, school=True) for filler in found.fillers]
    turn = None if found.period is None else value(found.period, at, school=True)
    assert any(is_near(x, y, turn) for y in given) or found.more, (text, str(found))
    for filler, y in zip(found.fillers, given, strict=True):
        if filler.verdict.domain is not Domain.PART and y is not None and not mpmath.im(y):
            assert abs(forward(text, y, point["a"]) - u) < 1e-9, (text, str(filler))


def is_near(x: object, y: object, turn: object) -> bool:
    """Whether two numbers agree, or are whole periods apart."""
    if y is None:
        return False
    away = y - x  # type: ignore[operator]
    if turn:
        away -= turn * mpmath.nint(mpmath.re(away / turn))
    return bool(abs(away) < 1e-9)


def forward(text: str, x: object, a: object) -> object:
    """The value of the side with the unknown."""
    from dgltree import read_infix

    side: Tree = read_infix(text)
    return value(side, {"x": x, "a": a}, school=True)
