"""A linear model of the logarithms of counts and numbers."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

LOWEST = -30.0
"""The logit of a class that no training example has as its own label."""


def logs(counts: csr_matrix) -> csr_matrix:
    """``sign(c) log(1 + |c|)`` of each entry; only numbers have a sign."""
    found = counts.copy()
    found.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    return found


@dataclass(frozen=True)
class Linear:
    """``sign(c) log(1 + |c|) W + b`` of counts and numbers c."""

    name: ClassVar[str] = "linear"

    weight: np.ndarray
    """(D, C) float32, of numbers (D, 1)."""
    bias: np.ndarray
    """(C,) float32."""

    @classmethod
    def of(cls, estimator: Any, scale: float, classes: int) -> "Linear":
        """The map of a fitted estimator of scikit-learn over features times ``scale``, of numbers with 0 classes."""
        weight, bias = np.atleast_2d(estimator.coef_).T * scale, np.atleast_1d(estimator.intercept_)
        if not classes:
            return cls(weight.astype(np.float32), bias.astype(np.float32))
        if len(bias) == 1:  # of two classes scikit-learn has the logit of the second
            weight, bias = np.concatenate([0 * weight, weight], 1), np.concatenate([0 * bias, bias])
        every = np.zeros((len(weight), classes), np.float32), np.full(classes, LOWEST, np.float32)
        every[0][:, estimator.classes_], every[1][estimator.classes_] = weight, bias
        return cls(*every)

    def __call__(self, counts: csr_matrix) -> np.ndarray:
        """(E, C) logits, or (E, 1) numbers, of counts (E, D)."""
        found: np.ndarray = logs(counts) @ self.weight.astype(np.float64) + self.bias
        return found

    def divided(self, temperature: float) -> "Linear":
        """The same with all that it gives divided by a number."""
        return replace(self, weight=self.weight / temperature, bias=self.bias / temperature)

    @property
    def width(self) -> int:
        """Columns that it reads."""
        return len(self.weight)

    def check(self) -> None:
        """``ValueError`` for arrays that do not belong together."""
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[1:]:
            raise ValueError(f"a linear model of weights {self.weight.shape} and biases {self.bias.shape}")
