"""How near to the right ones the numbers are that a model gives, by function and by size."""

from collections.abc import Sequence

import torch
from torch import Tensor

SMALL, LARGE = 0.3, 5
"""Of small numbers the same error is a large share; large ones are near the poles."""
TOLERANCES = {"accuracy": 1e-3, "accuracy_1e-2": 1e-2}
"""A number is correct within this share of the right one; the first is the papers'."""


def close(found: Tensor, right: Tensor, tolerance: float = TOLERANCES["accuracy"]) -> Tensor:
    """(F,) bool, whether numbers (F,) are within the tolerance of the right ones (F,)."""
    return (found - right).abs() <= tolerance * right.abs()


def figures(found: Tensor, right: Tensor, functions: Tensor, names: Sequence[str]) -> dict[str, float]:
    """Name to metric: of all numbers first, then by function, as in ``number_sin_accuracy``, then by size.

    ``accuracy`` and ``accuracy_1e-2`` are shares, ``error`` is the mean absolute error, ``mse`` the mean squared one.

    Args:
        found, right: (F,) floating.
        functions: (F,) int64, where in ``names`` that of each number is.
        names: of all functions.
    """
    error = (found - right).abs()
    within = {name: close(found, right, tolerance).to(error.dtype) for name, tolerance in TOLERANCES.items()}
    groups = {"": torch.ones_like(functions, dtype=torch.bool)}
    groups |= {f"{names[function]}_": functions == function for function in torch.unique(functions).tolist()}
    groups |= {f"below_{SMALL}_": right.abs() < SMALL, f"above_{LARGE}_": right.abs() > LARGE}
    return {
        f"number_{group}{name}": float(each[members].mean())
        for group, members in groups.items()
        if members.any()
        for name, each in {**within, "error": error, "mse": error**2}.items()
    }
