"""Labelled trees: a data set, and what a data loader takes out of it for a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.moving import Movable
from dgltree.batching.select import select
from dgltree.encoders.encoder import Encoder, Planned
from dgltree.engine.planned import PlannedBatch


@dataclass
class Labelled(Movable):
    """E examples. What a model needs of them is moved; the rest stays on the CPU."""

    trees: TreeBatch
    """Of each example as many as it has: the sides of an equation, the formulas of a pair, an expression. They stay
    where they are if the plan is of something else, such as sequences."""
    labels: Tensor
    """(E,), what is to be predicted: float32 if it is yes or no, class numbers int64 otherwise."""
    groups: Tensor
    """(E,) int64, by what results are told apart: depth, operators or length. They stay on the CPU."""
    planned: Planned | None = None
    """The encoder's preparation of the trees, if there is one."""
    baseline: Tensor | None = None
    """(E, ...) the answers of a baseline, if there is one."""
    weights: Tensor | None = None
    """(E,) float32, how much each example counts in a loss; None: all the same."""
    features: Tensor | None = None
    """(E, F) float32, what is read of the columns next to the trees; None: nothing."""

    @property
    def inputs(self) -> TreeBatch | Planned:
        """The arguments of a call of the model."""
        return self.trees if self.planned is None else self.planned

    def plan(self, encoder: Encoder, share: bool) -> "Labelled":
        """The same, planned for an encoder: what a data loader's worker does while the model computes."""
        return replace(self, planned=encoder.plan(self.trees, share))

    @property
    def device(self) -> torch.device:
        return self.labels.device

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        planned = None if self.planned is None else self.planned.map(function)
        baseline = None if self.baseline is None else function(self.baseline)
        weights = None if self.weights is None else function(self.weights)
        features = None if self.features is None else function(self.features)
        if planned is None:
            trees = self.trees.map(function)
        else:
            trees = _batch(planned) if _batch(self.planned) is self.trees else self.trees
        labels = function(self.labels)
        more: Any = {"baseline": baseline, "weights": weights, "features": features}
        return replace(self, trees=trees, labels=labels, planned=planned, **more)

    def select(self, examples: Sequence[int]) -> "Labelled":
        """Some of the examples, in the given order."""
        rows = torch.tensor(examples)
        each = len(self.trees) // len(self.labels)
        trees = (rows.unsqueeze(1) * each + torch.arange(each)).flatten()
        names = ("baseline", "weights", "features")
        more = {name: None if (each := getattr(self, name)) is None else each[rows] for name in names}
        return Labelled(select(self.trees, trees), self.labels[rows], self.groups[rows], **more)


def _batch(planned: Any) -> Any:
    """The trees that a plan is of; the plan itself if it has none."""
    return planned.batch if isinstance(planned, PlannedBatch) else planned


def plan_examples(whole: Labelled, encoder: Encoder, share: bool, examples: Sequence[int]) -> Labelled:
    """Some examples of a data set that was flattened once, planned for an encoder."""
    return whole.select(examples).plan(encoder, share)
