"""Each rule of enclosures, signs, bounds and lemmas against values of mpmath, on both sides of its conditions."""

import math
import os
import random
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import arb, ctx, fmpq

from dgltree import read_equation
from dgltree.equations.truth.balls import real_log
from dgltree.equations.truth.proofs.certificates import (
    CellClaim,
    CellCut,
    CellState,
    Certificate,
    LemmaStep,
    check,
    relation,
)
from dgltree.equations.truth.proofs.enclosure import INFINITY, Range, enclosure, signs_by_balls
from dgltree.equations.truth.proofs.expression import (
    NEGATIVE,
    ONE,
    PI,
    POSITIVE,
    Expression,
    X,
    from_tree,
    minus,
    number,
)
from dgltree.equations.truth.proofs.fractions import Refused, ValueRing
from dgltree.equations.truth.proofs.lemmas import LEMMAS, lemma
from dgltree.equations.truth.proofs.line import real_line
from dgltree.equations.truth.proofs.place import BITS, CutPoint, Place
from dgltree.equations.truth.solutions.solving import solve

mp = mpmath.mp.clone()
mp.dps = 60
DRAWN = int(os.environ.get("DRAWN", "200"))
FUNCTIONS = ["abs", "sqrt", "exp", "log", "sin", "cos", "asin", "acos", "atan", "tanh", "asinh", "acosh"]


def at(t: Expression, x: Any) -> Any:
    """The real value of an expression; None where a part has none. It shares no code with enclosures."""
    if t == X:
        return x
    if t[0] == "pi":
        return mp.pi
    if t[0] == "number":
        return mp.mpf(t[1].numerator) / t[1].denominator
    parts = [at(part, x) if isinstance(part, tuple) else part for part in t[1:]]
    if None in parts:
        return None
    a, *others = parts
    match t[0]:
        case "+":
            return a + others[0]
        case "*":
            return a * others[0]
        case "^":
            return None if a == 0 and others[0] <= 0 else a ** others[0]
        case "root":
            return mp.sign(a) * mp.root(abs(a), others[0])
        case "power":
            return mp.exp(others[0] * mp.log(a)) if a > 0 else None
    outside = {"sqrt": a < 0, "log": a <= 0, "asin": abs(a) > 1, "acos": abs(a) > 1, "acosh": a < 1, "exp": a > 1e4}
    return None if outside.get(t[0]) else mp.mpf(abs(a) if t[0] == "abs" else getattr(mp, t[0])(a))


def drawn_expression(draw: random.Random, depth: int, functions: list[str]) -> Expression:
    if depth == 0 or draw.random() < 0.15:
        return draw.choice([X, X, X, number(draw.randint(-3, 3)), number(Fraction(draw.randint(-9, 9), 4)), PI])

    def part() -> Expression:
        return drawn_expression(draw, depth - 1, functions)

    kind = draw.choice(["+", "+", "*", "^", "root", "power", *functions])
    if kind in ("+", "*", "power"):
        return (kind, part(), part())
    if kind == "^":
        return ("^", part(), draw.choice([-3, -2, -1, 0, 1, 2, 3, 4]))
    return ("root", part(), draw.choice([3, 5])) if kind == "root" else (kind, part())


def between(draw: random.Random, low: float, high: float) -> list[Any]:
    """Numbers of an interval, which may have no ends, also next to its ends."""
    if math.isinf(low) and math.isinf(high):
        return [mp.mpf(draw.uniform(-9, 9)) * 10 ** draw.randint(-3, 3) for _ in range(9)]
    if math.isinf(low) or math.isinf(high):
        end, way = (high, -1) if math.isinf(low) else (low, 1)
        return [end + way * mp.mpf(10) ** draw.uniform(-6, 4) for _ in range(9)]
    return [low + (mp.mpf(high) - low) * mp.mpf(draw.random()) ** draw.choice((1, 5)) for _ in range(9)]


def as_arb(x: float) -> Any:
    return arb(x) if math.isfinite(x) else INFINITY if x > 0 else -INFINITY


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_enclosure_and_its_signs_have_every_value(depth: int) -> None:
    draw = random.Random(depth)
    for _ in range(DRAWN):
        t = drawn_expression(draw, depth, FUNCTIONS)
        low, high = sorted(draw.choice([-math.inf, -4, -1, -0.5, 0, 0.25, 1, 2, 5, math.inf]) for _ in range(2))
        if low == high:
            continue
        is_open = draw.random() < 0.5 and (low == 0 or high == 0)
        x = Range(as_arb(low), as_arb(high), is_open or low > 0 or high < 0)
        with ctx.workprec(BITS):
            values, signs = enclosure(t, x), signs_by_balls(t, x, 2)
        for point in [*between(draw, low, high), *(mp.mpf(end) for end in (low, high) if not math.isinf(end))]:
            value = at(t, point)
            if value is None or (is_open and point == 0):
                continue
            slack = mp.mpf(10) ** -50 * (1 + abs(value))
            ends = [float(values.low), float(values.high)]
            assert ends[0] - abs(ends[0]) * 1e-12 - 1e-300 <= value + slack, (t, low, high, point)
            assert value - slack <= ends[1] + abs(ends[1]) * 1e-12 + 1e-300, (t, low, high, point)
            if abs(value) > mp.mpf(10) ** -45 * (1 + abs(point)):
                assert int(mp.sign(value)) in signs, (t, low, high, point)
            elif value == 0:
                assert 0 in signs or not values.nonzero, (t, low, high, point)


