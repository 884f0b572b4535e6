"""Steps from values to further ones: the operations, and which pairs are worth trying."""

from typing import NamedTuple

import numpy as np

from dgltree.equations.truth.elementary import Array, apply, power

BINARY = ("add", "sub", "mul", "div", "pow")
COMMUTATIVE = ("add", "mul")


class Operations(NamedTuple):
    """The operations of expressions."""

    unary: tuple[str, ...]
    """Functions of the trees, in addition to ``neg`` and ``sqrt``."""
    binary: tuple[str, ...] = BINARY


def unary(name: str, values: Array) -> Array:
    """The values of a function, ``neg`` or ``sqrt``."""
    if name == "neg":
        return -values
    return np.sqrt(values) if name == "sqrt" else np.log(values) if name == "log" else apply(name, [values])


def binary(name: str, a: Array, b: Array) -> Array:
    """The values of one of :data:`BINARY`."""
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul":
        return a * b
    return a / b if name == "div" else power(a, b)


def pairs(name: str, first: Array, second: Array, room: int, one: int) -> tuple[Array, Array]:
    """Left and right of the pairs of two levels' entries that may give something new: some ``room`` at most.

    Args:
        name: one of :data:`BINARY`.
        first: the entries of a level.
        second: those of another, or of the same.
        room: how many.
        one: the entry of the number 1, -1 if there is none.
    """
    if not len(first) or not len(second):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first = first[: max(1, room // len(second))]
    left, right = np.repeat(first, len(second)), np.tile(second, len(first))
    if name in ("mul", "div", "pow"):  # what 1 does to nothing
        useful = (left != one) & (right != one) if name != "div" else right != one
        left, right = left[useful], right[useful]
    if name in COMMUTATIVE:
        ordered = left <= right if first[0] == second[0] else slice(None)
        left, right = left[ordered], right[ordered]
    if name in ("sub", "div"):
        differ = left != right
        left, right = left[differ], right[differ]
    return left, right
