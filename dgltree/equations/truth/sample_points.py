"""Points at which equations are tested: every scale from 1e-6 to 1e6, whole numbers, multiples of pi/12, cuts.

If values can be rationals, they are, so that what is exact stays exact; the others are made again with the bits that
are asked for.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from flint import acb, arb, fmpq

ZERO = fmpq(0)
Point = dict[str, Any]
"""Names to rationals, complex balls, or functions that make a ball with the bits that are set."""
MIN_POWER, MAX_POWER = -6, 6
"""Powers of ten."""
SEVERAL = 160
"""Points in several variables."""


@lru_cache(maxsize=1)
def one_real() -> tuple[Any, ...]:
    """Values of one real variable: those that find most faults first."""
    draw = random.Random("one real")
    first = [fmpq(n) for n in (2, -3, 7, -11, 1, -1, 5, 40, -60, 0)] + [fmpq(1, 3), fmpq(-3, 4), fmpq(5, 2)]
    scales = [_scaled(draw, power) * sign for power in range(MIN_POWER, MAX_POWER + 1) for sign in (1, -1, 1, -1)]
    whole = [fmpq(n) for n in range(-12, 13)] + [fmpq(10**power * sign) for power in range(1, 7) for sign in (1, -1)]
    between = [fmpq(n, 8) for n in range(-79, 80, 6)]
    angles = [_angle(k) for k in (*range(-12, 13), *range(-24, 25, 6), *range(-72, 73, 18)) if k]
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
    """The same after some points of small whole numbers, for a reader to work out."""
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


class Angle:
    """A multiple of pi and a multiple of i, or with ``turned`` the other way round, made with the bits that are set."""

    def __init__(self, multiple: fmpq, offset: fmpq = ZERO, turned: bool = False) -> None:
        self.multiple, self.offset, self.turned = multiple, offset, turned

    @property
    def positive(self) -> bool:
        return bool(self.multiple > 0)

    def __call__(self) -> acb:
        angle, offset = arb.pi() * self.multiple, arb(self.offset)
        return acb(offset, angle) if self.turned else acb(angle, offset)


def _angle(k: int) -> Angle:
    return Angle(fmpq(k, 12))


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


Maker = Callable[[], acb]
