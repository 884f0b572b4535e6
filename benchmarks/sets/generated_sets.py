"""Sets that are made by chance: values of decimals, lists of digits whose order counts, and equations."""

from collections.abc import Iterator
from random import Random

import mpmath

from benchmarks.sets.records import LabelledRecord
from benchmarks.verdicts.mpmath_values import agrees
from dgltree import Equation, Tree, write_infix
from dgltree.equations.expressions.variables import variables
from tasks.equations.generator.growth import draw_identity
from tasks.equations.generator.places import Places
from tasks.equations.generator.vary import vary
from tasks.equations.words import tree

OPERATORS = ["add", "sub", "mul"]
POINTS = 12
"""Points at which two sides are compared."""
MAX_SYMBOLS = 40
"""Symbols of an equation."""


def numbers() -> Iterator[LabelledRecord]:
    """1,500 sums, differences and products of decimals, and their values."""
    random = Random(2)
    for number in range(1500):
        text, value = _expression(random, 2)
        yield LabelledRecord(f"{value:.4f}", (text,), str(number))


def _expression(random: Random, depth: int) -> tuple[str, float]:
    if depth == 0 or random.random() < 0.2:
        value = round(random.uniform(-4, 4), 2)
        return f"{value}", value
    (a, x), (b, y), name = _expression(random, depth - 1), _expression(random, depth - 1), random.choice(OPERATORS)
    return f"({name} {a} {b})", {"add": x + y, "sub": x - y, "mul": x * y}[name]


def ordered() -> Iterator[LabelledRecord]:
    """2,500 nested lists of digits, and their values, which depend on the order of what is in them."""
    random, count = Random(3), 0
    while count < 2500:
        text, value = _list(random, 3)
        if "(" in text:
            yield LabelledRecord(str(value), (text,), str(count))
            count += 1


def _list(random: Random, depth: int) -> tuple[str, int]:
    if depth == 0 or random.random() < 0.45:
        value = random.randrange(10)
        return str(value), value
    children = [_list(random, depth - 1) for _ in range(random.randrange(2, 7))]
    v, name = [value for _, value in children], random.choice(["FIRST", "LAST", "SUB", "SECOND", "MAX"])
    values = {"FIRST": v[0], "LAST": v[-1], "SECOND": v[1], "MAX": max(v), "SUB": (v[0] - sum(v[1:])) % 10}
    return f"({name} {' '.join(text for text, _ in children)})", values[name]


def equations() -> Iterator[LabelledRecord]:
    """1,000 identities as pairs of sides, and of each a pair with one node changed, with different values somewhere."""
    random, count = Random(7), 0
    while count < 1000:
        places = draw_identity(random, "elementary")
        changed = Places(vary(places, random))
        right, wrong = ([tree(side) for side in one.sides()] for one in (places, changed))
        if len(places.word) > MAX_SYMBOLS or _agree(wrong[0], wrong[1], random):
            continue
        for label, sides in (("right", right), ("wrong", wrong)):
            yield LabelledRecord(label, tuple(map(write_infix, sides)), str(count))
        count += 1


def _agree(left: Tree, right: Tree, random: Random) -> bool:
    """Whether two sides differ at no point that is drawn."""
    names = variables(left, right)
    for _ in range(POINTS if names else 1):
        point = {name: mpmath.mpf(random.randint(-40, 40)) / random.randint(1, 12) for name in names}
        if agrees(Equation(left, right), point, school=True, real=False) is False:
            return False
    return True
