"""Values of nodes at fixed random complex points, each with a bound on its rounding error (to first order).

Call these with numpy's floating-point warnings off: a point that fails is marked by its error bound.
"""

import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from dgltree.equations.expressions.definitions import define, expression, is_reciprocal
from dgltree.equations.truth.elementary import ELEMENTARY, Array
from dgltree.equations.truth.gamma import float_binomial, float_factorial, growth
from dgltree.equations.truth.leaves import CONSTANTS, finite
from dgltree.read.functions import BY_NAME, Cut
from dgltree.trees.tree import Tree

POINTS = 32  # some must show that (x^y)^z is not always x^(y*z): the fewer, the more such pass
MAX_MAGNITUDE, MIN_MAGNITUDE = 1e6, 1e-6  # magnitudes of intermediate values; outside, one term could swallow another
EPS = 2.0**-51  # the relative error charged for one operation
NEAR_CUT = 1e-9  # relative distance from its branch cut at which a function says nothing

Domain = Literal["complex", "wide", "real", "positive"]
"""Which values variables take."""
Result = tuple[Array, Array]
"""(values, error bounds), each (..., POINTS)"""
Value = tuple[Array, Array, Array]
"""(values, magnitudes, error bounds), each (..., POINTS), one row per node; an error bound of inf or nan marks a point
that is not usable."""
Operation = Callable[..., Result]


@functools.lru_cache(maxsize=3000)
def variable_values(name: str, domain: Domain = "complex") -> Array:
    """The values of the variable ``name`` at the points of a domain: they depend on the name only.

    Complex points are in one quadrant after another, the wide ones farther from 0; of real ones half are below 1,
    and half negative.
    """
    key = f"equations {name}" if domain == "complex" else f"equations {name} {domain}"
    random = np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
    if domain in ("real", "positive"):
        below = random.permutation(np.arange(POINTS) % 2) == 0
        size = np.where(below, random.uniform(0.1, 1, POINTS), random.uniform(1, 3, POINTS))
        sign = random.permutation(np.arange(POINTS) % 2) * 2 - 1 if domain == "real" else 1
        real: Array = size * sign + 0j
        return real
    quadrant = random.permutation(np.arange(POINTS) % 4)
    angle = (quadrant + random.uniform(0.1, 0.9, POINTS)) * (math.pi / 2)
    low, high = (0.4, 2.5) if domain == "complex" else (2.5, 7)
    values: Array = random.uniform(low, high, POINTS) * np.exp(1j * angle)
    return values


def leaf_value(node: Tree, domain: Domain = "complex") -> Value:
    """The value of a leaf. Raises ``ValueError`` for one that is not a variable, finite number, pi or e."""
    return _settle(_leaf(node, domain))


def apply(function: str, arguments: list[Value]) -> Value:
    """The value of a node from those of its children: one row for each row of the first child.

    A second child has as many rows, or one for all; the exponent of a power has one, because whole ones are special.
    Raises ``ValueError`` for a function without a value.
    """
    operation = _operation(function, len(arguments))
    if operation is None:
        raise ValueError(f"no value for function {function!r} of {len(arguments)} arguments")
    return _settle(operation(*arguments))


def _leaf(node: Tree, domain: Domain) -> Result:
    if node.function == "Symbol" and node.token is not None:
        return variable_values(node.token, domain), np.zeros(POINTS)
    number = finite(node)
    if node.function in CONSTANTS:
        return np.full(POINTS, number + 0j), np.full(POINTS, EPS)
    exact = "/" not in (node.token or "") and number == int(number)
    return np.full(POINTS, number + 0j), np.full(POINTS, 0.0 if exact else EPS * abs(number))


def _settle(result: Result) -> Value:
    """Make 0 of what its error swallows; mark what is out of range."""
    v, error = result
    size = np.abs(v)
    inside = ((size <= MAX_MAGNITUDE) & (size >= MIN_MAGNITUDE)).all(axis=-1, keepdims=True)
    if not inside.all():
        zero = ~inside & (size <= 4 * error)
        v, size = np.where(zero, 0.0, v), np.where(zero, 0.0, size)
        error = np.where((size <= MAX_MAGNITUDE) & ((size >= MIN_MAGNITUDE) | (size == 0)), error, np.inf)
    return v, size, error


def _add(a: Value, b: Value) -> Result:
    return a[0] + b[0], a[2] + b[2] + EPS * (a[1] + b[1])


def _multiply(a: Value, b: Value) -> Result:
    return a[0] * b[0], a[1] * b[2] + b[1] * (a[2] + EPS * a[1]) + a[2] * b[2]


def _power(a: Value, b: Value) -> Result:
    n = round(float(b[0][0].real)) if abs(b[0][0]) <= MAX_MAGNITUDE else 0
    if abs(n) <= 20 and (np.abs(b[0] - n) <= 1e-12 + 4 * b[2]).all():  # a whole exponent: no logarithm, no branch
        return _whole_power(a, n, b[2])
    log = np.log(a[0])
    v = np.exp(b[0] * log)
    exponent_error = np.abs(log) * (b[2] + 3 * EPS * b[1]) + b[1] * (a[2] / a[1])
    error = np.abs(v) * (exponent_error + 2 * EPS)
    zero = (a[1] == 0) & (a[2] == 0) & (b[0].real > MIN_MAGNITUDE) & (b[0].imag == 0)
    v, error = np.where(zero, 0.0, v), np.where(zero, 0.0, error)
    return v, np.where(_on_cut(a) | (~zero & (a[1] == 0)), np.inf, error)


