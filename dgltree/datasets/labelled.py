"""Labelled trees: a data set, and what a data loader takes out of it for a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.pickling import PickledAsArrays
from dgltree.batching.select import select
from dgltree.encoders.encoder import Encoder, Planned


@dataclass
class Labelled(PickledAsArrays):
    """E examples."""

    trees: TreeBatch
    """Of each example as many as it has: the sides of an equation, the formulas of a pair, an expression."""
    labels: Tensor
    """(E,), what is to be predicted: float32 where it is yes or no, class numbers int64 otherwise."""
    groups: Tensor
    """(E,) int64, by what results are told apart: depth, operators or length. They stay on the CPU."""
    planned: Planned | None = None
    """The encoder's preparation of the trees, if there is one."""
    baseline: Tensor | None = None
    """(E, ...) the answers of a baseline, if there is one."""

    @property
    def inputs(self) -> TreeBatch | Planned:
        """The arguments of a call of the model."""
        return self.trees if self.planned is None else self.planned

    def plan(self, encoder: Encoder, share: bool) -> "Labelled":
        """The same, planned for an encoder: what a data loader's worker does while the model computes."""
        return replace(self, planned=encoder.plan(self.trees, share))

    def to(self, device: torch.device) -> "Labelled":
        if self.trees.device == device:  # as with a tensor, nothing is copied
            return self
        planned = None if self.planned is None else self.planned.to(device)
        baseline = None if self.baseline is None else self.baseline.to(device)
        return Labelled(self.trees.to(device), self.labels.to(device), self.groups, planned, baseline)

    def select(self, examples: Sequence[int]) -> "Labelled":
        """Some of the examples, in the given order."""
        rows = torch.tensor(examples)
        each = len(self.trees) // len(self.labels)
        trees = (rows.unsqueeze(1) * each + torch.arange(each)).flatten()
        baseline = None if self.baseline is None else self.baseline[rows]
        return Labelled(select(self.trees, trees), self.labels[rows], self.groups[rows], baseline=baseline)


def planned(whole: Labelled, encoder: Encoder, share: bool, examples: Sequence[int]) -> Labelled:
    """Some examples of a data set that was flattened once, planned for an encoder."""
    return whole.select(examples).plan(encoder, share)
