"""Values of all rows of a schedule at random complex points, fast and without error bounds: labels for training.

Labels of data sets and answers to users come from dgltree.equations.truth.evaluator, which knows how far to trust a
value. Only the values of constants are shared with it: there every function carries an error bound along, and the
points are fixed; training draws new ones for every batch, and a label that is wrong now and then does no harm.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dgltree import PlannedBatch
from dgltree.equations.truth.evaluator import leaf_value
from tasks.equations.words import ARITIES, NAMES, SINGLE, SYMBOLS, tree

MAX_VALUE, ZERO_BOUND = 1e7, 1e-11  # beyond: no value; below: 0
TOLERANCE = 1e-7  # relative difference of equal values
WHOLE = 12  # largest whole exponent that is multiplied out


def values(
    planned: PlannedBatch, symbol: Tensor, points: int, random: np.random.Generator, positive: bool = False
) -> Tensor:
    """(R, points) complex128 of the schedule's rows, NaN where there is no value; ``symbol`` (N,) are the nodes'.

    With ``positive`` variables are positive real numbers, and what is not real has no value.
    """
    schedule = planned.schedule
    symbol = symbol[planned.schedule.node]
    angle = random.uniform(-math.pi, math.pi, (len(NAMES), points)) * (not positive)
    size = random.uniform(0.2 if positive else 0.5, 2.2, angle.shape)
    leaves = _CONSTANTS.expand(-1, points).clone()
    leaves[: len(NAMES)] = torch.from_numpy(size * np.exp(1j * angle))
    out = leaves.new_empty(len(schedule), points)
    out[: schedule.leaves] = leaves[symbol[: schedule.leaves]]
    for step in schedule.steps:
        children = schedule.sources[step.edges].view(step.stop - step.start, -1)
        for _, start, stop in step.segments:
            rows = slice(step.start + start, step.start + stop)
            value = _FUNCTIONS[SYMBOLS[int(symbol[rows.start])][0]](*out[children[start:stop]].unbind(1))
            value = torch.where(value.abs() < ZERO_BOUND, 0, value)
            if positive:
                value = torch.where(value.imag.abs() <= TOLERANCE * value.abs(), value.real + 0j, math.nan)
            out[rows] = torch.where(value.abs() < MAX_VALUE, value, math.nan)
    return out


def equal(a: Tensor, b: Tensor) -> Tensor:
    """(...) 1.0 where values (..., points) agree at every point that both have, else 0.0; NaN if there are not two."""
    there = torch.isfinite(a) & torch.isfinite(b)
    close = (a - b).abs() <= TOLERANCE * (a.abs() + b.abs()) + TOLERANCE / 100
    return torch.where(there.sum(-1) < 2, math.nan, (close | ~there).all(-1).float())


def _power(base: Tensor, exponent: Tensor) -> Tensor:
    whole = exponent[:, :1].real.round()
    by_product = ((exponent - whole).abs() < 1e-9).all(1) & (whole[:, 0].abs() <= WHOLE)
    out = torch.exp(exponent * torch.log(base))
    out = torch.where((base == 0) & (exponent.real > 0), 0, out)
    out[by_product] = _whole_power(base[by_product], whole[by_product].long())
    return out


def _whole_power(base: Tensor, exponent: Tensor) -> Tensor:
    """Raise to a whole power by repeated squaring: no logarithm, no branch."""
    out = torch.ones_like(base)
    factor = base
    for bit in range(WHOLE.bit_length()):
        out = torch.where((exponent.abs() >> bit) & 1 == 1, out * factor, out)
        factor = factor * factor
    return torch.where(exponent < 0, 1 / out, out)


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "Add": torch.add,
    "Mul": torch.mul,
    "Pow": _power,
    "log": lambda a, base: torch.log(a) / torch.log(base),
    "exp": torch.exp,
    "abs": lambda a: a.abs() + 0j,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": lambda a: torch.sin(a) / torch.cos(a),
    "cot": lambda a: torch.cos(a) / torch.sin(a),
    "sec": lambda a: 1 / torch.cos(a),
    "csc": lambda a: 1 / torch.sin(a),
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "coth": lambda a: 1 / torch.tanh(a),
    "sech": lambda a: 1 / torch.cosh(a),
    "csch": lambda a: 1 / torch.sinh(a),
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
}


def _constant(symbol: int) -> np.ndarray:
    return leaf_value(tree(SINGLE[symbol]))[0][:1] if ARITIES[symbol] == 0 else np.array([math.nan])


_CONSTANTS = torch.from_numpy(np.stack([_constant(symbol) for symbol in range(len(SYMBOLS))]) + 0j)
"""(symbols, 1) the values of the constants; the values of variables play no part."""
