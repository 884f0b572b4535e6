"""Two models on the same rows, none of which either was trained on or chosen by: paired differences with intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.datasets.labels import check_known
from dgltree.datasets.settings import class_numbers
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.comparison import Interval, interval
from dgltree.training.folder import SPLIT_FILE
from dgltree.training.objectives.class_means import MIN_PROBABILITY, macro_f1
from dgltree.training.split_file import EarlierSplit
from dgltree.training.trained_model import TrainedModel

Metrics = dict[str, Callable[[Tensor], float]]
"""Each metric of one model's answers to the examples with given numbers (R,)."""


@dataclass(frozen=True)
class Contender:
    """A model, its folder, and the examples of a file as it reads them, with labels."""

    model: TrainedModel
    folder: Path
    data: TreeDataset


@dataclass(frozen=True)
class PairedDifferences:
    """The metrics of two models, and by how much the first is above the second on the same examples."""

    examples: int
    """That neither model was trained on or chosen by, and both can read."""
    of: int
    """Examples with a label that both can read."""
    new: dict[str, float]
    old: dict[str, float]
    differences: dict[str, Interval]
    """95 % of bootstrap resamples of the examples."""

    def __str__(self) -> str:
        rows = ["\t".join(("metric", "new", "old", "new - old", "95 % of resamples"))]
        for name, (low, high) in self.differences.items():
            new = self.new[name]
            old = self.old[name]
            rows.append(f"{name}\t{new:.4f}\t{old:.4f}\t{new - old:+.4f}\t{low:+.4f} to {high:+.4f}")
        return "\n".join(rows)

    def to_json(self) -> dict[str, Any]:
        differences = {
            name: {"difference": self.new[name] - self.old[name], "low": low, "high": high}
            for name, (low, high) in self.differences.items()
        }
        return {"examples": self.examples, "of": self.of, "new": self.new, "old": self.old, "differences": differences}


def unseen(each: Contender) -> np.ndarray:
    """(E,) bool, the examples that a model was neither trained on nor chosen by.

    Raises ``ValueError`` for a folder that does not keep its split.
    """
    if not (each.folder / SPLIT_FILE).exists():
        raise ValueError(
            f"{each.folder}: there is no {SPLIT_FILE} in this folder, so the training examples of the model are unknown"
        )
    known = EarlierSplit.of(each.folder).known(each.data)
    return np.array([name in (None, "test") for name in known])


def compare(new: Contender, old: Contender) -> PairedDifferences:
    """Compare two models on the examples of a file, by file and line.

    Raises ``ValueError`` for models of other kinds of answers, for one that knows none of the labels, and if no example
    is left.
    """
    kinds = [type(each.model.objective) for each in (new, old)]
    if kinds[0] is not kinds[1]:
        gives = [f"{each.folder} gives {'classes' if each.model.classes else 'numbers'}" for each in (new, old)]
        raise ValueError(f"the models cannot be compared: {' and '.join(gives)}")
    known = [Contender(each.model, each.folder, each.model.dataset(each.data)) for each in (new, old)]
    places = [list(zip(each.data.files, each.data.lines, strict=True)) for each in known]
    read_by_old = set(places[1])
    both = [place for place in places[0] if place in read_by_old]
    compared = set(both)
    for each, own_places in zip(known, places, strict=True):
        compared &= {place for place, is_free in zip(own_places, unseen(each), strict=True) if is_free}
    rows = [place for place in both if place in compared]
    if not rows:
        raise ValueError(
            f"no example is left: each of the {len(both):,} examples was used to train or select one of the models"
        )
    chosen = []
    for each, own_places in zip(known, places, strict=True):
        number = {place: i for i, place in enumerate(own_places)}
        data = each.data.select([number[place] for place in rows])
        chosen.append(Contender(each.model, each.folder, data))
    of_new, of_old = _classes(chosen) if new.model.classes else [_numbers(each) for each in chosen]
    every = torch.arange(len(rows))
    ours = {name: metric(every) for name, metric in of_new.items()}
    theirs = {name: metric(every) for name, metric in of_old.items()}
    differences = {name: interval(_difference(of_new[name], of_old[name]), len(rows)) for name in ours}
    return PairedDifferences(len(rows), len(both), ours, theirs, differences)


def _difference(new: Callable[[Tensor], float], old: Callable[[Tensor], float]) -> Callable[[Tensor], float]:
    return lambda rows: new(rows) - old(rows)


def _numbers(each: Contender) -> Metrics:
    targets = each.model.objective.targets(each.data.labels)
    answers = each.model.answers_to(each.data).double()
    return {name: _of(metric, answers, targets) for name, metric in each.model.objective.scores().items()}


def _of(metric: Callable[[Tensor, Tensor], float], answers: Tensor, targets: Tensor) -> Callable[[Tensor], float]:
    return lambda rows: metric(answers[rows], targets[rows])


def _classes(contenders: list[Contender]) -> list[Metrics]:
    """Return both models' metrics over the classes that either has.

    A label that a model does not know has its lowest probability there.
    """
    for each in contenders:
        check_known(each.data.labels, each.model.classes)
    names = list(dict.fromkeys(name for each in contenders for name in each.model.classes))
    number_of = class_numbers(names)
    found = (None if label is None else number_of(label) for label in contenders[0].data.labels)
    targets = torch.tensor([len(names) if number is None else number for number in found])
    return [_of_classes(each, names, targets) for each in contenders]


def _of_classes(each: Contender, names: list[str], targets: Tensor) -> Metrics:
    answers = each.model.answers_to(each.data).double()
    place = torch.tensor([names.index(name) for name in each.model.classes])
    wide = answers.new_zeros(len(answers), len(names) + 1).index_copy(1, place, answers)
    predicted = place[each.model.objective.predicted(answers)]
    losses = -wide.gather(1, targets.unsqueeze(1)).squeeze(1).clamp(min=MIN_PROBABILITY).log()
    return {
        "accuracy": lambda rows: float((predicted[rows] == targets[rows]).double().mean()),
        "macro_f1": lambda rows: macro_f1(predicted[rows], targets[rows], len(names) + 1),
        "log_loss": lambda rows: float(losses[rows].mean()),
    }
