"""Drawn equations under drawn assumptions, against values of mpmath at points that are as assumed.

DRAWN=2000 ./run.sh tests/equations/test_assumed_drawn.py -m slow -s
"""

import os
import random
from collections import Counter
from fractions import Fraction

import pytest
from mpmath_oracle import agree, mp, real_value

from dgltree import read_equation
from dgltree.equations.completion.assumptions import Assumption, read_assumptions, verdict_under
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Grade

DRAWN = int(os.environ.get("DRAWN", "130"))
PAIRS = [  # what two sides may be, of A and B: some equal where A has a sign, or is between two numbers
    ("sqrt(A^2)", "A"), ("sqrt(A^2)", "-(A)"), ("abs(A)", "A"), ("abs(A)*B", "-(A)*B"), ("log((A)^2)", "2*log(A)"),
    ("log((A)^2)", "2*log(-(A))"), ("sqrt((A)^2)/(A) + B", "B + 1"), ("sqrt((A)^2*B^2)", "A*abs(B)"),
    ("exp(log(A))", "A"), ("asin(sin(A))", "A"), ("acos(cos(A))", "A"), ("atan(tan(A))", "A"),
    ("sqrt(sin(A)^2)", "sin(A)"), ("abs(A) + abs(B)", "A + abs(B)"), ("abs(A + abs(B))", "A + abs(B)"),
    ("sqrt(A)*sqrt(A)", "A"), ("(A^2)^(1/2)", "A"),
]  # fmt: skip
WHOLE = [  # of a whole number n
    ("cos(n*pi)", "(-1)^n"), ("sin(n*pi)", "0"), ("cos(2*n*pi + x)", "cos(x)"), ("sin(x + n*pi)", "(-1)^n*sin(x)"),
    ("tan(x + n*pi)", "tan(x)"), ("(-1)^(2*n)", "1"), ("(-1)^(2*n + 1)", "1"), ("(x^2)^n", "x^(2*n)"),
    ("cos(n*pi/2)", "0"), ("(-1)^(n + 1)", "cos(n*pi)"), ("cos(n*pi)^2", "1"), ("sin(n*pi/3)", "0"),
    ("(1 + (-1)^n)*sin(n*pi/2)", "0"),
    ("abs(n)", "n"), ("sqrt(n^2)", "n"), ("(-1)^(n^2)", "(-1)^n"), ("sin((2*n + 1)*pi/2)", "(-1)^n"),
]  # fmt: skip
INSIDE = ["x", "x - 1", "2*x", "x + 3", "2 - x", "x/2", "x^2 - 4"]


def assumption(draw: random.Random, name: str) -> str:
    low, high = sorted(Fraction(draw.randint(-6, 6), draw.choice((1, 2))) for _ in range(2))
    kinds = [f"{name} > {low}", f"{name} >= {low}", f"{name} < {low}", f"{name} <= {high}"]
    if low < high:
        kinds += [f"{name} in {left}{low}, {high}{right}" for left in "([" for right in ")]"]
    return draw.choice([*kinds, f"-pi/2 <= {name} <= pi/2", f"0 <= {name} <= pi", f"{name} in (-pi/2, pi/2)"])


def values(draw: random.Random, one: Assumption, count: int) -> list[mp.mpf]:
    """Numbers of an assumption, next to its ends and far from these."""
    low, high = (None if end is None else real_value(str_of(end), {}) for end in (one.low, one.high))
    if one.whole:
        return [mp.mpf(draw.randint(-30, 30)) for _ in range(count)]
    near = [mp.mpf(10) ** draw.uniform(-9, 4) for _ in range(count)]
    if low is not None and high is not None:
        shares = [
            share if draw.random() < 0.5 else 1 - share
            for share in (mp.mpf(10) ** draw.uniform(-9, -0.3) for _ in near)
        ]
        return [low + (high - low) * share for share in shares]
    return [low + x if low is not None else high - x for x in near]


def str_of(tree: object) -> str:
    from dgltree import write_infix

    return write_infix(tree)  # type: ignore[arg-type]


@pytest.mark.slow
def test_what_is_said_of_drawn_assumptions_is_so_at_points_that_are_as_assumed() -> None:
    draw, judge, outcomes = random.Random(int(os.environ.get("SEED", "98"))), Judge(), Counter[str]()
    for _ in range(DRAWN):
        if draw.random() < 0.3:
            sides, texts = draw.choice(WHOLE), ["n integer"]
        else:
            inside, other = draw.choice(INSIDE), draw.choice(["y", "2", "y + 1"])
            sides = tuple(side.replace("A", f"({inside})").replace("B", f"({other})") for side in draw.choice(PAIRS))
            texts = [assumption(draw, "x")] + (
                [assumption(draw, "y")] if draw.random() < 0.3 and "y" in str(sides) else []
            )
        equation = read_equation(" = ".join(sides))
        assumed = read_assumptions(texts)
        verdict, holds = verdict_under(judge, equation, assumed)
        about = {one.name: one for one in assumed}
        points = []
        for _ in range(60):
            point = {name: mp.mpf(draw.randint(-400, 400)) / 64 for name in "xy"}
            points.append(point | {name: values(draw, one, 1)[0] for name, one in about.items()})
        sides_at = [tuple(real_value(side, point) for side in sides) for point in points]
        wrong = [point for point, (a, b) in zip(points, sides_at, strict=True) if not agree(a, b)]
        row = (" = ".join(sides), texts, str(verdict), {name: str(x) for name, x in (wrong or [{}])[0].items()})
        shown = verdict.counterexample
        if holds and "everywhere" not in verdict.place:  # principal values may be complex
            differ = [p for p, (a, b) in zip(points, sides_at, strict=True) if None not in (a, b) and not agree(a, b)]
            assert not differ, row
            assert not wrong or verdict.conditions, row
        if shown is not None:
            at = {name: real_value(value, {}) for name, value in shown.variables.items()}
            for name, one in about.items():
                assert name not in at or fits(one, at[name]), row
            assert not agree(*(real_value(side, at) for side in sides)) or at_end(about, at), row
        if not holds and verdict.grade is not Grade.UNDECIDED:
            assert shown is not None, row
        outcomes["holds" if holds else verdict.grade.value if wrong else "not seen to hold"] += 1
    print(dict(outcomes))
    assert outcomes["holds"] and outcomes["refuted"] and outcomes["not seen to hold"] <= DRAWN // 20, outcomes


def fits(one: Assumption, x: mp.mpf) -> bool:
    slack = mp.mpf(10) ** -9 * (1 + abs(x))  # values are written with twelve digits
    low, high = (None if end is None else real_value(str_of(end), {}) for end in (one.low, one.high))
    return (
        (low is None or x >= low - slack)
        and (high is None or x <= high + slack)
        and (not one.whole or x == mp.floor(x))
    )


def at_end(about: dict[str, Assumption], at: dict[str, mp.mpf]) -> bool:
    """Whether a value is written so shortly that it may be on the other side of an end."""
    ends = [
        (at[name], real_value(str_of(end), {})) for name, one in about.items() for end in (one.low, one.high) if end
    ]
    return any(abs(x - end) <= mp.mpf(10) ** -9 * (1 + abs(x)) for x, end in ends)
