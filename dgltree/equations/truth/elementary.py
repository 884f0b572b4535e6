"""The elementary functions of one argument as numpy computes them, all with their principal branch."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Array], Array]


def _inverse(function: Function) -> Function:
    return lambda z: 1.0 / function(z)


def _of_inverse(function: Function) -> Function:
    return lambda z: function(1.0 / z)


RECIPROCALS = {"acsc": "asin", "asec": "acos", "acot": "atan", "acsch": "asinh", "asech": "acosh", "acoth": "atanh"}
"""Inverse functions, and those of 1/z that they are: acot(z) = atan(1/z), as SymPy defines it."""
_CIRCULAR = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
_HYPERBOLIC = {"sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh}
_HYPERBOLIC |= {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}
_INVERTED = {"csc": np.sin, "sec": np.cos, "cot": np.tan, "csch": np.sinh, "sech": np.cosh, "coth": np.tanh}

ELEMENTARY: Mapping[str, Function] = {
    "exp": np.exp,
    "abs": lambda z: np.abs(z).astype(z.dtype),
    **_CIRCULAR,
    **_HYPERBOLIC,
    **{name: _inverse(function) for name, function in _INVERTED.items()},
    **{name: _of_inverse({**_CIRCULAR, **_HYPERBOLIC}[of]) for name, of in RECIPROCALS.items()},
}
"""By the name of the function in trees: complex arrays of any shape to complex ones, real arrays to real ones with NaN.

``abs`` is |z|. Call them with numpy's floating-point warnings off: a pole or an overflow is inf or nan.
"""


class Inverse(NamedTuple):
    r"""The parts of an error bound of an inverse function f: :math:`|f'(z)| = |1 + s z^2|^{-p}`, and its branch cut."""

    sign: Literal[1, -1]
    """s"""
    power: float
    """p"""
    cut: Function
    """How far beyond a branch point z would lie if it lay on the axis of the cut (...): above 0 on the cut."""
    beside: Function
    """The distance of z from that axis (...)."""


def _outside(z: Array) -> Array:
    return np.abs(z.real) - 1


def _outside_upright(z: Array) -> Array:
    return np.abs(z.imag) - 1


def _left_of_one(z: Array) -> Array:
    return 1 - z.real


def _from_real(z: Array) -> Array:
    return np.abs(z.imag)


def _from_imaginary(z: Array) -> Array:
    return np.abs(z.real)


INVERSES: Mapping[str, Inverse] = {
    "asin": Inverse(-1, 0.5, _outside, _from_real),
    "acos": Inverse(-1, 0.5, _outside, _from_real),
    "atan": Inverse(1, 1.0, _outside_upright, _from_imaginary),
    "asinh": Inverse(1, 0.5, _outside_upright, _from_imaginary),
    "acosh": Inverse(-1, 0.5, _left_of_one, _from_real),
    "atanh": Inverse(-1, 1.0, _outside, _from_real),
}
