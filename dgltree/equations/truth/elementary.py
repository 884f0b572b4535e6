"""The functions as numpy computes them, all with their principal branch: of real and of complex arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from dgltree.equations.expressions.definitions import Operation, define, is_reciprocal
from dgltree.equations.truth.gamma import Array, float_binomial, float_factorial
from dgltree.equations.truth.leaves import finite
from dgltree.read.functions import BY_NAME, RECORDS
from dgltree.trees.tree import Tree


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
        raise ValueError(f"no value for function {function!r} of {len(arguments)} arguments")
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
    function, known = define(name, _operation), BY_NAME[name].at
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
