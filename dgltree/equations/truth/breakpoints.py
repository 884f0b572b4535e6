"""Points next to where an argument of a root, a logarithm or the like reaches a branch point, and points on its cuts.

What holds on one side of such a place and fails on the other does so right next to it. They are looked for along
lines: the real one, upright and level ones of the complex plane, and lines through random points in several variables.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.truth.program import Program
from dgltree.equations.truth.sample_points import Point
from dgltree.read.functions import Cut

STEPS = 20
"""Points of a line on either side of 0."""
MAX_BREAKPOINTS = 4
"""Breakpoints of a line."""
LINES = 3
"""In several variables."""
BITS, HALVED = 64, 14
BESIDE = (fmpq(1, 2**6), fmpq(1, 2**10))
"""Distances from a breakpoint, as shares of its size."""
REFINED, ROUNDS = 1024, 12
"""Bits of a point on a cut, and steps to it at most."""

Line = Callable[[fmpq], Point]
Height = Callable[[Any], Any]
"""The parts of a value that change sign."""
_AROUND_ONE: list[Height] = [lambda value: value.real - 1, lambda value: value.real + 1]
HEIGHTS: dict[tuple[str, Cut], list[Height]] = {
    ("real", Cut.NEGATIVE): [lambda value: value.real],
    ("real", Cut.OUTSIDE): _AROUND_ONE,
    ("real", Cut.BELOW_ONE): _AROUND_ONE,
    ("complex", Cut.UPRIGHT): [lambda value: value.real],
    **{("complex", cut): [lambda value: value.imag] for cut in (Cut.NEGATIVE, Cut.OUTSIDE, Cut.BELOW_ONE)},
}


def next_to_breakpoints(program: Program, names: Sequence[str]) -> Iterator[Point]:
    """Real points next to breakpoints, on both sides."""
    for line in _lines(names, "real"):
        for _, _, t in _crossings(program, line, "real"):
            for share in BESIDE:
                yield line(t - share * (1 + abs(t)))
                yield line(t + share * (1 + abs(t)))


def on_cuts(program: Program, names: Sequence[str]) -> Iterator[Point]:
    """Complex points at which an argument is on its branch cut, to some 300 digits."""
    for line in _lines(names, "complex"):
        for place, height, t in _crossings(program, line, "complex"):
            yield line(_refined(program, line, place, height, t))


def _lines(names: Sequence[str], kind: str) -> list[Line]:
    draw = random.Random(f"lines {kind} {len(names)}")
    zero, one = fmpq(0), fmpq(1)
    if len(names) == 1 and kind == "real":
        return [lambda t: {names[0]: t}]
    if len(names) == 1:
        upright = [_line(names, [(fmpq(n, 8), zero)], [(zero, one)]) for n in (-19, 5)]
        return upright + [_line(names, [(zero, fmpq(n, 8))], [(one, zero)]) for n in (11, -37)]

    def pair() -> tuple[fmpq, fmpq]:
        real, imaginary = (fmpq(draw.randint(-24, 24), 8) for _ in range(2))
        return real, imaginary if kind == "complex" else zero

    return [_line(names, [pair() for _ in names], [pair() for _ in names]) for _ in range(LINES)]


def _line(names: Sequence[str], start: list[tuple[fmpq, fmpq]], direction: list[tuple[fmpq, fmpq]]) -> Line:
    """Through a point, of which the parts are given, like those of the direction."""

    def at(t: fmpq) -> Point:
        point: Point = {}
        for name, two in zip(names, zip(start, direction, strict=True), strict=True):
            real, imaginary = (a + b * t for a, b in zip(*two, strict=True))
            point[name] = real if imaginary == 0 else partial(acb, real, imaginary)
        return point

    return at


def _grid() -> list[fmpq]:
    """From -16 to 16, denser around 0."""
    half = [fmpq(k * k, 24) + fmpq(1, 997) for k in range(STEPS)]
    return [-t for t in reversed(half)] + half


def _crossings(program: Program, line: Line, kind: str) -> Iterator[tuple[int, Height, fmpq]]:
    """Places of arguments, what of them changes its sign, and where on the line."""
    watched = [(place, height) for place, cut in program.cuts.items() for height in HEIGHTS.get((kind, cut), [])]
    if not watched:
        return

    def signs(t: fmpq) -> list[int]:
        values = program.values(line(t), BITS)
        return [_sign(height, values[place]) for place, height in watched]

    seen = [(t, signs(t)) for t in _grid()]
    changes = ((number, *pair) for number in range(len(watched)) for pair in pairwise(seen) if _opposite(number, *pair))
    for number, (low, before), (high, _) in islice(changes, MAX_BREAKPOINTS):
        for _ in range(HALVED):
            middle = (low + high) / 2
            low, high = (middle, high) if signs(middle)[number] == before[number] else (low, middle)
        yield (*watched[number], low)


def _opposite(number: int, one: tuple[fmpq, list[int]], other: tuple[fmpq, list[int]]) -> bool:
    return one[1][number] * other[1][number] < 0


def _sign(height: Height, value: Ball) -> int:
    """0 if it is open."""
    if value is None or not ball(value).is_finite():
        return 0
    of = height(ball(value))
    return 1 if of > 0 else -1 if of < 0 else 0


def _refined(program: Program, line: Line, place: int, height: Height, t: fmpq) -> fmpq:
    """A crossing with more digits, by secants."""

    def at(x: fmpq) -> Any:
        value = program.values(line(x), REFINED)[place]
        return arb("nan") if value is None else height(ball(value))

    with ctx.workprec(REFINED):
        a, b = t, t + fmpq(1, 2**HALVED)
        first = at(a)
        for _ in range(ROUNDS):
            second = at(b)
            following = b - second * (b - a) / (second - first)
            if not following.is_finite() or abs(following - b) < fmpq(1, 2**900):
                break
            a, first, b = b, second, following.mid().fmpq()
        return b