def _whole_power(a: Value, n: int, exponent_error: Array) -> Result:
    if n == 2:
        v = a[0] * a[0]
    elif n == -1:
        v = 1.0 / a[0]
    else:
        v = a[0] ** n
    size = np.abs(v)
    if n > 0:
        error = n * a[2] * (a[1] + a[2]) ** (n - 1) + n * EPS * size
    else:  # 0 ^ 0 is left undecided
        error = size * (abs(n) * (a[2] / a[1]) + (abs(n) + 1) * EPS) + np.where(a[1] == 0, np.inf, 0.0)
    return v, error + np.where(np.isfinite(exponent_error), 0.0, np.inf)


def _entire(name: str) -> Operation:
    """A function that numpy has, and of which the derivative is another."""
    function, derivative = ELEMENTARY[name], define(name, lambda node: ELEMENTARY[node.function], "derivative")

    def entire(a: Value) -> Result:
        v = function(a[0])
        return v, np.abs(derivative(a[0])) * a[2] + a[2] * a[2] + EPS * np.abs(v)

    return entire


def _exp(a: Value) -> Result:
    v = np.exp(a[0])
    return v, np.abs(v) * (a[2] + EPS * (1 + a[1]))


def _reciprocal(a: Value) -> Result:
    inverted = 1.0 / a[0]
    return inverted, np.abs(inverted) * (a[2] / a[1] + EPS)


def _natural_log(a: Value) -> Result:
    v = np.log(a[0])
    error = a[2] / a[1] + EPS * (1 + np.abs(v))
    return v, np.where(_on_cut(a) | (a[1] == 0), np.inf, error)


def _log(a: Value, base: Value) -> Result:
    inverted, error = _reciprocal(_settle(_natural_log(base)))
    return _multiply(_settle(_natural_log(a)), (inverted, np.abs(inverted), error))


def _on_cut(a: Value) -> Array:
    """Where the sign of the imaginary part, which a logarithm depends on, is lost in rounding."""
    on_cut: Array = (a[0].real < 0) & (np.abs(a[0].imag) <= NEAR_CUT * a[1]) & (a[2] > 0)
    return on_cut


def _abs(a: Value) -> Result:
    v = ELEMENTARY["abs"](a[0])
    return v, a[2] + EPS * a[1]


def _inverse_function(name: str) -> Operation:
    """An inverse circular or hyperbolic function. Its derivative is bounded over all that the argument may be."""
    function, (cut, beside) = ELEMENTARY[name], CUTS[BY_NAME[name].cut]
    inner, exponent = expression(BY_NAME[name].derivative).children  # (1 + s x^2)^-p
    sign, power = 1 if inner.children[1].function == "Pow" else -1, float(finite(exponent))

    def inverse_function(a: Value) -> Result:
        z, size, error = a
        v = function(z)
        slack = np.abs(1 + sign * z * z) - error * (2 * size + error)
        slope = np.where(slack > 0, slack, np.nan) ** power
        near = np.where(error > 0, np.maximum(NEAR_CUT * (1 + size), error), 0.0)
        on_cut = (cut(z) > -near) & (beside(z) <= near)
        moved = np.where(error > 0, slope * error, 0.0)  # an exact argument may be a branch point: asin(1) = pi/2
        return v, np.where(on_cut, np.inf, moved + EPS * (1 + np.abs(v)))

    return inverse_function


def _from_real(z: Array) -> Array:
    return np.abs(z.imag)


CUTS: Mapping[Cut | None, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    Cut.OUTSIDE: (lambda z: np.abs(z.real) - 1, _from_real),
    Cut.BELOW_ONE: (lambda z: 1 - z.real, _from_real),
    Cut.UPRIGHT: (lambda z: np.abs(z.imag) - 1, lambda z: np.abs(z.real)),
}
"""How far beyond a branch point z would lie if it lay on the axis of the cut, above 0 on the cut; how far it is off."""


GAMMA = 64
"""How many times EPS an error of the gamma function is charged."""


def _factorial(a: Value) -> Result:
    v = float_factorial(a[0])
    return v, np.abs(v) * (2 * growth(a[0]) * a[2] + GAMMA * EPS)


def _binomial(a: Value, b: Value) -> Result:
    v = float_binomial(a[0], b[0])
    rest, error = growth(a[0] - b[0]), a[2] + b[2]
    slopes = (growth(a[0]) + rest) * error + (growth(b[0]) + rest) * b[2]
    return v, np.abs(v) * (2 * slopes + GAMMA * EPS)


_OWN: Mapping[tuple[str, int], Operation] = {
    ("Add", 2): _add,
    ("Mul", 2): _multiply,
    ("Pow", 2): _power,
    ("log", 2): _log,
    ("factorial", 1): _factorial,
    ("binomial", 2): _binomial,
    ("exp", 1): _exp,
    ("abs", 1): _abs,
}


@functools.cache
def _operation(name: str, count: int) -> Operation | None:
    """The operation of a function of so many arguments; a definition goes before a derivative of numpy's function."""
    record = BY_NAME.get(name)
    if (name, count) in _OWN or record is None or count != 1:
        return _OWN.get((name, count))
    if record.definition:
        return define(name, _part)
    if not record.derivative:
        return None
    return _inverse_function(name) if record.inverts else _entire(name)


def _part(node: Tree) -> Callable[..., Any]:
    """An operation of a definition."""
    apply = _reciprocal if is_reciprocal(node) else _operation(node.function, len(node.children))
    if not node.children:
        return lambda: leaf_value(node)
    if apply is None:
        raise ValueError(f"no value for function {node.function!r}")
    return lambda *parts: apply(*(part if len(part) == 3 else _settle(part) for part in parts))
