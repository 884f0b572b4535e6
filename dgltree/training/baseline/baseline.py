"""The baseline of a training: columns of counts, and a model of them."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.baseline.boosted import Boosted
from dgltree.training.baseline.features import Columns
from dgltree.training.baseline.linear import Linear
from dgltree.training.objectives import Objective


@dataclass(frozen=True)
class Baseline:
    """A model of what occurs in a tree.

    Args:
        columns: what is counted.
        model: of the counts.
        objective: what is predicted.
        what: the name of the model and its options, for people.
    """

    columns: Columns
    model: Linear | Boosted
    objective: Objective
    what: str

    def found(self, data: TreeDataset) -> Tensor:
        """(E, C) float32 logits, or (E,) numbers, of examples in any vocabulary."""
        parts = [self.model(self.columns(block)) for block in data.as_read().blocks()]
        return torch.from_numpy(np.concatenate(parts)).float().view(-1, *self.objective.shape)

    def answers(self, data: TreeDataset) -> Tensor:
        """(E, C) probabilities, or (E,) numbers."""
        return self.objective.answers(self.found(data))

    def divided(self, temperature: float) -> "Baseline":
        """The same with its logits divided by a number."""
        return replace(self, model=self.model.divided(temperature))
