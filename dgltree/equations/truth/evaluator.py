"""Whether an equation holds is decided numerically at fixed random complex points; this is no verdict.

Every subtree gets a value and a bound on its rounding error, to first order, at each of ``POINTS`` points, so that
cancellation neither hides a difference nor makes one up. A point where a value overflows, vanishes against its error,
lies on a branch cut or leaves the range in which small terms still count is not used: its error bound marks it. All
functions take their principal branch. ``Fingerprint`` tells where an equation seems to hold, for a search to sort out.
"""

import enum
import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dgltree.equations.expressions.definitions import define, expression, is_reciprocal
from dgltree.equations.truth.elementary import (
    CONSTANTS,
    ELEMENTARY,
    Array,
    finite,
    float_binomial,
    float_factorial,
    growth,
)
from dgltree.equations.truth.exact import exact_value
from dgltree.equations.truth.program import rational
from dgltree.read.functions import BY_NAME, Cut
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

POINTS = 32  # some must show that (x^y)^z is not always x^(y*z): the fewer, the more such pass
MAX_MAGNITUDE, MIN_MAGNITUDE = 1e6, 1e-6  # magnitudes of intermediate values; outside, one term could swallow another
EPS = 2.0**-51  # the relative error charged for one operation
NEAR_CUT = 1e-9  # relative distance from its branch cut at which a function says nothing

MIN_POINTS = 12  # usable points without which nothing is decided
NEEDED_REAL = 7  # the same of real points: acosh(x) has a value at half of them, acosh(x + y) at a quarter
BLURRED = 1e-9  # error, relative to 1 or to the larger side, beyond which a point says nothing
EQUAL, DIFFERENT = 16.0, 1e5  # a difference under / over so many error bounds; between them: doubtful
CACHED = 100_000  # subtrees remembered; all are forgotten when there are more

Domain = Literal["complex", "wide", "real", "positive"]
"""Which values variables take."""
Result = tuple[Array, Array]
"""(values, error bounds), each (..., POINTS)"""
Value = tuple[Array, Array, Array]
"""(values, magnitudes, error bounds), each (..., POINTS), one row per node; an error bound of inf or nan marks a point
that is not usable."""
Operation = Callable[..., Result]


class Truth(enum.Enum):
    """The outcome of trying an equation at points."""

    TRUE = 1
    FALSE = 0
    UNDECIDED = -1

    def __str__(self) -> str:
        """Say the outcome in words, for answers to people."""
        return {1: "holds", 0: "does not hold", -1: "undecided"}[self.value]


def numeric_truth(equation: Equation) -> Truth:
    """Whether an equation holds as arithmetic says, UNDECIDED also for a function or constant without a value."""
    try:
        return Evaluator().truth(equation)
    except ValueError:
        return Truth.UNDECIDED


def decide(left: Value, right: Value, needed: int = MIN_POINTS) -> Array:
    """The decisions as numbers of ``Truth`` (...) from the values of both sides, each (..., POINTS).

    Call it with numpy's floating-point warnings off.
    """
    error = left[2] + right[2] + EPS * (left[1] + right[1])
    usable = error < BLURRED * (1 + np.maximum(left[1], right[1]))  # never where a value is NaN
    difference = np.abs(left[0] - right[0])
    agree = ((difference <= EQUAL * error) | ~usable).all(axis=-1)
    differ = (usable & (difference > DIFFERENT * error)).any(axis=-1)
    decision: Array = np.where(agree, Truth.TRUE.value, np.where(differ, Truth.FALSE.value, Truth.UNDECIDED.value))
    decision[np.count_nonzero(usable, axis=-1) < needed] = Truth.UNDECIDED.value
    return decision


class Evaluator:
    """Evaluates equations, remembering the values of the subtrees that it met.

    Args:
        domain: the points; of real and positive ones those are used at which all subtrees are real.
    """

    def __init__(self, domain: Domain = "complex") -> None:
        self.domain = domain
        self._values: dict[Tree, Value] = {}
        # spares comparing trees; the tree is held, so its id stays its own
        self._by_id: dict[int, tuple[Tree, Value]] = {}

    def truth(self, equation: Equation) -> Truth:
        """TRUE if the sides agree at every usable point, FALSE if they clearly differ at one, else UNDECIDED.

        Among real points also FALSE if just one side is real at one, as of ``log(x^2) = 2*log(x)`` below 0.
        """
        if len(self._by_id) > CACHED:
            self._values.clear()
            self._by_id.clear()
        with np.errstate(all="ignore"):
            left = self.value(equation.left)
            right = self.value(equation.right)
            if self.domain == "real" and _real_alone(left, right):
                return Truth.FALSE
            return Truth(int(decide(left, right, MIN_POINTS if self.domain == "complex" else NEEDED_REAL)))

    def value(self, tree: Tree) -> Value:
        """Value and error bound of ``tree``; call it with numpy's floating-point warnings off."""
        stack = [tree]
        while stack:
            node = stack[-1]
            if self._known(node) is not None:
                stack.pop()
                continue
            arguments = []
            for child in node.children:
                argument = self._known(child)
                if argument is None:
                    stack.append(child)
                else:
                    arguments.append(argument)
            if len(arguments) == len(node.children):
                stack.pop()
                value = apply(node.function, arguments) if arguments else leaf_value(node, self.domain)
                if self.domain in ("real", "positive"):
                    value = _only_real(value, arguments)
                self._values[node] = value
                self._by_id[id(node)] = node, value
        return self._by_id[id(tree)][1]

    def _known(self, tree: Tree) -> Value | None:
        found = self._by_id.get(id(tree))
        if found is not None:
            return found[1]
        value = self._values.get(tree)
        if value is not None:
            self._by_id[id(tree)] = tree, value
        return value