def place_of(low: Fraction | None, high: Fraction | None) -> Place:
    ring = ValueRing()
    ends = [None if q is None else CutPoint.at(ring, q) for q in (low, high)]
    return Place(ring, ends[0], ends[0] if low == high and low is not None else ends[1])


SHAPES = [  # sums and products that have rules of their own
    "sqrt(x) + 2", "sqrt(x) - 2", "sqrt(x + 3) - x", "exp(x) - 2", "exp(x) + 1", "log(x) - 1", "log(x) + 2",
    "x^(1/3) - x",
    "x - x^(1/3)", "cos(asin(x))", "sin(acos(x))", "cos(atan(x))", "sin(x)", "cos(x)", "sin(x/2)", "cos(2*x)",
    "abs(x) - x",
    "sin(x)/cos(x)", "exp(x) - 1 - x", "log(x) - x + 1", "x*exp(x) - x^2*exp(x)", "x^0", "x^3 - x", "1/x + x",
    "(x - 1)^3",
    "x^(1/5) + x", "sqrt(x^2 + 1) - x", "asin(x) - x", "atan(x) - x", "x*abs(x) - x", "sqrt(x)*abs(x - 1)",
    "acos(x) - 1",
]  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_the_signs_in_cells_and_at_points_are_those_of_values(text: str) -> None:
    t, draw = from_tree(read_equation(f"{text} = 0").left, {"x": X}), random.Random(text)
    ends = [None, *(Fraction(q) for q in ("-3", "-1", "-1/2", "0", "1/2", "1", "2", "4")), None]
    for _ in range(14):
        i, j = sorted(draw.sample(range(len(ends)), 2))
        low, high = ends[i], ends[j]
        if draw.random() < 0.4 and low is not None:
            high = low
        with ctx.workprec(BITS):
            signs = place_of(low, high).signs(t)
        floats = [-math.inf if low is None else float(low), math.inf if high is None else float(high)]
        points = [mp.mpf(floats[0])] if low == high and low is not None else between(draw, *floats)
        values = [value for x in points if (value := at(t, x)) is not None]
        for value in values:
            assert (0 if abs(value) < mp.mpf(10) ** -50 else int(mp.sign(value))) in signs, (low, high, value)


def test_what_is_0_at_both_ends_of_a_cell_has_the_sign_of_its_bend() -> None:
    with ctx.workprec(BITS):
        place = place_of(Fraction(0), Fraction(1))
        assert place.signs(minus(("root", X, 3), X)) == POSITIVE
        assert place.signs(minus(X, ("root", X, 3))) == NEGATIVE
        tangent = ("*", ("sin", X), ("^", ("cos", X), -1))
        assert place.signs(tangent) == POSITIVE
        assert place_of(Fraction(0), Fraction(3)).signs(tangent) > POSITIVE  # a pole is between


VALUES = [number(q) for q in (0, 1, -1, 2, -2, 4, Fraction(1, 2), Fraction(-1, 3), 7)]
ARGUMENTS = [
    *VALUES,
    PI,
    ("*", number(-1), PI),
    ("sin", number(1)),
    ("cos", number(4)),
    ("exp", ONE),
    ("log", number(3)),
]
SPECIAL = {  # arguments by which an equation among the conditions is true, so that the others decide
    "sqrt is": lambda b: (("^", b, 2), b),
    "asin is": lambda b: (("sin", b), b),
    "acos is": lambda b: (("cos", b), b),
    "atan is": lambda b: (("*", ("sin", b), ("^", ("cos", b), -1)), b),
}


@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_is_accepted_only_where_its_conditions_are_true_and_is_true_there(name: str) -> None:
    draw, accepted = random.Random(name), 0
    for n in (2, 3, 4, 5) if "^n" in LEMMAS[name][1] or "/n" in LEMMAS[name][1] else (0,):
        rule = lemma(name, str(n))
        for _ in range(30):
            a, b = draw.choice(ARGUMENTS), draw.choice(ARGUMENTS)
            if name in SPECIAL:
                a, b = SPECIAL[name](b)
            step, letters = LemmaStep(name, (a, b), n), {"A": a, "B": b}
            with ctx.workprec(BITS):
                try:
                    relation(place_of(None, None), [], step)
                except (Refused, ValueError, ZeroDivisionError, ArithmeticError):
                    continue
            accepted += 1
            for sign, first, second in rule.conditions:
                u, v = (at(from_tree(side, letters), mp.mpf(1)) for side in (first, second))
                near = abs(u - v) < mp.mpf(10) ** -40
                assert {">=": u >= v or near, "<=": u <= v or near, "==": near, "!=": not near, ">": u > v, "<": u < v}[
                    sign
                ], (step, sign)
            left, right = (at(from_tree(side, letters), mp.mpf(1)) for side in (rule.left, rule.right))
            assert left is not None and right is not None and abs(left - right) < mp.mpf(10) ** -40 * (1 + abs(left)), (
                step
            )
    assert accepted or name in ("same abs", "zero", "root is") or name.startswith("same"), name


