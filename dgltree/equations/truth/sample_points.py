"""Equations are tested at these points: every scale from 1e-6 to 1e6, whole numbers, multiples of pi/12, cuts.

If values can be rationals, they are, so that what is exact stays exact; the others are made again with the bits that
are asked for.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import islice, pairwise, product
from typing import Any

from flint import acb, arb, ctx, fmpq

from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.truth.program import Program
from dgltree.read.functions import Cut

ZERO = fmpq(0)
Point = dict[str, Any]
"""Names to rationals, complex balls, or functions that make a ball with the bits that are set."""
MIN_POWER, MAX_POWER = -6, 6
"""Powers of ten between which values are drawn."""
SEVERAL = 160
"""Points that are drawn in several variables."""


def points(names: Sequence[str], kind: str) -> Iterator[Point]:
    """Points of a kind: ``complex``, ``real`` or ``positive``."""
    if len(names) == 1:
        values = one_complex() if kind == "complex" else one_real()
        for value in values:
            if kind != "positive" or is_positive(value):
                yield {names[0]: value}
    elif names:
        yield from _several(tuple(names), kind)
    else:
        yield {}


def plain_first(names: Sequence[str], kind: str) -> Iterator[Point]:
    """Points of a kind after some of small whole numbers, which a reader can work out."""
    counts = range(1, len(names) + 1)
    rows: list[list[Any]] = [
        list(counts),
        list(reversed(counts)),
        [count + 1 for count in counts],
        [1 for _ in names],
        [2 for _ in names],
        [fmpq(1, 2), *counts[:-1]],
        [*counts[:-1], fmpq(1, 2)],
    ]
    for signs in [(1, 1)] if kind == "positive" else [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        for row in rows:
            yield {name: fmpq(value * signs[k % 2]) for k, (name, value) in enumerate(zip(names, row, strict=True))}
    yield from points(names, kind)


def is_positive(value: Any) -> bool:
    return bool(value.positive if isinstance(value, Angle) else value > 0)


@lru_cache(maxsize=1)
def one_real() -> tuple[Any, ...]:
    """Values of one real variable: those that find most faults first."""
    draw = random.Random("one real")
    first = [fmpq(n) for n in (2, -3, 7, -11, 1, -1, 5, 40, -60, 0)] + [fmpq(1, 3), fmpq(-3, 4), fmpq(5, 2)]
    scales = [_scaled(draw, power) * sign for power in range(MIN_POWER, MAX_POWER + 1) for sign in (1, -1, 1, -1)]
    whole = [fmpq(n) for n in range(-12, 13)] + [fmpq(10**power * sign) for power in range(1, 7) for sign in (1, -1)]
    between = [fmpq(n, 8) for n in range(-79, 80, 6)]
    angles = [angle(k) for k in (*range(-12, 13), *range(-24, 25, 6), *range(-72, 73, 18)) if k]
    return tuple(dict.fromkeys([*first, *scales, *whole, *between])) + tuple(angles)


@lru_cache(maxsize=1)
def one_complex() -> tuple[Any, ...]:
    """Values of one complex variable: all around zero, and on the axes, where cuts are."""
    draw = random.Random("one complex")
    around = []
    for turn in range(40):
        a, b = (_scaled(draw, draw.choice((-3, -1, 0, 0, 0, 1, 1, 3))) for _ in range(2))
        around.append(acb(_signed(a, turn & 1), _signed(b, turn & 2)))
    axis = [acb(0, arb(fmpq(n, 4))) for n in (-90, -27, -9, -5, -3, -2, -1, 1, 2, 3, 5, 9, 27, 90)]
    real = [fmpq(n, 4) for n in (-90, -27, -9, -5, -3, -2, -1, 1, 2, 3, 5, 9, 27, 90)]
    off_axis = [acb(fmpq(n, 16), fmpq(draw.choice((-9, -5, -2, 2, 5, 9)), 16)) for n in range(-127, 128, 9)]
    turned = [
        Angle(fmpq(turns, 2), fmpq(n, 4), turned=True) for turns in (1, -1, 2, -2, 3, -4, 6) for n in (-9, -1, 2, 7)
    ]
    turned += [Angle(fmpq(turns, 2), fmpq(n, 4)) for turns in (0, 1, -1, 2, -3, 4) for n in (-7, 1, 5)]
    turned += [Angle(fmpq(k, 12), fmpq(1, 128)) for k in range(-18, 19)]  # next to poles of tan, and of tan(3x)
    off_axis += [acb(n, fmpq(1, 64)) for n in range(-4, 5)]
    return tuple(real[::2] + around[:8] + axis + real[1::2] + around[8:] + off_axis + turned)


@lru_cache(maxsize=256)
def _several(names: tuple[str, ...], kind: str) -> list[Point]:
    draw = random.Random(f"{kind} {len(names)}")
    found = []
    for turn in range(SEVERAL):
        power = draw.randint(MIN_POWER, MAX_POWER)
        point: Point = {}
        for place, name in enumerate(names):
            way = turn % 8 if turn % 8 < 4 else draw.randrange(6)
            if way == 0:
                value: Any = fmpq(draw.randint(1, 9))
            elif way == 1:
                value = fmpq(draw.randint(1, 24), draw.choice((1, 2, 3, 4)))
            elif way in (4, 5):
                value = fmpq(draw.randint(1, 160), 16)
            else:
                value = _scaled(draw, power if way == 2 else draw.randint(MIN_POWER, MAX_POWER))
            if kind != "positive":
                value = _signed(value, (turn // 4 >> place) & 1 if turn % 3 else draw.getrandbits(1))
            if kind == "complex" and turn % 3:
                value = acb(value, _signed(_scaled(draw, draw.choice((-3, -1, -1, 0, 0, 1))), draw.getrandbits(1)))
            point[name] = value
        found.append(point)
    return found


def _scaled(draw: random.Random, power: int) -> fmpq:
    """A dyadic number of a scale: exact with few bits."""
    mantissa = fmpq(draw.randint(257, 2559), 256)
    exponent = power * 3.321928094887362
    two = round(exponent)
    return mantissa * (fmpq(2) ** two if two >= 0 else 1 / fmpq(2) ** -two)


def _signed(value: Any, negative: int) -> Any:
    return -value if negative else value


class Angle:
    """A multiple of pi and a multiple of i, or with ``turned`` the other way round, made with the bits that are set."""

    def __init__(self, multiple: fmpq, offset: fmpq = ZERO, turned: bool = False) -> None:
        self.multiple = multiple
        self.offset = offset
        self.turned = turned

    @property
    def positive(self) -> bool:
        return bool(self.multiple > 0)

    def __call__(self) -> acb:
        angle = arb.pi() * self.multiple
        offset = arb(self.offset)
        return acb(offset, angle) if self.turned else acb(angle, offset)


def angle(k: int) -> Angle:
    """Return k twelfths of pi."""
    return Angle(fmpq(k, 12))


# Points next to breakpoints, and on cuts

# What holds on one side of a branch point of a root, a logarithm or the like and fails on the other does so right next
# to it. They are looked for along lines: the real one, upright and level ones of the complex plane, and lines through
# random points in several variables.
STEPS = 20
"""Points of a line on either side of 0."""
MAX_BREAKPOINTS = 4
"""Breakpoints of a line."""
LINES = 3
"""Lines that are drawn in several variables."""
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
    zero = fmpq(0)
    one = fmpq(1)
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
    """Return the line through a point; its parts are given, like those of the direction."""

    def at(t: fmpq) -> Point:
        point: Point = {}
        for name, two in zip(names, zip(start, direction, strict=True), strict=True):
            real, imaginary = (a + b * t for a, b in zip(*two, strict=True))
            point[name] = real if imaginary == 0 else partial(acb, real, imaginary)
        return point

    return at


def _grid() -> list[fmpq]:
    """Return numbers from -16 to 16, denser around 0."""
    half = [fmpq(k * k, 24) + fmpq(1, 997) for k in range(STEPS)]
    return [-t for t in reversed(half)] + half


def _crossings(program: Program, line: Line, kind: str) -> Iterator[tuple[int, Height, fmpq]]:
    """Yield places of arguments, what of them changes its sign, and where on the line."""
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
    """Return the sign of a height; 0 if it is open."""
    if value is None or not ball(value).is_finite():
        return 0
    of = height(ball(value))
    if of > 0:
        return 1
    return -1 if of < 0 else 0


def _refined(program: Program, line: Line, place: int, height: Height, t: fmpq) -> fmpq:
    """Return a crossing with more digits, by secants."""

    def at(x: fmpq) -> Any:
        value = program.values(line(x), REFINED)[place]
        return arb("nan") if value is None else height(ball(value))

    with ctx.workprec(REFINED):
        a = t
        b = t + fmpq(1, 2**HALVED)
        first = at(a)
        for _ in range(ROUNDS):
            second = at(b)
            following = b - second * (b - a) / (second - first)
            if not following.is_finite() or abs(following - b) < fmpq(1, 2**900):
                break
            a = b
            first = second
            b = following.mid().fmpq()
        return b


# Lines along which an equation is judged that agrees at points

MAX_PARALLEL, SLANTING = 9, 3
"""Lines parallel to the axes at most, and others."""


def real_lines(names: Sequence[str]) -> Iterator[dict[str, tuple[Fraction, Fraction]]]:
    """Yield lines, each with start and direction by name: parallel to the axes, and some others."""
    draw = random.Random(f"lines of {len(names)}")
    for moving, rest in islice(product(names, (Fraction(2), Fraction(1, 3), Fraction(-3, 2))), MAX_PARALLEL):
        yield {name: (Fraction(0), Fraction(1)) if name == moving else (rest, Fraction(0)) for name in names}
    for k in range(SLANTING):
        signs = (1,) if k % 2 else (1, -1)
        ways = [draw.choice(signs) * Fraction(draw.randint(1, 9), 2) for _ in names]
        yield {name: (Fraction(draw.randint(-9, 9), 2), way) for name, way in zip(names, ways, strict=True)}