def _only_real(value: Value, arguments: Sequence[Value]) -> Value:
    """``value`` with NaN if it, or an argument that it was made of, is not real; a pole is infinite, not NaN."""
    v, size, error = value
    lost = np.abs(v.imag) > 1e-9 * size + 4 * error
    for argument in arguments:
        lost = lost | np.isnan(argument[0])
    v = np.where(lost, np.nan, np.where(np.isnan(v), np.inf, v))
    return v, np.where(lost, np.nan, size), np.where(lost, np.inf, error)


def _real_alone(left: Value, right: Value) -> bool:
    """Whether one side has a value at a point where the other is not real."""
    not_real = [np.isnan(side[0]) for side in (left, right)]
    usable = [side[2] < BLURRED * (1 + side[1]) for side in (left, right)]
    return bool((not_real[0] & usable[1]).any() or (not_real[1] & usable[0]).any())


class Reach(enum.IntEnum):
    """At which points the sides agree, from the most to the fewest."""

    EVERYWHERE = 0
    """Complex ones, with principal values."""
    REALS = 1
    POSITIVE = 2
    OPEN = 3
    """Too few points at which both sides have a value."""
    NONE = 4

    @property
    def likely(self) -> bool:
        """Whether the sides agree at least at positive points."""
        return self <= Reach.POSITIVE


class Fingerprint:
    """Compares sides at points, remembering the values of the parts that it met."""

    def __init__(self) -> None:
        self._evaluators = {
            Reach.EVERYWHERE: Evaluator("complex"),
            Reach.REALS: Evaluator("real"),
            Reach.POSITIVE: Evaluator("positive"),
        }
        self._wide = Evaluator("wide")

    def reach(self, equation: Equation) -> Reach:
        """OPEN also for a function or constant without a value."""
        sides = [exact_value(side) for side in equation]
        if None not in sides:
            return Reach.EVERYWHERE if sides[0] == sides[1] else Reach.NONE
        try:
            truths = {Reach.POSITIVE: self._evaluators[Reach.POSITIVE].truth(equation)}
            if truths[Reach.POSITIVE] is not Truth.FALSE:  # most of what is wrong is wrong there, too
                for reach in (Reach.EVERYWHERE, Reach.REALS):
                    truths[reach] = self._evaluators[reach].truth(equation)
            wide = truths.get(Reach.EVERYWHERE) is Truth.TRUE  # log(exp(x)) is x where x is near 0
            if wide and self._wide.truth(equation) is Truth.FALSE:
                truths[Reach.EVERYWHERE] = Truth.FALSE
        except ValueError:
            return Reach.OPEN
        if not any(node.function == "Symbol" for side in equation for node in side.distinct()):
            roots = [rational(side) for side in equation]
            if None not in roots and roots[0] == roots[1]:  # (-8)^(1/3) = -2
                return Reach.EVERYWHERE if truths.get(Reach.EVERYWHERE) is Truth.TRUE else Reach.REALS
        true = [reach for reach, truth in truths.items() if truth is Truth.TRUE]
        if true:
            return min(true)
        return Reach.NONE if Truth.FALSE in truths.values() else Reach.OPEN


# Values of nodes, to be asked for with numpy's floating-point warnings off


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
        raise Refusal(f"no value for function {function!r} of {len(arguments)} arguments")
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
        v = np.where(zero, 0.0, v)
        size = np.where(zero, 0.0, size)
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
    v = np.where(zero, 0.0, v)
    error = np.where(zero, 0.0, error)
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
    function = ELEMENTARY[name]
    derivative = define(name, lambda node: ELEMENTARY[node.function], "derivative")

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
    function = ELEMENTARY[name]
    cut, beside = CUTS[BY_NAME[name].cut]
    inner, exponent = expression(BY_NAME[name].derivative).children  # (1 + s x^2)^-p
    sign = 1 if inner.children[1].function == "Pow" else -1
    power = float(finite(exponent))

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
    rest = growth(a[0] - b[0])
    error = a[2] + b[2]
    slopes = (growth(a[0]) + rest) * error + (growth(b[0]) + rest) * b[2]
    return v, np.abs(v) * (2 * slopes + GAMMA * EPS)


_OPERATIONS: Mapping[tuple[str, int], Operation] = {
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
    if (name, count) in _OPERATIONS or record is None or count != 1:
        return _OPERATIONS.get((name, count))
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
        raise Refusal(f"no value for function {node.function!r}")
    return lambda *parts: apply(*(part if len(part) == 3 else _settle(part) for part in parts))
