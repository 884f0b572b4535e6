"""numpy computes the functions here, all with their principal branch, of real and of complex arrays.

Factorials and binomial coefficients are those of any numbers by the gamma function, n! being gamma(n + 1); they are
computed of balls and rationals, too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from flint import acb, fmpq, fmpz

from dgltree.equations.expressions.definitions import Operation, define, is_reciprocal
from dgltree.read.functions import BY_NAME, RECORDS
from dgltree.support.refusal import Refusal
from dgltree.trees.tree import Tree

Array = np.ndarray[Any, np.dtype[Any]]

CONSTANTS = {"Pi": math.pi, "Exp1": math.e}

MAX_FACTORIAL = 500
"""The largest factorial, and the largest number below, that are multiplied out."""


def number_of(leaf: Tree) -> float:
    """The number that a leaf is: an integer, a fraction, a decimal, pi or e; NaN for what is none."""
    if leaf.function in CONSTANTS:
        return CONSTANTS[leaf.function]
    top, slash, bottom = (leaf.token or "").partition("/")
    try:
        return float(top) / float(bottom) if slash else float(top)
    except (ValueError, ZeroDivisionError):
        return math.nan


def finite(leaf: Tree) -> float:
    """The number that a leaf is. Raises ``ValueError`` for what is none, or not finite."""
    number = number_of(leaf)
    if not math.isfinite(number):
        raise Refusal(f"the leaf {leaf!r} has no numeric value; use variables, finite numbers, pi and e")
    return number


def apply(function: str, arguments: Sequence[Array]) -> Array:
    """The value of a function with any number of arguments. Raises ``ValueError`` for one that has none.

    Call it with numpy's floating-point warnings off: a pole or an overflow is inf or nan.
    """
    if function == "Add":
        return sum(arguments[1:], arguments[0])
    if function == "Mul":
        product = arguments[0]
        for factor in arguments[1:]:
            product = product * factor
        return product
    operation = _OTHERS.get((function, len(arguments)))
    if operation is None and len(arguments) == 1:
        operation = ELEMENTARY.get(function)
    if operation is None:
        raise Refusal(f"no value for function {function!r} of {len(arguments)} arguments")
    value: Array = operation(*arguments)
    return value


def power(base: Array, exponent: Array) -> Array:
    """``base^exponent``; 0^0 has no value."""
    result: Array = np.power(base, exponent)
    return np.where((base == 0) & (exponent == 0), np.nan, result)


def _log(value: Array, base: Array) -> Array:
    result: Array = np.log(value) / np.log(base)
    return result


def _reciprocal(z: Array) -> Array:
    return 1.0 / z


def _operation(node: Tree) -> Operation:
    if is_reciprocal(node):
        return _reciprocal
    if not node.children:
        number = finite(node)
        return lambda: number
    return lambda *arguments: apply(node.function, arguments)


def _by_definition(name: str) -> Callable[[Array], Array]:
    function = define(name, _operation)
    known = BY_NAME[name].at
    if not known:
        return function

    def elementary(z: Array) -> Array:
        value: Array = function(z)
        for argument, exact in known.items():
            value = np.where(z == argument, np.nan if exact is None else exact, value)
        return value

    return elementary


@cache
def is_continued(name: str) -> bool:
    """Whether a function has a value by its record at a point where its definition has none, as sin(x)/x at 0."""
    record = BY_NAME[name]
    if not record.definition:
        return False
    function = define(name, _operation)
    with np.errstate(all="ignore"):
        values = [function(np.complex128(point)) for point, value in record.at.items() if value is not None]
    return not np.isfinite(values).all()


# Factorials and binomial coefficients, and the tables of functions


def factorial(n: Any) -> Any:
    """Return n! of a ball or a rational, exact up to ``MAX_FACTORIAL``; None for negative whole numbers, its poles."""
    if isinstance(n, fmpq) and n.q == 1:
        if n < 0:
            return None
        if n <= MAX_FACTORIAL:
            return fmpq(fmpz.fac_ui(n.p))
    return (acb(n) + 1).gamma()


def binomial(n: Any, k: Any) -> Any:
    """Return a coefficient of balls or rationals: n (n - 1) ... (n - k + 1) / k! for whole k, and 0 for negative ones.

    For other k it is n! / (k! (n - k)!), None if one of these has no value.
    """
    if isinstance(k, fmpq) and k.q == 1 and k <= MAX_FACTORIAL:
        return _falling(n, int(k.p))
    rest = n - k if isinstance(n, fmpq) and isinstance(k, fmpq) else acb(n) - acb(k)
    parts = [factorial(part) for part in (n, k, rest)]
    if None in parts:
        return None
    above, *below = map(acb, parts)
    return above / (below[0] * below[1])


def _falling(n: Any, k: int) -> Any:
    if k < 0:
        return fmpq(0)
    found = fmpq(1) if isinstance(n, fmpq) else acb(1)
    for step in range(k):
        found = found * (n - step) / (step + 1)
    return found


def float_factorial(n: Array) -> Array:
    """Return n! of floating-point numbers (...)."""
    from scipy.special import gamma  # takes a moment, and few equations need it

    found: Array = gamma(n + 1)
    return found


def float_binomial(n: Array, k: Array) -> Array:
    """Return binomial coefficients of floating-point numbers (...)."""
    below: Array = float_factorial(k) * float_factorial(n - k)
    return np.where(np.isnan(below), np.nan, float_factorial(n) / below)


def growth(n: Array) -> Array:
    """How fast n! grows where n does, relative to n!: the digamma function of n + 1."""
    from scipy.special import psi

    found: Array = np.abs(psi(n + 1))
    return found


_OTHERS: Mapping[tuple[str, int], Callable[..., Array]] = {
    ("Pow", 2): power,
    ("log", 2): _log,
    ("factorial", 1): float_factorial,
    ("binomial", 2): float_binomial,
}
ELEMENTARY: Mapping[str, Callable[[Array], Array]] = {
    "abs": lambda z: np.abs(z).astype(z.dtype),
    **{record.name: getattr(np, record.numpy) for record in RECORDS if record.numpy},
    **{record.name: _by_definition(record.name) for record in RECORDS if record.definition and not record.numpy},
}
"""The functions of one argument by their names: complex arrays of any shape to complex ones, real ones with NaN."""
