"""Values of functions, as balls that surely contain them (Arb, through python-flint).

A value is an exact rational (``fmpq``), a ball of complex numbers (``acb``), or ``None`` for what has no value: a
division by zero, the logarithm of zero. If a ball leaves open whether there is a value, it is not finite.
"""

from collections.abc import Callable
from typing import Any

from flint import acb, arb, fmpq, fmpz

from dgltree.equations.expressions.definitions import define, is_reciprocal
from dgltree.equations.truth.elementary import binomial, factorial
from dgltree.equations.truth.exact import exact
from dgltree.read.functions import RECORDS, MathFunction
from dgltree.support.refusal import Refusal
from dgltree.trees.tree import Tree

MAX_EXACT_BITS = 4000  # bits of a rational that stays exact, and of an integer that is found in a ball

Ball = Any
"""An ``fmpq``, an ``acb`` or None."""


class Unjudged(Refusal):
    """Why nothing can be said of an equation."""


def constant(leaf: Tree) -> Ball:
    """The value of a leaf that is not a variable. Raises ``Unjudged`` for infinity and the like."""
    if leaf.function == "Pi":
        return acb(arb.pi())
    if leaf.function == "Exp1":
        return acb(1).exp()
    if leaf.function in ("Infinity", "NegativeInfinity", "ComplexInfinity"):
        raise Unjudged("infinity is not a number")
    number = exact(leaf)
    if number is None:
        raise Unjudged(f"the value of {leaf.token or leaf.function} is not worked out")
    return fmpq(number.numerator, number.denominator)


def ball(value: Ball) -> Any:
    """A value as an ``acb``."""
    return value if isinstance(value, acb) else acb(value)


def is_real(value: Ball) -> bool | None:
    """Whether a value is real for sure; None if the ball leaves it open."""
    if isinstance(value, fmpq) or value.imag.is_zero():
        return True
    return None if value.imag.contains(0) else False


def sign(value: Ball) -> int | None:
    """The sign of a real value, None if it is open or the value is not real."""
    if isinstance(value, fmpq):
        return (value > 0) - (value < 0)
    if not value.imag.is_zero():
        return None
    real = value.real
    if real > 0:
        return 1
    if real < 0:
        return -1
    return 0 if real.is_zero() else None


def whole(value: Any) -> int | None:
    """The only integer in a real ball; None if there are none, several, or one of more bits than ``MAX_EXACT_BITS``.

    FLINT ends the process when it is asked for an integer that does not fit in memory.
    """
    small = bool(value.is_finite() and abs(value) < arb(2) ** MAX_EXACT_BITS)
    found = value.unique_fmpz() if small else None
    return None if found is None else int(found)


def real_or_none(value: Any) -> Ball:
    """A real value; None for one that is not, and a ball that is not finite if it is open."""
    real = is_real(value) if value.is_finite() else True
    if real:
        return value
    return None if real is False else acb("nan")


def snap(value: Any) -> Ball:
    """An integer for a ball of less than 2^-250 around it, as at the end of a part, an algebraic number."""
    near = whole(value)
    return fmpq(near) if near is not None and abs(value - near) < arb(2) ** -250 else value


def settle(value: Any) -> Any:
    """Return a value without a part that may be 0 and is less than 2^-250: it is on an axis, not next to it."""

    def part(of: Any) -> Any:
        return arb(0) if of.contains(0) and abs(of) < arb(2) ** -250 else of

    return acb(part(value.real), part(value.imag)) if value.is_finite() else value


def _is_zero(value: Ball) -> bool:
    return bool(value == 0) if isinstance(value, fmpq) else bool(value.is_zero())


def _add(*terms: Ball) -> Ball:
    total = terms[0]
    for term in terms[1:]:
        total = total + term if isinstance(total, fmpq) == isinstance(term, fmpq) else ball(total) + ball(term)
    return _shortened(total)


def _mul(*factors: Ball) -> Ball:
    product = factors[0]
    for factor in factors[1:]:
        same = isinstance(product, fmpq) == isinstance(factor, fmpq)
        product = product * factor if same else ball(product) * ball(factor)
    return _shortened(product)


def _shortened(value: Ball) -> Ball:
    if isinstance(value, fmpq) and max(value.p.bit_length(), value.q.bit_length()) > MAX_EXACT_BITS:
        return acb(value)
    return value


