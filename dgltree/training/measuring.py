"""Metrics of answers that come some at a time: of very many classes they do not fit into memory."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.training.objectives import Objective
from dgltree.training.objectives.metrics import Evaluation


class Measured(NamedTuple):
    """Metrics of some answers, and what was predicted."""

    evaluation: Evaluation
    predicted: Tensor
    """(E,) the numbers of the classes, or the numbers themselves."""


def measure(objective: Objective, answers: Iterable[Tensor], targets: Tensor) -> Measured:
    """Compare answers to examples, some at a time and in their order, with targets (E,); one example at least.

    Args:
        objective: the kind of answers.
        answers: (B, C) probabilities or (B,) numbers of the next examples.
        targets: of all of them.
    """
    metrics, predicted, first = objective.metrics(), [], 0
    for some in answers:
        metrics.update(some, targets[first : first + len(some)])
        predicted.append(objective.predicted(some))
        first += len(some)
    return Measured(metrics.found(), torch.cat(predicted))
