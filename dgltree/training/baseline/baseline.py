"""The baseline of a training: columns of counts, and a model of them by scikit-learn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale
from dgltree.training.baseline.features import Columns
from dgltree.training.objectives import Objective

UNSEEN_CLASS_LOGIT = -30.0
"""The logit of a class that no training example has as its own label."""
MAX_DENSE = 1 << 23
"""Counts that trees look at at a time: a forest may have thousands of columns, and a block of trees 26,000 examples."""


def logs(counts: csr_matrix) -> csr_matrix:
    """``sign(c) log(1 + |c|)`` of each entry; only numbers have a sign."""
    found = counts.copy()
    found.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    return found


@dataclass(frozen=True)
class Baseline:
    """A model of what occurs in a tree.

    Args:
        columns: what is counted.
        estimator: a fitted one of scikit-learn, of the logarithms of the counts if it is linear, else of the counts.
        linear: whether it is.
        objective: what is predicted.
        what: the name of the model and its options, for people.
        temperature: what its logits are divided by.
        scale: that of the numbers that its estimator gives.
    """

    columns: Columns
    estimator: Any
    linear: bool
    objective: Objective
    what: str
    temperature: float = 1.0
    scale: LabelScale = AS_THEY_ARE

    def found(self, data: TreeDataset) -> Tensor:
        """(E, C) float32 logits, or (E,) float64 numbers, of examples in any vocabulary."""
        parts = [self.of(self.columns(block)) for block in data.as_read().blocks()]
        found = torch.from_numpy(np.concatenate(parts)).view(-1, *self.objective.shape)
        return found.float() if self.objective.classes else found.double()

    def answers(self, data: TreeDataset) -> Tensor:
        """(E, C) probabilities, or (E,) numbers."""
        return self.objective.answers(self.found(data))

    def of(self, counts: csr_matrix) -> np.ndarray:
        """(E, C) float64 logits, or (E,) numbers, of counts (E, D)."""
        step = max(1, MAX_DENSE // max(1, counts.shape[1]))
        if not self.linear and counts.shape[0] > step:
            return np.concatenate([self.of(counts[i : i + step]) for i in range(0, counts.shape[0], step)])
        rows, classes = logs(counts) if self.linear else counts.toarray(), len(self.objective.classes)
        if not classes:
            return self.scale.back(torch.as_tensor(self.estimator.predict(rows))).numpy()
        logits = self.estimator.decision_function(rows)
        found = np.full((len(logits), classes), UNSEEN_CLASS_LOGIT)
        found[:, self.estimator.classes_] = logits if logits.ndim > 1 else np.stack([0 * logits, logits], 1)
        return found / self.temperature
