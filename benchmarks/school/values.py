"""Whether a filler has the value of the textbook's answer, decided at random points.

The points are complex, then real, then positive. At real and positive points an equation says something only where all
of its parts are real, as in school: ``sqrt(x*y) = sqrt(x)*sqrt(y)`` is then about numbers that are not negative.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from dgltree import Equation, Tree

Array = np.ndarray[Any, np.dtype[Any]]
DOMAINS = ("complex", "real", "positive")
POINTS, MIN_USABLE_POINTS = 256, 8  # points of a domain, and how many must say something
TOLERANCE = 1e-7  # relative to 1 or to the larger value
MAX_MAGNITUDE = 1e8  # magnitude of a value that still says something

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "sqrt": np.sqrt,
    "abs": lambda value: np.abs(value) + 0j,
}
RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan", "sech": "cosh", "csch": "sinh", "coth": "tanh"}
"""``sec(x) = 1/cos(x)`` and ``asec(x) = acos(1/x)``, and so the others."""


def same_value(filler: Tree, answer: Tree, equation: Equation) -> bool:
    """Whether ``filler`` equals ``answer`` where ``equation`` with that answer holds.

    Equal at complex points is enough, and so is equal at real ones. Positive points alone count only if the equation
    itself holds at no wider ones: ``x`` is wrong in ``sqrt(x^2) = _``. A filler that has no value is wrong.
    """
    filled = equation.fill(answer)
    try:
        for domain in DOMAINS:
            usable = common_points(filled, domain)
            if usable is not None:
                if equal(value(filler, domain)[0], value(answer, domain)[0], usable):
                    return True
                if domain == "real":
                    return False
    except ValueError:
        pass
    return False


def common_points(equation: Equation, domain: str) -> Array | None:
    """Where both sides have values, if they are equal wherever they have; None if not or at fewer than ``NEEDED``."""
    (left, left_usable), (right, right_usable) = (value(side, domain) for side in equation)
    usable = left_usable & right_usable
    return usable if np.count_nonzero(usable) >= MIN_USABLE_POINTS and equal(left, right, usable) else None


def equal(left: Array, right: Array, usable: Array) -> bool:
    """Whether two values agree at all usable points."""
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= TOLERANCE * (1 + np.maximum(np.abs(left), np.abs(right)))
    return bool(near[usable].all())


def value(tree: Tree, domain: str) -> tuple[Array, Array]:
    """The values at the points of a domain, and at which of them all parts of the tree have one in it.

    Raises ``ValueError`` for a function or leaf that has no value.
    """

    def of_node(node: Tree, arguments: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        result = _apply(node, [argument for argument, _ in arguments]) if arguments else _leaf(node, domain)
        if domain != "complex":
            whole = np.abs(result.imag) <= TOLERANCE**2 * np.abs(result)
            result = np.where(whole, result.real + 0j, result)
        usable = np.isfinite(result) & (np.abs(result) <= MAX_MAGNITUDE)
        if domain != "complex":
            usable &= whole
        return result, np.logical_and.reduce([usable, *(inside for _, inside in arguments)])

    with np.errstate(all="ignore"):
        return tree.fold(of_node)


@lru_cache(maxsize=1000)
def points(name: str, domain: str) -> Array:
    """The values of a variable: they depend on its name and the domain only."""
    random = np.random.default_rng(int.from_bytes(sha256(f"{domain} {name}".encode()).digest()[:8], "big"))
    size = random.uniform(0.1, 3, POINTS)
    if domain == "positive":
        return size + 0j
    turns: Array = random.integers(2, size=POINTS) / 2 if domain == "real" else random.uniform(0, 1, POINTS)
    return size * np.exp(2j * math.pi * turns) if domain == "complex" else size * (1 - 4 * turns + 0j)


def _leaf(leaf: Tree, domain: str) -> Array:
    if leaf.function == "Symbol" and leaf.token is not None:
        return points(leaf.token, domain)
    constants = {"Pi": math.pi, "Exp1": math.e}
    top, _, bottom = (leaf.token or "").partition("/")
    try:
        number = constants.get(leaf.function) or float(top) / float(bottom or 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"the leaf {leaf!r} has no value; use variables, numbers, pi and e") from None
    return np.full(POINTS, number + 0j)


def _apply(node: Tree, arguments: list[Array]) -> Array:
    first, *others = arguments
    match node.function, len(others):
        case "Add", 1:
            return first + others[0]
        case "Mul", 1:
            return first * others[0]
        case "Pow", 1:
            return np.power(first, others[0])
        case "log", 1:
            return np.log(first) / np.log(others[0])
        case name, 0 if name in FUNCTIONS:
            return FUNCTIONS[name](first)
        case name, 0 if name in RECIPROCALS:
            return 1 / FUNCTIONS[RECIPROCALS[name]](first)
        case name, 0 if name[1:] in RECIPROCALS:
            return FUNCTIONS[f"a{RECIPROCALS[name[1:]]}"](1 / first)
    raise ValueError(f"no value for function {node.function!r} of {len(arguments)} arguments")