def power(base: Ball, exponent: Ball) -> Ball:
    """``base ^ exponent`` with the principal value; 0 to a positive power is 0, and to any other has no value."""
    if _is_zero(base):
        if sign(exponent) == 1:
            return fmpq(0)
        return None if sign(exponent) in (0, -1) else acb("nan")
    if isinstance(exponent, fmpq) and exponent.q == 1:
        return _whole_power(base, int(exponent.p))
    if isinstance(exponent, fmpq) and exponent.q <= 60:
        return root_of(int(exponent.p), int(exponent.q), False)(base)
    return (ball(exponent) * ball(base).log()).exp()


def root_of(top: int, bottom: int, school: bool) -> Callable[..., Ball]:
    """``x ^ (top/bottom)``: exact if that is rational."""

    def root(base: Ball, _: Ball = None) -> Ball:
        if _is_zero(base):
            return fmpq(0) if top > 0 else None
        negative = sign(base) == -1
        if (school and negative) or (isinstance(base, fmpq) and not negative):
            taken = _positive_root(-base if negative else base, bottom)
            raised = _whole_power(taken, top)
            return -raised if negative and top % 2 else raised
        if school and sign(base) is None and is_real(base) is not False:
            return acb("nan")  # the real root or the principal value: that is open
        taken = ball(base).sqrt() if bottom == 2 else (ball(base).log() / bottom).exp()
        return _whole_power(taken, top)

    return root


def _whole_power(base: Ball, exponent: int) -> Ball:
    """Exact for a rational, unless it would be long."""
    if isinstance(base, fmpq):
        if abs(exponent) * max(base.p.bit_length(), base.q.bit_length()) <= MAX_EXACT_BITS:
            return base**exponent
        base = acb(base)
    return base**exponent if exponent >= 0 else 1 / base**-exponent


def _positive_root(base: Ball, bottom: int) -> Ball:
    if isinstance(base, fmpq):
        parts = [_whole_root(part, bottom) for part in (base.p, base.q)]
        if None not in parts:
            return fmpq(*parts)
    return ball(base).sqrt() if bottom == 2 else (ball(base).log() / bottom).exp()


def _whole_root(number: fmpz, bottom: int) -> fmpz | None:
    root = number.root(bottom)
    return root if root**bottom == number else None


def _abs(value: Ball) -> Ball:
    return abs(value) if isinstance(value, fmpq) else acb(abs(value))


def log(value: Ball, base: Ball = None) -> Ball:
    """The principal logarithm."""
    if _is_zero(value) or (base is not None and _is_zero(base)):
        return None
    if value == 1 and base is None:
        return fmpq(0)
    if base is None:
        return ball(value).log()
    below = log(base)
    return None if _is_zero(below) else ball(log(value)) / below


def real_log(value: Ball, base: Ball) -> Ball:
    """The logarithm of a positive number to a positive base."""
    signs = sign(value), sign(base)
    if None in signs:
        return acb("nan")
    return log(value, base) if signs == (1, 1) else None


def _reciprocal(value: Ball) -> Ball:
    return None if _is_zero(value) else 1 / value


def _function(record: MathFunction) -> Callable[[Ball], Ball]:
    """A function that Arb has, or that is made of others by its definition."""
    name = record.name
    exact_values = record.at
    made = define(name, _operation)

    def function(value: Ball) -> Ball:
        for argument, known in exact_values.items():
            if value == argument:
                return None if known is None else fmpq(known)
        if not record.flint:
            return made(value)
        argument = ball(value)
        if argument.imag.is_zero():  # a real value has no imaginary part, not even a small one
            real = getattr(argument.real, name)()
            if real.is_finite():
                return acb(real)
        return getattr(argument, name)()

    return function


def _operation(node: Tree) -> Callable[..., Ball]:
    """An operation of a definition."""
    if not node.children:
        return lambda: constant(node)
    apply = _reciprocal if is_reciprocal(node) else OPERATIONS[node.function]
    return lambda *values: None if None in values else apply(*values)


OPERATIONS: dict[str, Callable[..., Ball]] = {
    "Add": _add,
    "Mul": _mul,
    "Pow": power,
    "abs": _abs,
    "log": log,
    "factorial": factorial,
    "binomial": binomial,
}
OPERATIONS |= {record.name: _function(record) for record in RECORDS if record.flint or record.definition}
