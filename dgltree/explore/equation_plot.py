"""Both sides of an equation in one variable as curves, and where they part."""

from typing import Any

import numpy as np

from dgltree.equations.expressions.names import variables
from dgltree.equations.search.arithmetic import value
from dgltree.equations.search.points import Points
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.verdict import Verdict
from dgltree.trees.equation import Equation

PLOT_POINTS = 401
WINDOW = 5.0
"""The curves go from minus this to this, and farther if a part of the line ends outside."""
APART = 1e-6
"""Relative difference of the sides that is shown."""


def plot(equation: Equation, verdict: Verdict) -> dict[str, Any] | None:
    """The values of both sides at equidistant points, None if a side is not real, and the stretches where they part.

    ``apart`` has the first and the last point of each stretch at which the sides differ or one of them alone is real;
    ``part`` has the ends of the intervals of the verdict. None for another number of variables than one, and for a side
    without a value.
    """
    names = variables(*equation)
    if len(names) != 1:
        return None
    ends = [abs(end.value) for piece in verdict.part for end in (piece.low, piece.high) if end is not None]
    reach = max([WINDOW, *(1.25 * end for end in ends if end < 1e6)])
    x = np.linspace(-reach, reach, PLOT_POINTS)
    points = Points("plot", {names[0]: x}, PLOT_POINTS)
    try:
        with np.errstate(all="ignore"):
            left, right = (np.broadcast_to(value(side, points, {}), x.shape) for side in equation)
    except ValueError:
        return None
    return {
        "variable": names[0],
        "x": np.round(x, 6).tolist(),
        "left": _numbers(left),
        "right": _numbers(right),
        "apart": _stretches(_apart(left, right)),
        "part": [[piece.low and piece.low.value, piece.high and piece.high.value] for piece in verdict.part],
    }


def _apart(left: Array, right: Array) -> Array:
    """(P,) whether the sides differ, or just one has a value."""
    there = np.isfinite(left), np.isfinite(right)
    size = np.maximum(np.abs(left), np.abs(right))
    with np.errstate(invalid="ignore"):
        differ = np.abs(left - right) > APART * np.maximum(1.0, size)
    apart: Array = np.where(there[0] & there[1], differ, there[0] != there[1])
    return apart


def _stretches(flags: Array) -> list[list[int]]:
    """The first and the last place of each run of flags."""
    steps = np.diff(np.concatenate([[0], flags.astype(int), [0]]))
    return [[int(a), int(b) - 1] for a, b in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True)]


def _numbers(values: Array) -> list[float | None]:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]
