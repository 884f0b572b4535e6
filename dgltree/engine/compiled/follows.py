"""Numbers of a recording that follow how many nodes and messages there are: sizes, bounds of slices, factors."""

from collections.abc import Sequence
from fractions import Fraction
from math import isclose
from typing import Any, NamedTuple

from dgltree.engine.compiled import values as v
from dgltree.engine.compiled.recording import Recording
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.compiled.values import Value, constant

POWERS = (-1.0, -0.5, 0.5, 2.0, -2.0)
"""Powers of the degree that a number may follow which is no polynomial: 1 / K, 1 / sqrt(K) and so on."""


class Follows(NamedTuple):
    """How a number of a recording follows R nodes and K messages: ``base + a * R + b * K ** power + c * R * K``."""

    base: Fraction | float
    rows: Fraction | float
    degree: Fraction | float
    messages: Fraction | float
    power: float

    def at(self, rows: int, degree: int) -> Fraction | float:
        return self.base + self.rows * rows + self.degree * degree**self.power + self.messages * rows * degree


def followed_numbers(corners: list[Recording]) -> dict[int, Follows] | None:
    """How numbers follow the counts, from recordings at (R, K), (R, L), (Q, K), (Q, L); None if they do not."""
    first = corners[0]
    last = corners[-1]
    if any(len(corner.numbers) != len(first.numbers) for corner in corners):
        return None
    followed: dict[int, Follows] = {}
    for place, numbers in enumerate(zip(*(corner.numbers for corner in corners), strict=True)):
        if all(number == numbers[0] for number in numbers):
            continue
        follows: Follows | None
        if all(isinstance(number, int) for number in numbers):
            follows = _plane(numbers, (first.rows, first.degree), (last.rows, last.degree))
        else:
            follows = _power(numbers, first.degree, last.degree)
        if follows is None:
            return None
        followed[place] = follows
    return followed


def _plane(numbers: tuple[float, ...], first: tuple[int, int], last: tuple[int, int]) -> Follows:
    """The polynomial of both counts through whole numbers at the four corners."""
    r, k = first
    q, m = last
    at_rk, at_rm, at_qk, at_qm = (Fraction(number) for number in numbers)
    across = Fraction(1, q - r)
    along = Fraction(1, m - k) if m != k else Fraction(0)
    messages = (at_qm - at_qk - at_rm + at_rk) * across * along
    degree = (at_rm - at_rk) * along - messages * r
    rows = (at_qk - at_rk) * across - messages * k
    base = at_rk - rows * r - degree * k - messages * r * k
    return Follows(base, rows, degree, messages, power=1)


def _power(numbers: tuple[float, ...], k: int, m: int) -> Follows | None:
    """A multiple of a power of the degree."""
    at_k, at_m, *_ = numbers
    if numbers[:2] != numbers[2:]:
        return None
    for power in POWERS:
        if isclose(at_k / k**power, at_m / m**power, rel_tol=1e-14):
            return Follows(0.0, 0.0, at_k / k**power, 0.0, power)
    return None


class Following:
    """A number that differs between recordings."""

    def __init__(self, number: float, follows: Follows) -> None:
        self.number = number
        self.follows = follows

    def __index__(self) -> int:
        """The number as a size: what it stands for is found from the axes, and compared between recordings."""
        return int(self.number)

    def value(self) -> Value:
        if self.follows.rows or self.follows.messages:
            raise NotAProgramError("the functions calculate with the number of nodes in a frontier")
        degree = v.DEGREE
        if self.follows.power != 1:
            degree = v.value("power", v.as_float(degree), self.follows.power)
        scaled = v.multiply(degree, constant(_number(self.follows.degree)))
        return v.add(scaled, constant(_number(self.follows.base)))


def _number(number: Fraction | float) -> int | float:
    is_whole = isinstance(number, Fraction) and number.denominator == 1
    return int(number) if is_whole else float(number)


def plain(sizes: Sequence[Any]) -> list[int]:
    """Sizes as they were in the recording."""
    return [size if isinstance(size, int) else size.__index__() for size in sizes]
