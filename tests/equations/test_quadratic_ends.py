"""The closed form of an end is the root that it stands next to."""

import math
import random

from dgltree import read_infix
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.verdict import quadratic
from dgltree.trees.equation import Equation


def value(text: str) -> float:
    tree = read_infix(text)
    found = Program(Equation(tree, tree), school=True).at({}, 100)[0]
    return float(found.real.mid())


def test_the_text_of_an_irrational_root_has_its_value() -> None:
    draw, seen = random.Random(0), 0
    while seen < 300:
        a, b, c = draw.choice((-3, -2, -1, 1, 2, 6)), draw.randrange(-12, 13), draw.randrange(-40, 41)
        inside = b * b - 4 * a * c
        if inside <= 0 or math.isqrt(inside) ** 2 == inside:
            continue
        seen += 1
        for sign in (-1, 1):
            root = (-b + sign * math.sqrt(inside)) / (2 * a)
            text = quadratic((c, b, a), root + 1e-9)
            assert math.isclose(value(text), root, rel_tol=1e-12, abs_tol=1e-12), (a, b, c, text)
            [radical] = [int(part.split(")")[0]) for part in text.split("sqrt(")[1:]]
            assert all(radical % (k * k) for k in range(2, math.isqrt(radical) + 1)), "no square is left inside"
