"""Values of every subexpression at fixed points, as targets for the hidden states of all nodes.

The points are those of the numeric decision: one complex number a point for each variable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from dgltree.datasets.batches import Labelled
from tasks.equations.generator.places import Places
from tasks.equations.generator.values import WordValues
from tasks.equations.store import EquationRow
from tasks.equations.words import EQUAL, SINGLE, SYMBOLS, Word

POINTS = 8
TARGETS = 2 * POINTS
MAX_ASINH = 3.0  # of asinh: magnitudes above 10 count as 10
ERROR = 1e-3  # a value is used if its error bound is within this share of it


@dataclass
class WithValues(Labelled):
    """Labelled equations, and what their nodes are worth."""

    values: Tensor = None  # type: ignore[assignment]
    """(N, TARGETS) float32, one row per node; NaN if arithmetic says nothing."""

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        mapped = super().map(function)
        return replace(mapped, values=function(self.values))

    def errors(self, found: Tensor) -> Tensor:
        """(E,), each equation's mean over its nodes of the mean squared error of ``found`` (N, TARGETS)."""
        usable = self.values.isfinite()
        squares = torch.where(usable, found - self.values, 0.0).square().sum(1) / usable.sum(1).clamp(min=1)
        nodes = self.trees.sizes.view(-1, 2).sum(1)
        equation = torch.arange(len(nodes), device=nodes.device).repeat_interleave(nodes)
        return squares.new_zeros(len(nodes)).index_add(0, equation, squares) / nodes


class NodeValues:
    """Targets for the nodes of some equations: asinh of the real and of the imaginary part of the value at each point,
    cut at 3 and standardised over the distinct subexpressions of the equations and all leaves.

    Args:
        rows: the equations.
    """

    def __init__(self, rows: Sequence[EquationRow]) -> None:
        equations = [Places(SINGLE[EQUAL] + row.left + row.right) for row in rows]
        values = WordValues(cached=len(SYMBOLS) + sum(len(equation.word) for equation in equations))
        with np.errstate(all="ignore"):
            values.evaluate(equations)
            self._row, (found, _, bounds) = values.known
            known = bounds[:, :POINTS] <= ERROR * (1 + np.abs(found[:, :POINTS]))
            parts = np.where(known, np.arcsinh([found.real[:, :POINTS], found.imag[:, :POINTS]]), np.nan)
        targets = np.clip(np.concatenate(parts, 1), -MAX_ASINH, MAX_ASINH)
        self._targets = ((targets - np.nanmean(targets, 0)) / np.nanstd(targets, 0)).astype(np.float32)

    def beside(self, labelled: Labelled, sides: Sequence[Word]) -> WithValues:
        """A batch of these equations with the targets of its nodes; ``sides``, as words, are its trees."""
        rows = [self._row[side.at(node)] for side in map(Places, sides) for node in range(len(side.word))]
        return WithValues(**labelled.__dict__, values=torch.from_numpy(self._targets[rows]))
