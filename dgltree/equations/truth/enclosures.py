"""Intervals around the values and slopes of an expression in one real variable, on an interval that may be infinite.

If a part is not real, the sides may be real all the same: the sign of its imaginary part is kept, which shows of
many a sum or product with such a part that it is not real.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

from flint import arb, ctx

from dgltree.equations.expressions.definitions import define, is_reciprocal
from dgltree.equations.truth.balls import Unjudged, ball, constant
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.real_intervals import (
    ALL,
    BITS,
    ONE,
    ZERO,
    RealInterval,
    absolute,
    add,
    from_ball,
    mul,
    negate,
    reciprocal,
    rising,
    wave,
    whole_power,
)
from dgltree.read.functions import BY_NAME
from dgltree.read.notation import EXP1
from dgltree.trees.tree import Tree

NOWHERE: frozenset[int] = frozenset()
UNKNOWN, NOT_REAL = frozenset({0}), frozenset({1, -1})


class Enclosure(NamedTuple):
    """Around the values of an expression on an interval."""

    value: RealInterval | None
    """Around its real values; None if it has none."""
    slope: RealInterval | None = None
    """Around its derivative; None if it may have none, or a part may not be real."""
    smooth: bool = True
    """Whether it is real and continuous on the whole interval."""
    off: frozenset[int] = NOWHERE
    """Signs of its imaginary part if it is not real; 0 if that is not known, so that it may be real."""

    @property
    def has_no_zero(self) -> bool:
        return 0 not in self.off and (self.value is None or self.value.is_nonzero)


def enclosure(tree: Tree, cell: RealInterval) -> Enclosure:
    """Of an expression in one variable. Raises ``Unjudged`` for a function that is not known here."""

    def of(node: Tree, parts: list[Enclosure]) -> Enclosure:
        if node.children:
            return _applied(node, parts)
        return Enclosure(cell, ONE) if node.function == "Symbol" else _constant(node)

    return tree.fold(of)


def _constant(leaf: Tree) -> Enclosure:
    with ctx.workprec(BITS):
        return Enclosure(from_ball(ball(constant(leaf)).real), ZERO)


def _applied(node: Tree, parts: list[Enclosure]) -> Enclosure:
    if node.function == "Pow":
        number = exact(node.children[1])
        return _variable_power(*parts) if number is None else _power(parts[0], number)
    if node.function == "log":
        below = _log(parts[1]) if len(parts) == 2 and node.children[1] != EXP1 else None
        return _log(parts[0]) if below is None else _product(_log(parts[0]), _power(below, Fraction(-1)))
    return _operation(node)(*parts)


def _operation(node: Tree) -> Callable[..., Enclosure]:
    """An operation, that of a definition as well."""
    if not node.children:
        return lambda: _constant(node)
    if is_reciprocal(node):
        return lambda part, *_: _power(part, Fraction(-1))
    if node.function in ("Add", "Mul"):
        return _sum if node.function == "Add" else _product
    known = _FUNCTIONS.get(node.function)
    if known is not None:
        return known
    record = BY_NAME.get(node.function)
    if record is None or not record.definition:
        raise Unjudged(f"the function {node.function} is not enclosed")
    return define(node.function, _operation)


def _sum(first: Enclosure, *others: Enclosure) -> Enclosure:
    for other in others:
        value = None if first.value is None or other.value is None else add(first.value, other.value)
        slope = None if first.slope is None or other.slope is None else add(first.slope, other.slope)
        first = Enclosure(value, slope, first.smooth and other.smooth, _off_sum(first.off, other.off))
    return first


def _off_sum(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    if not a or not b:
        return a | b
    return a if a == b and len(a) == 1 else UNKNOWN


def _product(first: Enclosure, *others: Enclosure) -> Enclosure:
    for other in others:
        value = mul(first.value, other.value) if first.value is not None and other.value is not None else None
        slope = None
        if first.slope is not None and other.slope is not None and first.value is not None and other.value is not None:
            slope = add(mul(first.slope, other.value), mul(first.value, other.slope))
        first = Enclosure(value, slope, first.smooth and other.smooth, _off_product(first, other))
    return first


def _off_product(a: Enclosure, b: Enclosure) -> frozenset[int]:
    """Of what is not real times what is real and not 0."""
    if not a.off and not b.off:
        return NOWHERE
    not_real, real = (a, b) if a.off else (b, a)
    if real.off or (real.value is not None and not real.value.sign):
        return UNKNOWN
    return frozenset(sign * real.value.sign for sign in not_real.off) if real.value is not None else NOWHERE


def _chained(
    of: Enclosure,
    value: RealInterval | None,
    derivative: RealInterval | None,
    smooth: bool = True,
    off: frozenset[int] = NOWHERE,
) -> Enclosure:
    """A function of a part: its values, its derivative, and what it is where the part is not real."""
    slope = None if derivative is None or of.slope is None or not smooth else mul(derivative, of.slope)
    return Enclosure(value, slope, of.smooth and smooth, (UNKNOWN if of.off else NOWHERE) | off)


def _power(base: Enclosure, n: Fraction) -> Enclosure:
    """A power with a rational exponent; odd roots of negative numbers are real."""
    top, bottom = n.numerator, n.denominator
    a = base.value
    if a is None:
        return Enclosure(None, None, False, UNKNOWN if base.off else NOWHERE)
    smooth, off = n > 0 or a.is_nonzero, NOWHERE
    if bottom % 2 == 0 and a.low < 0:
        # e^(i pi n) times what is above 0
        smooth, off = False, frozenset({_sine_sign(n)}) if not (a.low == a.high == 0) else NOWHERE
        a = _at_least(a, 0.0)
    root = a if a is None or bottom == 1 else _root(a, bottom)
    value = None if root is None else whole_power(root, top)
    lower = None if root is None or a is None else _derivative_of_power(a, root, n)
    return _chained(base, value, lower, smooth, off)


def _derivative_of_power(a: RealInterval, root: RealInterval, n: Fraction) -> RealInterval | None:
    if n.denominator == 1:
        lower = whole_power(a, n.numerator - 1)
    else:
        lower = whole_power(root, n.numerator - n.denominator) if a.is_nonzero else None
    return None if lower is None else mul(RealInterval(*_around(n)), lower)


def _around(n: Fraction) -> tuple[float, float]:
    with ctx.workprec(BITS):
        found = from_ball(arb(n.numerator) / n.denominator)
    return found.low, found.high


def _sine_sign(n: Fraction) -> int:
    """The sign of sin(pi n) for an ``n`` that is not whole."""
    return 1 if (n.numerator // n.denominator) % 2 == 0 else -1


def _at_least(a: RealInterval, low: float) -> RealInterval | None:
    return None if a.high < low or (a.high == low and a.nonzero) else a._replace(low=max(a.low, low))


def _root(a: RealInterval, bottom: int) -> RealInterval:
    def root(x: Any) -> Any:
        if x == 0:
            return arb(0)
        return -((-x).log() / bottom).exp() if x < 0 else (x.log() / bottom).exp()

    return rising(a, root, -inf if bottom % 2 else 0.0, inf)._replace(nonzero=a.is_nonzero)


def _variable_power(base: Enclosure, exponent: Enclosure) -> Enclosure:
    """exp(exponent * log(base)); a negative base has real values at some points, as large as those of its opposite."""
    a, off = base.value, UNKNOWN if base.off or exponent.off else NOWHERE
    if a is None or exponent.value is None:
        return Enclosure(None, None, False, off)
    if a.sign > 0:
        return _exp(_product(exponent, _log(base)))
    size = _exp(_product(exponent, _log(_abs(base)))).value
    if size is None:
        return Enclosure(ALL, None, False, UNKNOWN)
    if a.low >= 0:
        return Enclosure(RealInterval(0.0, size.high), None, False, off)
    return Enclosure(RealInterval(-size.high, size.high, a.is_nonzero), None, False, off or NOT_REAL)


def _log(of: Enclosure) -> Enclosure:
    a = of.value
    if a is None:
        return Enclosure(None, None, False, UNKNOWN if of.off else NOWHERE)
    inside = _at_least(a, 0.0)
    if inside is None or inside.high == 0:
        return Enclosure(None, None, False, (UNKNOWN if of.off else NOWHERE) | ({1} if a.low < 0 else NOWHERE))
    value = rising(inside, lambda x: x.log(), -inf, inf)
    off = frozenset({1}) if a.low < 0 else NOWHERE
    return _chained(of, value, reciprocal(a) if a.sign > 0 else None, a.sign > 0, off)


def _exp(of: Enclosure) -> Enclosure:
    if of.value is None:
        return Enclosure(None, None, False, UNKNOWN if of.off else NOWHERE)
    value = rising(of.value, lambda x: x.exp(), 0.0, inf)._replace(nonzero=True)
    return _chained(of, value, value)


def _abs(of: Enclosure) -> Enclosure:
    if of.value is None:
        return Enclosure(None, None, False, UNKNOWN if of.off else NOWHERE)
    sign = of.value.sign
    return _chained(of, absolute(of.value), RealInterval(sign, sign) if sign else None)


def _wave(name: str, derivative: Callable[[RealInterval], RealInterval]) -> Callable[[Enclosure], Enclosure]:
    def apply(of: Enclosure) -> Enclosure:
        if of.value is None:
            return Enclosure(None, None, False, UNKNOWN if of.off else NOWHERE)
        return _chained(of, wave(of.value, lambda x: getattr(x, name)()), derivative(of.value))

    return apply


def _monotone(
    name: str,
    limits: tuple[float, float],
    derivative: Callable[[RealInterval], RealInterval | None],
    domain: tuple[float, float] = (-inf, inf),
) -> Callable[[Enclosure], Enclosure]:
    """A rising function on its domain; outside it is not real."""

    def apply(of: Enclosure) -> Enclosure:
        a, (first, last) = of.value, domain
        if a is None:
            return Enclosure(None, None, False, UNKNOWN if of.off else NOWHERE)
        outside = a.low < first or a.high > last
        low, high = max(a.low, first), min(a.high, last)
        off = NOT_REAL if outside else NOWHERE
        if low > high:
            return Enclosure(None, None, False, UNKNOWN if of.off else off)
        value = rising(RealInterval(low, high), lambda x: getattr(x, name)(), *limits)
        return _chained(of, value, None if outside else derivative(RealInterval(low, high)), not outside, off)

    return apply


def _one_plus(a: RealInterval, sign: int = 1) -> RealInterval:
    square = whole_power(a, 2)
    assert square is not None
    return add(ONE, square if sign > 0 else negate(square))


def _minus_half(a: RealInterval) -> RealInterval | None:
    return reciprocal(_root(a, 2)) if a.low > 0 else None


def _cosh(of: Enclosure) -> Enclosure:
    if of.value is None:
        return Enclosure(None, None, False, UNKNOWN if of.off else NOWHERE)
    return _chained(of, _cosh_span(of.value), rising(of.value, lambda x: x.sinh(), -inf, inf))


def _cosh_span(a: RealInterval) -> RealInterval:
    return rising(absolute(a), lambda x: x.cosh(), 1.0, inf)


_MINUS = Enclosure(RealInterval(-1.0, -1.0), ZERO)
_MINUS_TWO = RealInterval(-2.0, -2.0)
_PI_HALF = (-1.5707963267948968, 1.5707963267948968)
_QUARTER = Enclosure(RealInterval(1.5707963267948963, 1.5707963267948968), ZERO)
_FUNCTIONS: dict[str, Callable[..., Enclosure]] = {
    "exp": _exp,
    "abs": _abs,
    "sin": _wave("sin", lambda a: wave(a, lambda x: x.cos())),
    "cos": _wave("cos", lambda a: negate(wave(a, lambda x: x.sin()))),
    "sinh": _monotone("sinh", (-inf, inf), _cosh_span),
    "cosh": _cosh,
    "tanh": _monotone("tanh", (-1.0, 1.0), lambda a: _one_plus(rising(a, lambda x: x.tanh(), -1.0, 1.0), -1)),
    "atan": _monotone("atan", _PI_HALF, lambda a: reciprocal(_one_plus(a))),
    "asinh": _monotone("asinh", (-inf, inf), lambda a: _minus_half(_one_plus(a))),
    "asin": _monotone("asin", _PI_HALF, lambda a: _minus_half(_one_plus(a, -1)), (-1.0, 1.0)),
    "acos": lambda of: _sum(_QUARTER, _product(_MINUS, _FUNCTIONS["asin"](of))),
    "acosh": _monotone("acosh", (0.0, inf), lambda a: _minus_half(add(_one_plus(a), _MINUS_TWO)), (1.0, inf)),
    "atanh": _monotone("atanh", (-inf, inf), lambda a: reciprocal(_one_plus(a, -1)), (-1.0, 1.0)),
}
