"""Answers as they are pasted: from LaTeX, Markdown and phones. Each is drawn as a value, and then spelled."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from dgltree import check
from dgltree.equations.marking.checker import Checker

NONE = (
    *("no solution", "no real solutions", "There is no solution.", "the equation has no solution", "none"),
    *("keine Lösung", "es gibt keine reelle Lösung", "die Gleichung hat keine Lösung", "keine"),
    *("aucune solution", "il n'y a pas de solution", "l'équation n'a pas de solution réelle", "aucune"),
    *("sin solución", "no tiene solución", "la ecuación no tiene solución", "no hay soluciones"),
    *("L = \\{\\}", "\\{ \\}", "L = ∅", "\\text{no solution}", "$\\emptyset$", "**no solution**"),
)
RAISED, LOWERED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"), str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
FRAMES = ("${}$", "$${}$$", "\\({}\\)", "\\boxed{{{}}}", "$\\boxed{{{}}}$", "**{}**", "*{}*", "`{}`", "**${}$**")


def number(random: Random) -> Fraction:
    return Fraction(random.choice([-1, 1]) * random.randint(1, 40), random.randint(1, 9))


def equation_of(values: list[Fraction]) -> str:
    return "*".join(f"(x - ({value}))" for value in values) + " = 0, x = _"


def framed(random: Random, wrong: bool) -> tuple[str, str]:
    value = number(random)
    shown = value + 1 if wrong else value
    tex = f"\\frac{{{shown.numerator}}}{{{shown.denominator}}}"
    return equation_of([value]), random.choice(FRAMES).format(random.choice(["x = ", "x=", ""]) + tex)


def listed(random: Random, wrong: bool) -> tuple[str, str]:
    values = [number(random), number(random)]
    shown = [values[0], values[1] + 1 if wrong else values[1]]
    return equation_of(values), random.choice(FRAMES).format(f"\\{{{shown[0]}, {shown[1]}\\}}")


def none(random: Random, wrong: bool) -> tuple[str, str]:
    return f"x^2 {'-' if wrong else '+'} {random.randint(1, 9)} = 0, x = _", random.choice(NONE)


def both(random: Random, wrong: bool) -> tuple[str, str]:
    middle, inside = random.randint(-9, 9), random.choice([2, 3, 5, 7])
    name = random.choice(["x_{1,2}", "x_{1/2}", "x_{1;2}", "x_1,2", "x₁,₂", "x1,2", "x_{1, 2}"])
    return f"(x - ({middle}))^2 = {inside}, x = _", f"{name} = {middle + wrong} \\pm \\sqrt{{{inside}}}"


def counted(random: Random, wrong: bool) -> tuple[str, str]:
    letter, share = random.choice("knm"), random.choice([2, 3, 4, 6])
    spelled = random.choice([f"{letter}2\\pi", f"{letter}2π", f"{letter}*2π", f"2{letter}π"])
    more = random.choice(["", f", {letter} ∈ ℤ", f", {letter}\\in\\mathbb{{Z}}"])
    return f"cos(x - pi/{share}) = 1, x = _", f"\\frac{{\\pi}}{{{share + wrong}}} + {spelled}{more}"


def grouped(random: Random, wrong: bool) -> tuple[str, str]:
    thousands, rest = random.randint(1, 99), random.randint(0, 9)
    space = random.choice(["\\,", "\\ ", "~", "\u2009", "\u202f", " "])
    return f"{thousands} km + {rest} m = _", f"{thousands}{space}00{(rest + wrong) % 10} m"


def slanted(random: Random, wrong: bool) -> tuple[str, str]:
    value = Fraction(random.randint(1, 30), random.randint(2, 9))
    shown = value + 1 if wrong else value
    whole = shown.numerator // shown.denominator if random.random() < 0.5 else 0
    part = shown - whole
    glyphs = {Fraction(1, 2): "½", Fraction(1, 4): "¼", Fraction(3, 4): "¾", Fraction(2, 3): "⅔", Fraction(1, 3): "⅓"}
    written = f"{part.numerator}".translate(RAISED) + "⁄" + f"{part.denominator}".translate(LOWERED)
    text = glyphs.get(part, written) if part else ""
    return f"{value} = _", f"{whole or ''}{text}" or "0"


def capital(random: Random, wrong: bool) -> tuple[str, str]:
    letter, a = random.choice("abxyzt"), random.randint(2, 9)
    big = letter.upper()
    return f"({letter} - {a})({letter} + {a}) = _", f"{big}{random.choice(['^2', '²'])} - {a * a + wrong}"


SPELLINGS: dict[str, Callable[[Random, bool], tuple[str, str]]] = {
    "framed": framed,
    "listed": listed,
    "none": none,
    "both": both,
    "counted": counted,
    "grouped": grouped,
    "slanted": slanted,
    "capital": capital,
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_of_drawn_answers_the_right_ones_are_right_and_no_other_one_is(kind: str) -> None:
    if kind == "grouped":
        pytest.importorskip("pint")
    random = Random(kind)
    refused = []
    for k in range(50):
        wrong = k % 2 == 1
        question, answer = SPELLINGS[kind](random, wrong)
        found = Checker(question, units=kind == "grouped").mark(answer)
        assert not (wrong and found.mark.value == "right"), (question, answer)
        if not wrong and found.mark.value != "right":
            refused.append((question, answer, str(found)))
    assert not refused


@pytest.mark.parametrize(
    ("question", "answer", "options", "mark"),
    [
        ("x - 5/2 = 0, x = _", "\\boxed{2} + \\frac{1}{2}", {}, "right"),
        ("2^3 = _", "2**3", {}, "right"),
        ("sin(x) = 0, x = _", "\\{k\\pi : k\\in\\mathbb{Z}\\}", {}, "right"),
        ("sin(x) = 0, x = _", "\\{k\\pi \\mid k\\in\\mathbb{Z}\\}", {}, "right"),
        ("k2 x = k2, x = _", "1", {}, "right"),
        ("a + b = 2A, b = _", "2A - a", {}, "right"),
        ("a + b = 2A, b = _", "2A - A", {}, "wrong"),
        ("2x = 8, x = _", "X = 4", {}, "right"),
        ("(a + A)/2 = _", "A/2 + a/2", {}, "right"),
        ("51*1000 = _", "51\\,000", {}, "right"),
        ("5/2 = _", "2½", {}, "right"),
        ("5/2 = _", "2 1/2", {}, "unreadable"),
    ],
)
def test_a_spelling_is_read_only_where_it_has_one_meaning(
    question: str, answer: str, options: dict[str, Any], mark: str
) -> None:
    assert Checker(question, **options).mark(answer).mark.value == mark


def test_a_letter_of_another_case_is_noted() -> None:
    assert check("(x - 2)(x + 2) = _", "X^2 - 4").noted() == ["X is read as x"]
