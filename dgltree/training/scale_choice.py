"""The scale on which numbers are learnt: by short trainings, if some labels are far from all others."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.datasets.batches import Collate, NodeBatches
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.label_scale_names import LabelScaleName
from dgltree.models.label_scales import SPREAD, spread, worth_trying
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import evaluating
from dgltree.training.building import build
from dgltree.training.deciding import Decision
from dgltree.training.folder import scale_of
from dgltree.training.objectives import Numbers
from dgltree.training.options import FitOptions
from dgltree.training.processes import say
from dgltree.training.stepping.module import TreeTraining

NODES, PASSES = 20_000, 10
"""Of the training examples that a short training has, and how often it sees them."""


def with_scale(decision: Decision, folder: Path) -> Decision:
    """The decision, whose numbers are on the scale that was asked for, or on the best one in validation.

    One that the folder's training has already chosen is kept.
    """
    objective, asked = decision.objective, decision.options.label_scale
    if not isinstance(objective, Numbers) or not issubclass(decision.readout, NumberReadout):
        if asked not in (None, "none"):
            raise ValueError(f"label_scale is {asked!r}, which is for the task regress and the readout number")
        return decision
    labels = objective.targets(decision.splits["train"].labels)
    name = asked or scale_of(folder, decision.options, decision.digest) or _best(decision, labels)
    return _on(decision, name, labels)


def _on(decision: Decision, name: LabelScaleName, labels: Tensor) -> Decision:
    assert isinstance(decision.objective, Numbers)
    options = replace(decision.options, label_scale=name)
    return replace(decision, options=options, objective=decision.objective.on(name, labels))


def _best(decision: Decision, labels: Tensor) -> LabelScaleName:
    names = worth_trying(labels)
    if len(names) == 1:
        return names[0]
    some = _some(decision)
    scores = {name: _score(_on(some, name, labels)) for name in names}
    best = max(names, key=lambda name: scores[name])
    listed = ", ".join(f"{name} {scores[name]:.3f}" for name in names)
    say(
        f"some labels are far from all others (from {float(labels.min()):g} to {float(labels.max()):g}, half of them "
        f"within {spread(labels) * SPREAD:g}): learnt on the scale {best!r}, the best in short trainings "
        f"(mean of R2 and rank correlation in validation: {listed}); --label-scale sets it"
    )
    return best


def _some(decision: Decision) -> Decision:
    """The same with fewer training examples."""
    train = decision.splits["train"]
    [rows, *_] = NodeBatches(train.sizes, NODES, decision.options.seed)
    return replace(decision, splits={**decision.splits, "train": train.select(sorted(rows))})


def _score(decision: Decision) -> float:
    """The mean of R2, at least 0, and rank correlation in validation, after a short training on the CPU."""
    objective, options = decision.objective, decision.options
    with torch.random.fork_rng(devices=[]):
        module = build(decision)
        optimizer = torch.optim.AdamW(module.parameters(), lr=module.lr, weight_decay=options.weight_decay or 0.0)
        for epoch in range(PASSES):
            _pass(module, decision.splits["train"], optimizer, options, epoch)
        with evaluating(module):
            found = [
                module(part.inputs, part.features) for part in _batches(module, decision.splits["validation"], options)
            ]
    answers = objective.answers(torch.cat(found))
    metrics = objective.evaluation(answers, objective.targets(decision.splits["validation"].labels)).metrics
    r2, correlation = metrics["r2"], metrics["rank_correlation"]
    return (max(0.0, r2) + (0.0 if math.isnan(correlation) else correlation)) / 2


def _pass(
    module: TreeTraining, train: TreeDataset, optimizer: torch.optim.Optimizer, options: FitOptions, epoch: int
) -> None:
    module.train()
    for part in _batches(module, train, options, epoch):
        optimizer.zero_grad()
        loss, _ = module.objective.loss(module(part.inputs, part.features), part.labels, part.weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), options.clip)
        optimizer.step()


def _batches(module: TreeTraining, data: TreeDataset, options: FitOptions, epoch: int | None = None) -> Sequence[Any]:
    """Some examples at a time, planned; in an order of the seed and the epoch, if there is one."""
    assert options.batch_nodes is not None
    seed = None if epoch is None else options.seed
    collate = Collate(None, module.encoder, module.shares_in(epoch is not None))
    return [collate(data.select(rows)) for rows in NodeBatches(data.sizes, options.batch_nodes, seed, epoch or 0)]