def test_certificates_that_claim_what_is_not_so_are_refused() -> None:
    size = ("abs", X)
    ratio = ("*", size, ("^", X, -1))
    cut = (CellCut(Fraction(0), Fraction(0)),)
    open_, holds = CellClaim(CellState.OPEN), CellState.HOLDS
    steps = (LemmaStep("abs^2", (X,)),)
    right = CellClaim(holds, steps, at=Fraction(1))
    assert check((ratio, ONE), Certificate(cut, (open_, open_, right)))[2].state is holds
    with pytest.raises(Refused):  # the constant is that of the other cell
        check((ratio, ONE), Certificate(cut, (right, open_, open_)))
    difference = minus(size, X)
    quotient = ("*", difference, ("^", difference, -1))
    with pytest.raises(Refused):  # it has no value right of 0, and these are no isolated points
        check((quotient, ONE), Certificate((), (CellClaim(holds),)))
    line = real_line(read_equation("x^0 = 1"), "x")
    assert line is not None and [spot.shown.state for spot in line.spots] == [CellState.ALONE]


def test_a_logarithm_to_a_base_that_is_not_positive_is_not_real() -> None:
    assert real_log(fmpq(4), fmpq(-2)) is None and real_log(fmpq(-4), fmpq(2)) is None
    assert real_log(fmpq(4), fmpq(2)) is not None


def with_roots(draw: random.Random) -> tuple[str, list[float]]:
    """An equation around roots in -1000 to 1000 that are drawn first."""
    roots = sorted({draw.randint(-1000, 1000) for _ in range(2)})
    a, b = roots[0], roots[-1]
    kind = draw.choice(["exp", "product", "log", "abs", "chord", "sine", "root"])
    scale = draw.choice([1, 10, 100])
    match kind:
        case "exp":
            return f"exp((x - {a})/{scale}) + exp((x - {a})/7) = 2", [a]
        case "product":
            return f"(x - {a})*(x - {b})*(exp(x/{scale}) + 1) = 0", roots
        case "log":
            return f"log((x - {a})^2 + 1) + abs(x - {a}) = 0", [a]
        case "abs":
            return f"abs(x - {a}) + abs(x - {b}) = {b - a} + (x - {b})^2", [b]
        case "sine":
            return f"x - {a} + sin(x - {a})/2 = 0", [a]
        case "root":
            return f"(x - {a})^(1/3) + (x - {a})^3 = 0", [a]
    return f"exp(x/{scale}) = exp({a}/{scale}) + (x - {a})*exp({a}/{scale})/{scale}*2", [a]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("exp(x/100) = 30 + x", 2), ("exp(-x/100) = 30 - x", 2), ("exp(x/500) = 2 + x/100", 2), ("log(x) = x/300", 2),
        ("log(x + 5) = x^3", 2), ("sqrt(x) + log(x) = 20", 1), ("x*log(x) = -1/10", 2), ("sqrt(x)*log(x) = -1/2", 2),
        ("x^2*exp(-x/50) = 100", 3), ("abs(x) + exp(x) = 700", 2), ("exp(x) = x^2 + 1000", 1),
        ("x^4 + exp(-x) = 1000", 2),
    ],
)  # fmt: skip
def test_roots_far_out_and_next_to_the_end_of_a_domain_are_found(text: str, count: int) -> None:
    found = solve(read_equation(text), "x")
    assert len(found.roots) == count


@pytest.mark.parametrize(
    "text", ["x*sin(x) = 1/2", "sin(x) + sin(x*sqrt(2)) = 1/2", "sin(x) = x/40", "exp(sin(x)) = 1 + x/50"]
)
def test_equations_with_roots_however_far_out_are_not_said_to_have_all(text: str) -> None:
    found = solve(read_equation(text), "x")
    assert not found.are_none and (len(found.roots) > 3 or not found.are_all)


def test_roots_that_are_drawn_first_are_found_each() -> None:
    draw = random.Random(98)
    for _ in range(DRAWN // 8):
        text, roots = with_roots(draw)
        found = solve(read_equation(text), "x")
        assert not found.are_none, text
        if found.are_all:
            for root in roots:
                assert any(abs(float(one) - root) < 1e-6 for one in found.roots), (text, root, found.roots)
